"""Names and values of environment variables that a job may have, for property tests."""

from hypothesis import strategies as st

from hpclaunch.spec.scalars import variable_name

# Names that mean something to the shells and the loader on the way to a rank.
MEANINGFUL = ("IFS", "PATH", "HOME", "CDPATH", "ENV", "BASH_ENV", "PS4", "POSIXLY_CORRECT", "LD_PRELOAD")


def usable(name: str) -> bool:
    """Does the reader of job files take this name? tests/spec holds what it refuses against real shells."""
    try:
        variable_name(name)
    except ValueError:
        return False
    return True


NAMES = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True).filter(usable), st.sampled_from(MEANINGFUL)
)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=60)
ENVIRONMENTS = st.dictionaries(NAMES, TEXT, max_size=12)
