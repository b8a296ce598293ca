"""Any text at all is read, or refused with one line."""

from golden_scripts import SCRIPTS
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpclaunch.readback.script import read
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Launch

TEXTS = [
    path.read_bytes().decode().split("<<'WRAPPER'\n")[0] + "<<'WRAPPER'\n:\nWRAPPER\nlaunch 3>&2 4>&1\n"
    for path in sorted(SCRIPTS.glob("*.sh"))
    if not path.stem.startswith("local-")
]

# What shells give a meaning to.
MARKS = [
    *"\"'`$(){}[]<>|&;#\\!*?=~,:%/@^-+ \t\n\r\0é",
    *(
        "$((",
        "))",
        "${",
        "$(",
        "$'",
        '$"',
        "<<E\n",
        "<<<",
        "[[",
        "]]",
        "((",
        ";;",
        "&&",
        "||",
        ">&",
        "\\\n",
        "..",
        "+=",
    ),
    *(
        "if ",
        "then ",
        "else ",
        "fi\n",
        "for x in ",
        "do ",
        "done\n",
        "while ",
        "case x in ",
        "esac\n",
        "function f ",
        "select ",
    ),
    *(
        "${x//a/b}",
        "${x:1:2}",
        "${!x}",
        "${x@Q}",
        "${a[@]}",
        "${#a[*]}",
        "{1..9}",
        "{a,b}",
        "$$",
        "$1",
        "$@",
        "eval ",
        "local ",
    ),
    *(
        "declare -A ",
        "export ",
        "unset ",
        "read ",
        "printf ",
        "set -- ",
        "shift\n",
        "return\n",
        "exit\n",
        "exec ",
        "trap ",
    ),
    *(
        "#SBATCH --",
        "#SBATCH -",
        "srun ",
        "hl_step",
        "a=(",
        "f() { f; }\nf\n",
        "a=$a$a\n",
        "--container-mounts=:",
        "join",
    ),
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 2, 5, 30, 300]))
        inserted = draw(
            st.one_of(st.sampled_from(MARKS), st.text(max_size=3), st.just(text[start : start + 40]))
        )
        text = text[:start] + inserted + text[start + length :]
    return text


def check(found: Launch | str) -> None:
    """An error is one line."""
    assert found
    assert isinstance(found, Launch) or "\n" not in found


def outcome(text: str) -> Launch | str:
    try:
        return read(text)
    except InputError as error:
        return str(error)


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_changed_scripts(text: str) -> None:
    check(outcome(text))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from(MARKS), st.text(max_size=4), st.sampled_from(["a", "x ", "b=1 "])),
        max_size=60,
    )
)
@example(["("] * 5000)
@example(["$("] * 5000)
@example(["${"] * 5000)
@example(['"$('] * 5000)
@example(["{a,"] * 3000)
@example(["{a,b}"] * 40)
@example(["if "] * 3000)
@example(["! "] * 20000 + ["x"])
@example(["x && "] * 20000 + ["x"])
@example(["f() { f; f; }\nf\n"])
@example(["a=xxxxxxxxxxxxxxxx\n"] + ["a=$a$a\n"] * 60)
@example(["a=(1 2 3)\n"] + ['a+=("${a[@]}")\n'] * 60)
@example(["for i in {1..9999}; do for j in {1..9999}; do x; done; done\n"])
@example(["while x; do " * 30 + "y" + "; done" * 30])
@example(["if x; then " * 30 + "a=1" + "; fi" * 30])
@example(["case x in " * 3000])
@example(["eval 'eval x'\n", 'e=\'eval "$e"\'; eval "$e"\n'])
@example(["x=", "*a" * 5000, "\n", "y=${x%%", "*a" * 2000, "}\n"])
@example(["x=$((", "(" * 5000, "1", ")" * 5000, "))\n"])
@example(["[[ ", "( " * 5000, "a", " )" * 5000, " ]]\n"])
def test_any_text(parts: list[str]) -> None:
    check(outcome("#!/bin/bash\n" + "".join(parts)))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check(outcome("#!\n" + data.decode("utf-8", "surrogateescape")))
