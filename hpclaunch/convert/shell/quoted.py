"""Where a text that a shell will read has single quotes, in which it puts in nothing."""

import re
from collections.abc import Iterator

_SIGN = re.compile(
    r"\\.|\$?'|\"|(?<![^\s;&|()])#[^\n]*|<<-?[ \t]*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)|\n", re.DOTALL
)
_IN_DOUBLE = re.compile(r"(?:\\.|[^\"\\])*\"", re.DOTALL)
_IN_DOLLARS = re.compile(r"(?:\\.|[^'\\])*'", re.DOTALL)


def single_quoted(text: str) -> Iterator[range]:
    """What stands between single quotes, outside of comments, here-documents and double quotes."""
    at, documents = 0, list[str]()
    while sign := _SIGN.search(text, at):
        at = sign.end()
        if sign[0] == "'":
            end = text.find("'", at)
            if end < 0:
                return
            yield range(at, end)
            at = end + 1
        elif sign[0] in ('"', "$'"):
            closed = (_IN_DOUBLE if sign[0] == '"' else _IN_DOLLARS).match(text, at)
            if closed is None:
                return
            at = closed.end()
        elif sign["word"]:
            documents.append(sign["word"])
        elif sign[0] == "\n" and documents:
            for word in documents:
                ending = re.compile(rf"^\t*{word}$", re.MULTILINE).search(text, at)
                at = ending.end() if ending else len(text)
            documents = []
