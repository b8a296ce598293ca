"""Commands of words that have no command within them, as most are: each is found by one look, and each of its
words is read once, however often it stands in the text.

What such words become depends on no line: two that are written alike are the same `Word`.
"""

import re
from typing import TYPE_CHECKING

from hpclaunch.readback.shell.pieces import NOTHING, Word, text_word
from hpclaunch.readback.shell.statements import Assignment, Declaration, Simple

if TYPE_CHECKING:
    from hpclaunch.convert.shell.syntax.words import Words

DECLARING = frozenset(("declare", "typeset", "local", "export", "readonly"))
# With these something else begins, or ends, than a command of words.
_RESERVED = r"""
(?!(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|in|select|function|coproc|let|time|[{}!]|\[\[|\]\])
(?=[ \t\n;&|)]|\Z))
""".replace("\n", "")
# No quote, no expansion, nor a sign of the shell, nor what str.split() takes for a blank.
_NO_TEXT = r"\s;&|<>()$`\"'\\#\x1c-\x1f\x85\xa0"
# Of a slice no parenthesis nor bracket: within one a } would not end it.
_OPERATION = r"(?:(?::?[-=+?]|[#%/^,])[^$`\"'\\{}]*|:[^$`\"'\\{}()\[\]]*)"
_BRACED = rf"\{{#?(?:[A-Za-z_]\w*(?:\[[@*]\])?|[0-9]+|[@*]){_OPERATION}?\}}"
_PARAMETER = rf"\$(?:[A-Za-z_]\w*\b|{_BRACED}|[0-9@*#?$!-])"
# Text in quotes with variables, text in quotes, or a variable. Only one of them can begin at a character, and
# text goes on as far as it can: nothing is looked at twice where something else follows.
_PIECE = rf"""(?:"[^"$`\\]*(?:{_PARAMETER}[^"$`\\]*)*"|'[^']*'|{_PARAMETER})"""
_SOME = r"""(?=[^\s;&|<>()`\\#])"""
_TOKEN = rf"{_SOME}[^{_NO_TEXT}]*(?:{_PIECE}[^{_NO_TEXT}]*)*"
_FIRST = rf"(?:\[(?=[ \t])|{_SOME}[^=\[{_NO_TEXT}]*(?:{_PIECE}[^=\[{_NO_TEXT}]*)*)"
_ENDS_COMMAND = r"(?=[ \t]*(?:[\n;|)]|&(?!>)|\Z)|[ \t]+\#)"
_ENDS_WORD = r"(?=[ \t\n;&|)]|\Z)"
_ASSIGNED = rf"([A-Za-z_]\w*)(\+?)=({_TOKEN})?"
_COMMAND = re.compile(rf"(?:{_ASSIGNED}|{_RESERVED}{_FIRST}(?:[ \t]+{_TOKEN})*){_ENDS_COMMAND}", re.ASCII)
_ONLY_TEXT = re.compile(rf"{_RESERVED}[^=\[{_NO_TEXT}]+(?:[ \t]+[^{_NO_TEXT}]+)*", re.ASCII)
_TOKENS = re.compile(_TOKEN, re.ASCII)
_WORD = re.compile(_TOKEN + _ENDS_WORD, re.ASCII)
_ASSIGNMENT = re.compile(_ASSIGNED + _ENDS_WORD, re.ASCII)
_OF_ELEMENT = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)


def word(reader: "Words") -> Word | None:
    """The word here, if it is of that kind; the same one each time."""
    found = _WORD.match(reader.text, reader.at)
    if not found:
        return None
    written = found[0]
    known = reader.known.get(written)
    if known is None:
        return _read(reader, written)
    reader.at = found.end()
    return known


def assignment(reader: "Words") -> Assignment | None:
    """The assignment here, if its value is a word of that kind."""
    found = _ASSIGNMENT.match(reader.text, reader.at)
    return _assigned(reader, found) if found else None


def command(reader: "Words", line: int) -> Simple | Declaration | None:
    """The command here, which is on this line, if it is a whole one of such words, or one assignment. Where
    it is none the reader stays where it was."""
    text, start = reader.text, reader.at
    found = _COMMAND.match(text, start)
    if not found:
        return None
    written = found[0]
    last = line + written.count("\n")
    if found.lastindex:
        alone = (_assigned(reader, found),)
        return Simple(line, alone, (), (), last, written)
    end = found.end()
    before = reader.commands.get(written)
    if before is not None:
        reader.at = end
        return Simple(line, (), before, (), last, written)
    known = reader.known
    if "$" not in written and '"' not in written and "'" not in written:
        texts = written.split()
        if texts[0] in DECLARING:
            return _declaration(reader, end, written, line, last)
        reader.at = end
        found_words = tuple([known.get(each) or _text(known, each) for each in texts])
        reader.commands[written] = found_words
        return Simple(line, (), found_words, (), line, written)
    if written.split(None, 1)[0] in DECLARING:
        return _declaration(reader, end, written, line, last)
    words: list[Word] = []
    starts: list[int] = []
    for index, each in enumerate(_TOKENS.findall(written)):
        read = known.get(each)
        if read is None:
            read = _quoted(known, each)
        if read is None:
            starts = starts or [token.start() for token in _TOKENS.finditer(text, start, end)]
            reader.at = starts[index]
            read = _read(reader, each)
        words.append(read)
    reader.at = end
    reader.commands[written] = found_words = tuple(words)
    return Simple(line, (), found_words, (), last, written)


def of_text(text: str, line: int, known: dict[str, Word]) -> Simple | None:
    """The command that is all of a text, if it is nothing but words without quotes."""
    if not _ONLY_TEXT.fullmatch(text):
        return None
    words = text.split()
    if words[0] in DECLARING:
        return None
    return Simple(line, (), tuple([known.get(each) or _text(known, each) for each in words]), (), line, text)


def _declaration(reader: "Words", end: int, written: str, line: int, last: int) -> Declaration | None:
    start = reader.at
    name, *tokens = _TOKENS.finditer(reader.text, start, end)
    arguments: list[Assignment | Word] = []
    for token in tokens:
        found = _ASSIGNMENT.match(reader.text, token.start())
        if found:
            arguments.append(_assigned(reader, found))
            continue
        if _OF_ELEMENT.match(token[0]):  # NAME[index]=value, perhaps
            reader.at = start
            return None
        reader.at = token.start()
        arguments.append(reader.known.get(token[0]) or _read(reader, token[0]))
    reader.at = end
    return Declaration(line, name[0], tuple(arguments), last, written)


def _assigned(reader: "Words", found: re.Match[str]) -> Assignment:
    name, adds, value = found.groups()
    if value is None:
        read = NOTHING
    else:
        known = reader.known.get(value)
        if known is None:
            reader.at = found.start(3)
            known = _read(reader, value)
        read = known
    reader.at = found.end()
    return Assignment(name, None, bool(adds), read, None, found[0])


def _read(reader: "Words", written: str) -> Word:
    """Read a word of that kind for the first time."""
    found = _quoted(reader.known, written)
    if found is None:
        found = reader.known[written] = reader.new_word()
    else:
        reader.at += len(written)
    return found


def _quoted(known: dict[str, Word], written: str) -> Word | None:
    """A new word that is one text, with quotes around it or without."""
    if "$" in written:
        return None
    if '"' not in written and "'" not in written:
        return _text(known, written)
    if written[0] in "\"'" and written.find(written[0], 1) == len(written) - 1:
        found = known[written] = text_word(written[1:-1], True, written)
        return found
    return None


def _text(known: dict[str, Word], written: str) -> Word:
    found = known[written] = text_word(written, False, written)
    return found
