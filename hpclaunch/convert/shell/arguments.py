"""The words behind a script's name, as shift and getopts take them (bash's manual, "Bourne Shell
Builtins")."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.values import Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_NOT_KNOWN = "of arguments that are not known here: --args gives those of the script"


def _shift(shell: "Walker", words: Sequence[Value]) -> None:
    shell.ask_argument()
    arguments = shell.state.arguments
    if arguments is None:
        shell.note(f"shift, {_NOT_KNOWN}")
        shell.status = None
        return
    count = known(words[1]) if len(words) > 1 else "1"
    shell.status = count is not None and count.isdecimal() and int(count) <= len(arguments)
    BUILTINS["shift"](shell, words)


def _getopts(shell: "Walker", words: Sequence[Value]) -> None:
    shell.ask_argument()
    texts = [known(word) for word in words[1:3]]
    taken = tuple(words[3:]) or shell.state.arguments
    spec, name = (texts[0], texts[1]) if len(texts) == 2 else (None, None)
    if not spec or not name or not is_name(name) or taken is None or len(taken) > 1000:
        shell.note(f"getopts, {_NOT_KNOWN if taken is None else 'which is not followed here'}")
        _forget(shell, name)
        return
    index, offset = _index(shell)
    word = taken[index - 1] if 0 < index <= len(taken) else None
    text = "" if word is None else known(word)
    if text is None or index < 1:
        shell.note("getopts, of an argument that is not known")
        _forget(shell, name)
        return
    if not offset and (text == "-" or not text.startswith("-")):
        _end(shell, name, index)
    elif not offset and text == "--":
        _end(shell, name, index + 1)
    else:
        _option(shell, spec, name, taken, (index, offset or 1), text)


def _index(shell: "Walker") -> tuple[int, int]:
    """OPTIND, and where in that word getopts is: at its start where the script gave OPTIND another value."""
    variable = shell.state.get("OPTIND")
    if variable is None or variable.value is None:
        index: int | None = 1
    else:
        text = None if isinstance(variable.value, Array) else known(variable.value)
        index = int(text) if text and text.isdecimal() and len(text) < 7 else -1
    index = index or 1
    return (index, shell.getopts[1] if index == shell.getopts[0] else 0)


def _option(
    shell: "Walker", spec: str, name: str, taken: tuple[Value, ...], at: tuple[int, int], text: str
) -> None:
    (index, offset), quiet = at, spec.startswith(":")
    letter, rest = text[offset], text[offset + 1 :]
    place = spec.find(letter)
    value: Value | None = None
    found, last = letter, not rest
    if place < 0 or letter in ":?":
        found, value = "?", (letter,) if quiet else None
    elif spec[place + 1 : place + 2] == ":":
        last = True
        if rest:
            value = (rest,)
        elif index < len(taken):
            index, value = index + 1, taken[index]
        else:
            found, value = (":", (letter,)) if quiet else ("?", None)
    shell.getopts = (index + 1, 0) if last else (index, offset + 1)
    _tell(shell, name, (found,), value)
    shell.status = True


def _end(shell: "Walker", name: str, index: int) -> None:
    shell.getopts = (index, 0)
    _tell(shell, name, ("?",), None)
    shell.status = False


def _tell(shell: "Walker", name: str, found: Value, value: Value | None) -> None:
    shell.state.assign(name, found)
    shell.state.assign("OPTIND", (str(shell.getopts[0]),))
    shell.state.set("OPTARG", Variable(value))


def _forget(shell: "Walker", name: str | None) -> None:
    for each in (name, "OPTARG", "OPTIND"):
        if each:
            shell.state.forget(each)
    shell.status = None


TAKE: dict[str, Callable[["Walker", Sequence[Value]], None]] = {"shift": _shift, "getopts": _getopts}
