"""The short form of stage_in: SRC:DST."""

from hpclaunch.spec.job import StageInSpec
from hpclaunch.spec.scalars import shown


def long_form(text: str) -> StageInSpec:
    """The long form of a short one. Raises ValueError where the text is not of the form."""
    parts = text.split(":")
    if len(parts) != 2 or not parts[0] or not parts[1]:
        raise ValueError(
            f"{shown(text)}: write SRC:DST, each a path with a / or a volume's name; "
            "a path with a ':' needs the form {source: ..., target: ...}"
        )
    return StageInSpec(parts[0], parts[1])


def is_volume(side: str) -> bool:
    """Whether a side names a volume of the site: there is no `/` in it, and no `.` before it."""
    return "/" not in side and not side.startswith(".")


def complaint(spec: StageInSpec) -> str:
    """What is wrong with it, or ""."""
    for name, side in (("source", spec.source), ("target", spec.target)):
        if not side:
            return f"the {name} is empty"
        if side.startswith("~"):
            return f"~ is not expanded in {shown(side)}: write the whole path"
        if min(side) < " " or "\x7f" in side:
            return f"{shown(side)} has a line break or another control character"
    if not is_volume(spec.target) and not spec.target.startswith("/"):
        return f"the target {shown(spec.target)} is a path of each node, or a volume's name: begin it with /"
    return ""
