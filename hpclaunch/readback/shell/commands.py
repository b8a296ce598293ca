"""The shell's own commands (bash's manual, "Shell Builtin Commands"), as far as they change what commands are
given. Each gets the shell and the words, expanded."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.readback.shell import conditions, escapes, reads
from hpclaunch.readback.shell.declarations import declare
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.pieces import Word, given
from hpclaunch.readback.shell.positional import handed_on
from hpclaunch.readback.shell.state import Array, Outside, Variable
from hpclaunch.readback.shell.told import may_be_many
from hpclaunch.readback.shell.values import Names, Part, Unknown, Value, join, known, shown

if TYPE_CHECKING:
    from hpclaunch.readback.shell.evaluate import Shell

_OPERATORS = frozenset(("!", "(", ")", "=", "==", "!=", "<", ">"))
_ENDS_A_JOB = frozenset(("TERM", "INT", "HUP"))
_SHAPE = re.compile(r"%[-0]?[0-9]{0,3}[sd]")
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # what begins with 0 is octal
_NOTES_A_NUMBER = re.compile(r"\w+=[0-9]+")


def _nothing(shell: "Shell", words: Sequence[Value]) -> None:
    """Changes nothing that counts here."""


def _noted(shell: "Shell", words: Sequence[Value]) -> None:
    shell.status = None
    shell.note(f"what `{' '.join(map(shown, words[:6]))}` changes is not followed")


def _false(shell: "Shell", words: Sequence[Value]) -> None:
    shell.status = False


def _unknown_status(shell: "Shell", words: Sequence[Value]) -> None:
    shell.status = None


def _declare(shell: "Shell", words: Sequence[Value]) -> None:
    """declare and the like after `command`, or after an assignment: all its words are expanded."""
    declare(shell, known(words[0]) or "", [given(word, shown(word)) for word in words[1:]])


def _unset(shell: "Shell", words: Sequence[Value]) -> None:
    state = shell.state
    texts = [known(word) or "" for word in words[1:]]
    flags = "".join(text for text in texts if text.startswith("-"))
    for word in words[1:]:
        text = known(word)
        if text is not None and text.startswith("-"):
            continue
        if len(word) == 1 and isinstance(word[0], Names):
            names = word[0]
            if names.only or not names.but:
                shell.note("variables of the shell that started the script are taken away, by a pattern")
            elif not state.outside.closed:
                state.outside = Outside(True, names.but)
        elif text is None:
            shell.note(f"unset of a name that the script does not tell: {shown(word)}")
        elif "f" in flags:
            state.define(text, None)
        elif is_name(text):
            _unset_variable(shell, text, of_itself="n" in flags)
        elif not _unset_element(shell, text):
            shell.note(f"unset of {text}")
            state.forget(text.partition("[")[0])


def _unset_variable(shell: "Shell", name: str, of_itself: bool) -> None:
    """unset NAME; `of_itself` (-n): what stands for another variable no longer does."""
    state = shell.state
    found = state.own(name) if of_itself else state.get(name)
    if found is not None and found.fixed:
        shell.status = False
    elif of_itself:
        state.place(name, Variable(None))
    elif found is not None and found.fixed is None:
        state.forget(name)
    elif not _uncovered(shell, state.target(name)):
        state.set(name, Variable(None))
        shell.unset(state.target(name))


def _uncovered(shell: "Shell", name: str) -> bool:
    """Whether the variable is local to a function that called this one: then the one outside of that one is
    there again."""
    if not shell.locals or name in shell.locals[-1]:
        return False
    frame = next((each for each in reversed(shell.locals) if name in each), None)
    if frame is None:
        return False
    shell.state.restore(name, frame.pop(name))
    return True


def _unset_element(shell: "Shell", text: str) -> bool:
    """unset NAME[INDEX]; False where that is not told."""
    name, _, index = text.partition("[")
    variable = shell.state.get(name)
    value = variable.value if variable is not None else None
    if variable is None or not isinstance(value, Array) or not index.endswith("]") or index in ("@]", "*]"):
        return False
    word = given((index[:-1],), index)
    key: int | str | None = index[:-1] if value.keyed else shell.expander.number(word)
    if key is None or (isinstance(key, int) and key < 0) or not value.whole:
        return False
    items = {each: item for each, item in value.items.items() if each != key}
    shell.state.set(name, structs.replace(variable, value=structs.replace(value, items=items)))
    return True


def _set(shell: "Shell", words: Sequence[Value]) -> None:
    texts = [known(word) for word in words[1:]]
    for index, text in enumerate(texts):
        if text in ("--", "-"):
            shell.state.arguments = handed_on(_split(words[index + 2 :]), shell.state.arguments)
            return
        if text is None or text[:1] not in ("-", "+"):
            if index and re.fullmatch("[-+][a-zA-Z]*o[a-zA-Z]*", texts[index - 1] or ""):
                continue  # the name of an option: set -o pipefail, set -euxo pipefail
            shell.state.arguments = handed_on(_split(words[index + 1 :]), shell.state.arguments)
            return


def _split(words: Sequence[Value]) -> tuple[Value, ...]:
    """Arguments of `set`, which is there to split words: of one that may be many the first is not known
    either."""
    return tuple(
        (Unknown("output", shown(word), splits=True),) if may_be_many(word) else word for word in words
    )


def _shift(shell: "Shell", words: Sequence[Value]) -> None:
    count = known(words[1]) if len(words) > 1 else "1"
    arguments = shell.state.arguments
    number = int(count) if count is not None and count.isdigit() and len(count) < 7 else -1
    if arguments is None or number < 0 or any(map(may_be_many, arguments[:number])):
        shell.state.arguments = None
        shell.note("shift, of arguments that the script does not tell")
    elif number <= len(arguments):
        shell.state.arguments = arguments[number:]


def _printf(shell: "Shell", words: Sequence[Value]) -> None:
    variable = known(words[2]) if len(words) > 2 and known(words[1]) == "-v" else None
    rest = words[3:] if variable else words[1:]
    if rest and known(rest[0]) == "--":
        rest = rest[1:]
    if not variable and shell.output is None and _is_short(rest):
        return  # nobody reads it
    value = _formatted(rest)
    if variable:
        shell.put(variable, value)
    elif shell.output is not None:
        shell.output += value


def _is_short(words: Sequence[Value]) -> bool:
    """Whether what is made of the words cannot be beyond all measure."""
    if len(words) >= 100:
        return False
    for word in words:
        if len(word) >= 10:
            return False
        for part in word:
            if isinstance(part, str) and len(part) >= 1000:
                return False
    return True


def _formatted(words: Sequence[Value]) -> Value:
    source = known(words[0]) if words else ""
    unknown: Value = (Unknown("output", f"$(printf {' '.join(map(shown, words[:20]))})"),)
    if source is None or (shapes := _shapes(source)) is None:
        return unknown
    arguments = list(words[1:])
    takes = sum(bool(_SHAPE.fullmatch(shape)) for shape in shapes)
    parts: list[Part] = []
    for _ in range(max(1, -(-len(arguments) // takes)) if takes else 1):
        for shape in shapes:
            if _SHAPE.fullmatch(shape):
                value = arguments.pop(0) if arguments else ()
                text = known(value)
                if shape[-1] == "d" and not _NUMBER.fullmatch(text or ""):
                    return unknown
                if shape not in ("%s", "%d"):
                    if text is None:
                        return unknown
                    value = (shape % (text if shape[-1] == "s" else int(text)),)
                parts += value
            else:
                parts.append(shape)
    return join(parts)


def _shapes(source: str) -> list[str] | None:
    """The format in pieces: text, %s and %d, and these with a width (%03d). None for any other."""
    found: list[str] = []
    for piece in re.split(r"(%[-0]?[0-9]{0,3}[sd]|%.?)", source, flags=re.DOTALL):
        if piece == "%%":
            found.append("%")
        elif _SHAPE.fullmatch(piece) and not (piece.startswith("%0") and piece.endswith("s")):
            found.append(piece)
        elif piece.startswith("%"):
            return None
        else:
            found.append(escapes.printf(piece))
    return found


def _echo(shell: "Shell", words: Sequence[Value]) -> None:
    if shell.output is None:
        return
    rest = list(words[1:])
    ends, escaped = "\n", False
    while rest and re.fullmatch(r"-[neE]+", known(rest[0]) or ""):
        flags = known(rest.pop(0)) or ""
        ends = "" if "n" in flags else ends
        escaped = "e" in flags
    parts: list[Part] = []
    for index, word in enumerate(rest):
        parts += (" ", *word) if index else word
    if escaped:
        parts = [escapes.printf(part) if isinstance(part, str) else part for part in parts]
    shell.output += join([*parts, ends])


def _compgen(shell: "Shell", words: Sequence[Value]) -> None:
    shell.status = None
    if shell.output is not None:
        names = [known(word) for word in words[1:]] == ["-e"]
        shell.output.append(Names() if names else Unknown("output", "compgen"))


def _test(shell: "Shell", words: Sequence[Value]) -> None:
    if known(words[0]) == "[" and known(words[-1]) != "]":
        shell.status = False  # "missing `]'", and the status is 2: of [ -z "$A" || ...
        return
    rest = words[1:-1] if known(words[0]) == "[" else words[1:]
    parts = [text if _is_operator(text := known(word) or "") else given(word) for word in rest]
    expander = shell.expander

    def number(word: Word) -> int | None:
        text = known(expander.value(word))
        return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,18}", text) else None

    if len(rest) == 3 and known(rest[1]) in conditions.NUMBERS:
        texts = [known(rest[0]), known(rest[2])]
        if any(text is not None and not re.fullmatch(r"\s*[-+]?[0-9]+\s*", text) for text in texts):
            shell.status = False  # "integer expression expected", and the status is 2
            return
    first = known(rest[0]) if len(rest) == 2 and known(rest[1]) is not None else None
    if first is not None and first != "!" and not re.fullmatch("-[a-zA-Z]", first):
        shell.status = False  # [ $x -gt 0 ] with an empty x: "unary operator expected", and the status is 2
        return
    shell.status = conditions.Condition(expander.value, expander.pattern, number).holds(shell.tested(parts))


def _is_operator(text: str) -> bool:
    if text[:1] == "-":
        return len(text) in (2, 3) and text.isascii() and text[1:].isalpha()
    return text in _OPERATORS


def _trap(shell: "Shell", words: Sequence[Value]) -> None:
    if len(words) < 3 or (text := known(words[1])) in ("", "-", ":"):
        return
    # A number that a signal leaves is not there in a launch that nobody ends.
    if text and _NOTES_A_NUMBER.fullmatch(text) and {known(each) for each in words[2:]} <= _ENDS_A_JOB:
        return
    _noted(shell, words)


Builtin = Callable[["Shell", Sequence[Value]], None]

BUILTINS: dict[str, Builtin] = {
    **dict.fromkeys((":", "true", "wait", "shopt", "umask", "ulimit", "times", "logout"), _nothing),
    **dict.fromkeys(
        ("cd", "pushd", "popd", "hash", "type", "jobs", "kill", "disown", "let"), _unknown_status
    ),
    **dict.fromkeys((".", "source", "alias", "unalias", "enable", "getopts", "coproc", "exec"), _noted),
    **dict.fromkeys(("declare", "typeset", "local", "export", "readonly"), _declare),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("mapfile", "readarray"), reads.mapfile),
    "false": _false,
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "read": reads.read,
    "printf": _printf,
    "echo": _echo,
    "compgen": _compgen,
    "trap": _trap,
}
