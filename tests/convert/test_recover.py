"""Scripts that lost a quote or a backslash on their way: what is mended is what bash would take, and the rest
of the script is as it was."""

import contextlib
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.shell.recover import recovered
from hpclaunch.convert.shell.syntax.again import Again, Fault, Run
from hpclaunch.convert.shell.syntax.reader import read
from hpclaunch.readback.shell.errors import ScriptError

WELL = """\
#!/bin/bash
hosts=( `scontrol show hostname | tr "\\n" " "` )
for h in ${hosts[@]}; do
    echo "$h slots=8" >> /dev/shm/mpi_hosts
done
cat > x.sh <<-EOF
\techo "it's \\$(hostname)"
EOF
[[ -f $X ]] && { echo 'a "b'; exit 1; }
"""


def _bash_takes(text: str) -> bool:
    return subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).returncode == 0


def test_a_script_that_is_well_stays_as_it_is() -> None:
    assert recovered(WELL) == (WELL, ())


BROKEN = [
    ("IP=`getent hosts `hostname` | cut -d ' ' -f1`", "nested backticks", "cut -d ' ' -f1"),
    ('echo command="/dev/shm/entry.sh\\",no-pty $(cat key.pub) >> keys', "quote", "no-pty"),
    ("docker run -v $DATADIR:/data ) image", "left out", None),
    ('docker run --name "x image', None, None),
]
# After these lines of WELL a line is one of the script; after 6 and 7 it is text of the here-document.
LINES_OF_SCRIPT = [1, 2, 3, 5, 8, 9]
LINES_OF_TEXT = [6, 7]


def _with(broken: str, place: int) -> str:
    lines = WELL.splitlines()
    return "\n".join([*lines[:place], broken, *lines[place:]]) + "\n"


@pytest.mark.parametrize(("broken", "kind"), [(broken, kind) for broken, kind, _ in BROKEN])
@pytest.mark.parametrize("place", LINES_OF_TEXT)
def test_a_text_of_a_here_document_is_that_of_another_file(broken: str, kind: str | None, place: int) -> None:
    """Quotes and parentheses mean nothing in it; backticks do, as the script's shell expands them."""
    text = _with(broken, place)
    assert _bash_takes(text)
    mended, repairs = recovered(text)
    if kind == "nested backticks":
        assert [(repair.line, repair.kind) for repair in repairs] == [(place + 1, kind)]
        assert mended.splitlines()[place] == "IP=$(getent hosts $(hostname) | cut -d ' ' -f1)"
    else:
        assert (mended, repairs) == (text, ())


@pytest.mark.parametrize(("broken", "kind", "meant"), BROKEN)
@pytest.mark.parametrize("place", LINES_OF_SCRIPT)
def test_one_broken_line_costs_one_line_at_most(
    broken: str, kind: str | None, meant: str | None, place: int
) -> None:
    lines = WELL.splitlines()
    text = _with(broken, place)
    if kind != "nested backticks":  # bash finds those out only when it comes to the line
        assert not _bash_takes(text)
    mended, repairs = recovered(text)
    assert _bash_takes(mended)
    (repair,) = repairs
    assert repair.line == place + 1
    assert repair.was == broken
    if kind:
        assert repair.kind == kind
    after = mended.splitlines()
    assert len(after) == len(text.splitlines())
    assert [line for index, line in enumerate(after) if index != place] == lines
    if meant:
        assert meant in after[place]


def test_a_substitution_that_a_here_document_leaves_open_costs_its_line() -> None:
    """bash says so only when it comes to the text."""
    text = _with("$(", 7)
    mended, (repair,) = recovered(text)
    assert (repair.line, repair.was, repair.kind) == (8, "$(", "left out")
    lines = text.splitlines()
    assert mended.splitlines() == [*lines[:7], ":", *lines[8:]]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([*WELL.splitlines(), '"', "`", "(", "do", "fi", "$(", "}", "<<X", "' |", ";;"]))
)
def test_it_gives_up_in_good_order(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    found = None
    with contextlib.suppress(ScriptError):
        found = recovered(text)
    if found is None:
        # Of what is in backticks, and of $( in a here-document, bash says nothing before it comes to it.
        assert "`" in text or ("<<" in text and "$(" in text) or not _bash_takes(text)
        return
    mended, repairs = found
    assert repairs or mended == text
    assert len(mended.split("\n")) == len(text.split("\n"))
    changed = {
        number
        for number, (a, b) in enumerate(zip(text.split("\n"), mended.split("\n"), strict=True), 1)
        if a != b
    }
    assert changed <= {repair.line for repair in repairs}
    assert recovered(mended) == (mended, ())


def _outcome(text: str, again: Again | None = None) -> object:
    try:
        return read(text, 1, again)
    except Fault as fault:
        return fault.message, fault.line, fault.read


_SIGNS = (
    '"',
    "'",
    "`",
    "(",
    ")",
    "fi",
    "done",
    "}",
    "$(",
    "\\",
    "if x; then",
    "case x in",
    ";;",
    "x <<EOF",
    "x <<'`'",
)


_NOW = (":", "x \\'", "echo it's", "cat <<EOF", "fi")
_LINES = ["#!/bin/bash", "if a; then", *f"echo one\n{WELL}export A=1 B=2\nb\nc >&2\n".split("\n") * 3, "fi"]


@given(
    st.lists(st.tuples(st.integers(0, len(_LINES) - 1), st.sampled_from(_SIGNS)), min_size=1, max_size=3),
    st.sampled_from(_NOW),
)
def test_what_was_read_before_a_line_was_changed_is_read_the_same(
    broken: list[tuple[int, str]], now: str
) -> None:
    lines = [*_LINES]
    for number, sign in broken:
        lines[number] += sign
    run = Run()
    try:
        read("\n".join(lines))
    except Fault as fault:
        run = fault.run
    changed = broken[0][0]
    lines[changed] = now
    text = "\n".join(lines)
    assert _outcome(text, Again(run).but(changed + 1)) == _outcome(text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("eval PARTS=(`echo $1`)", "not read here"),
        ("eval parts=(a b)", "not read here"),
        ("echo parts=(a b)", "no shell takes it"),
        ("eval (a b)", "no shell takes it"),
    ],
)
def test_a_line_that_bash_takes_is_not_said_to_be_taken_by_no_shell(line: str, said: str) -> None:
    assert _bash_takes(f"{line}\n") == (said == "not read here")
    found = convert(classified({"go.sh": f"#!/bin/bash\n{line}\nmpirun -np 4 ./t\n"}), Options({}))
    (its,) = [each for each in found.findings if each.what == line]
    assert (its.kind, said in its.why) == ("unread", True)
