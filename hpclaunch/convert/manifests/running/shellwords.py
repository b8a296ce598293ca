"""What a parsed word of a shell's text holds: the parts that are known, and those that only a run tells."""

from collections.abc import Iterator

from hpclaunch.readback.shell import arithmetic, outside, shfmt, tree
from hpclaunch.readback.shell.values import Part, Unknown, Value, join


def value_of(word: tree.Word, source: bytes = b"") -> Value:
    """What is known of a word; with the source also the texts of its arithmetic."""
    return join([part for each in word.parts for part in _parts(each, quoted=False, source=source)])


def _parts(part: tree.Node, quoted: bool, source: bytes) -> Iterator[Part]:
    if isinstance(part, tree.Lit):
        if not quoted and any(char in part.value for char in "*?[~{"):
            yield Unknown("files", outside(part.value), splits=True)
        else:
            yield outside(_unescaped(part.value, quoted))
    elif isinstance(part, tree.SglQuoted) and not part.dollar:
        yield outside(part.value)
    elif isinstance(part, tree.DblQuoted):
        for each in part.parts:
            yield from _parts(each, quoted=True, source=source)
    elif isinstance(part, tree.ParamExp) and part.param is not None and _is_simple(part):
        yield Unknown("variable", part.param.value, splits=not quoted)
    elif isinstance(part, tree.ArithmExp) and source:
        yield _number(text_of(source, part.pos.offset, part.end.offset))
    elif isinstance(part, tree.ParamExp) and source:
        yield Unknown("output", text_of(source, part.pos.offset, part.end.offset), splits=not quoted)
    else:
        yield Unknown("output", "$(...)", splits=not quoted)


def _number(text: str) -> Part:
    """Of $((...)) the number, where it is one of numbers."""
    if not (text.startswith("$((") and text.endswith("))")):
        return Unknown("output", "$(...)")
    number = arithmetic.evaluate(text[3:-2], lambda name: None)
    return Unknown("number", text) if number is None else str(number)


def _is_simple(part: tree.ParamExp) -> bool:
    return not (part.excl or part.length or part.index or part.slice or part.repl or part.names or part.exp)


def _unescaped(text: str, quoted: bool) -> str:
    found, position = [], 0
    while position < len(text):
        char = text[position]
        if char == "\\" and position + 1 < len(text) and (not quoted or text[position + 1] in '$`"\\\n'):
            position += 1
            char = "" if text[position] == "\n" else text[position]
        found.append(char)
        position += 1
    return "".join(found)


def text_of(source: bytes, start: int, end: int) -> str:
    """A piece of the text as it is written."""
    return outside(shfmt.written(source, start, end))
