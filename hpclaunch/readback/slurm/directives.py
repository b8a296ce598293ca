"""#SBATCH lines, as sbatch takes them apart (src/sbatch/opt.c: _opt_batch_script and get_argument): quotes
and backslashes of its own, # begins a comment, and the first line that is a command ends them."""

from msgspec import Struct

from hpclaunch.readback.shell.errors import ScriptError

_MARKS = ("#SBATCH", "#SLURM")
_BLANKS = " \t\n\v\f\r"


class Directive(Struct, frozen=True):
    """The arguments of one line."""

    line: int
    arguments: tuple[str, ...]


Component = tuple[int, list[Directive]]


def directives(text: str) -> list[Directive]:
    """The lines, of a text that sbatch would take.

    Raises ScriptError for a text that it refuses: without #!, with the line ends of DOS, with a quote that
    nothing closes; and for one of several components (hetjob).
    """
    found = components(text)
    if len(found) > 1:
        raise several(found[1])
    return found[0][1]


def several(component: Component) -> ScriptError:
    """What is said of a job of several components where these are not understood."""
    return ScriptError("a job of several components (hetjob) is not read", component[0])


def components(text: str) -> list[Component]:
    """The lines of each component of the job, most of which have one: that of a heterogeneous job begins with
    a line `#SBATCH hetjob`, whose number it has. What a later component leaves out is the first one's or
    Slurm's default, and not told here. Raises ScriptError as `directives`, but for several."""
    if not text.startswith("#!"):
        raise ScriptError("no script: it begins with #! and the path of a shell", 1)
    if "\r\n" in text:
        raise ScriptError(
            "line ends of DOS, which sbatch refuses", text[: text.index("\r\n")].count("\n") + 1
        )
    found: list[Component] = [(1, [])]
    for number, line in enumerate(text.split("\n"), 1):
        mark = next((mark for mark in _MARKS if line.startswith(mark)), "")
        if mark and _begins(line[len(mark) :]):
            found.append((number, []))
        elif mark:
            found[-1][1].append(Directive(number, _arguments(line[len(mark) :], number)))
        elif line.lstrip(_BLANKS)[:1] not in ("", "#"):
            break
    return found


def _begins(line: str) -> bool:
    """Whether a component begins with what follows the mark."""
    first = line.strip(_BLANKS).split(None, 1)[:1]
    return bool(first) and first[0].lower() in ("hetjob", "packjob")


def _arguments(line: str, number: int) -> tuple[str, ...]:
    found: list[str] = []
    index = 0
    while True:
        while line[index : index + 1] and line[index] in _BLANKS:
            index += 1
        argument, index = _argument(line, index, number)
        if not argument:
            return tuple(found)
        found.append(argument)


def _argument(line: str, index: int, number: int) -> tuple[str, int]:
    """The argument that begins at `index`, "" where there is no more, and where it ends."""
    text: list[str] = []
    quote = ""
    while index < len(line):
        char = line[index]
        if not quote and char in _BLANKS:
            break
        index += 1
        if char == "\\":
            if quote or line[index : index + 1] not in _BLANKS:  # no backslash keeps a blank in a word
                text.append(line[index : index + 1])
                index += 1
            continue
        if quote:
            if char == quote:
                quote = ""
            else:
                text.append(char)
        elif char in "\"'":
            quote = char
        elif char == "#":
            return "".join(text), len(line)
        else:
            text.append(char)
    if quote:
        raise ScriptError(f"a {quote} that nothing closes", number)
    return "".join(text), index
