"""Secrets as they stand in texts: by the name beside them, by the option that takes them, in addresses and
headers, and by a form that only tokens have."""

import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache

from hpclaunch.convert.secrets import forms, pods
from hpclaunch.convert.secrets.forms import VALUE
from hpclaunch.convert.secrets.names import is_name_of_code, is_other, is_secret, may_be_secret, tells_where

HIDDEN = "***"
_NAME = r"(?P<name>[A-Za-z_][\w-]{0,60})"
# What closes a name: it may be an element of an array or of a dictionary, and have quotes within quotes.
_CLOSED = r"(?:\\?[\"'])?(?:\[[0-9]{0,6})?\]?"
# Behind ${NAME:? stands what is said where nobody gave it, and an option is no value of a word before it.
_NAMED = re.compile(rf"(?<![\w$-]){_NAME}{_CLOSED}(?:=|:(?!\?)[ \t]*(?!-\w\s){pods.MARKS})")
_OPTION = re.compile(r"(?<![\w.-])--?(?P<name>[A-Za-z_][\w.-]{0,80})(?:=|[ \t]+)(?!-)")
# An assignment of Python or of a file of settings, and a comparison.
_SPACED = re.compile(
    rf"(?<![\w-]){_NAME}\}}?{_CLOSED}(?:[ \t]{{1,8}}(?:[!=]?=|:)[ \t]{{1,8}}|[ \t]{{0,8}}[!=]=[ \t]{{0,8}})"
)
_SET = re.compile(
    rf"\b(?:setenv|putenv|setdefault)(?:[ \t]+|\([ \t]*[\"']){_NAME}(?:[ \t]+|[\"'][ \t]*,[ \t]*)"
)
# A value that is in the next line, as a shell and as YAML go on.
_NEXT_LINE = re.compile(r"(?:\\|[|>][+-]?)\n[ \t]*(?![ \t-])")
_BEHIND = re.compile(VALUE)
# What a variable of another name has where nobody gave it anything is known, too.
_DEFAULT = re.compile(r"\$\{\w+:?[-=+](?P<value>[^\s{}]+)\}")
# What a test came to, in words: echo "PASS: losses are equal"; or behind a mark: echo ">>> PASS: x".
_RESULT = re.compile(
    r"\b(?:echo|printf|print|log|info)[ \t(]+(?:-\w+[ \t]+)?[\"']?[ \t]*"
    r"(?:PASS:[ \t]+\S+[ \t]+\w|(?:>{2,}|={2,}|-{2,}|\*{2,}|#{2,})[ \t]*PASS:)"
    # What a comment says of a pass over something: # One-time pass: read every series.
    r"|#[^\n\"'$#]{0,80}[a-z][ \t]+pass:[ \t]+[a-z]+[ \t]+[a-z]+(?=[\s,.;]|$)"
)
# What a comment calls an option: # where no --api-key argument was given.
_OF_COMMENT = re.compile(r"[^\n\"'$]{0,200}#[^\n\"'$]{0,200}")
_CALLED = re.compile(r"(?:argument|option|parameter|flag|value|setting)s?(?![\w-])")
# An argument of a call that a program has under the same name: download(token=token).
_OWN_NAME = re.compile(r"(?P<name>[a-z_]+)=(?P=name)(?=[ \t]*[,)])")
_LISTS = frozenset(("SECRET", "SECRETS"))  # what objects of Kubernetes are called, too
_CLOSING = ")}],;"
_NEAR = 200  # characters of a line, which may be a megabyte long
_ELEMENTS = re.compile(r"\(([^()]{0,4000})")
# `read` and its like give these a value that is in the text.
_READS = re.compile(r"\b(?:read|mapfile|readarray)\b")
_READ = re.compile(rf"{_READS.pattern}(?P<names>[^\n|;&<]{{0,400}})<<<[ \t]*{VALUE}")
_LONGEST_READ = 420  # characters up to <<<
_ARROWS = re.compile(r"<+")
_PEM = re.compile(r"---BEGIN [A-Z ]*PRIVATE KEY-*(?P<value>.*?)(?=-{3,}END|\Z)", re.DOTALL)
# What a line has, in small letters, where anything of _NAMED may be in it.
_IN_NAMES = (
    *("pass", "pw", "tok", "key", "secret", "credential", "auth"),
    *(
        "creds",
        "cred=",
        "cred ",
        "webhook",
        "pswd",
        "pin_code",
        "pincode",
        "otp",
        "kennwort",
        "jwt",
        "bearer",
    ),
    *("cookie", "mot_de_passe", "motdepasse", "session", "pin=", "license=", "licence="),
    *("pat=", "pat:", "pat'", 'pat"', "pat ", "pat\t"),
)
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@lru_cache(maxsize=4096)  # findings repeat themselves
def hide(text: str) -> str:
    """The text with *** for each secret in it."""
    last = len(text)
    for start, end in sorted({span for *_, span in _found(text)}, reverse=True):
        if end <= last:
            text, last = text[:start] + HIDDEN + text[end:], start
    return text


def values(text: str) -> dict[str, str]:
    """The secrets that stand in a text, each with a name for it."""
    found: dict[str, str] = {}
    for name, value, _ in _all_of(text):
        found.setdefault(value, name)
    return found


def lines(text: str) -> dict[int, str]:
    """The lines, from 1, in which secrets stand, each with the name of the first."""
    found: dict[int, str] = {}
    number, at = 1, 0
    for start, name in sorted((span[0], name) for name, _, span in _all_of(text)):
        number, at = number + text.count("\n", at, start), start
        found.setdefault(number, name)
    return found


@lru_cache(maxsize=4)  # a file is asked about twice: for the values, and for their lines
def _all_of(text: str) -> tuple[tuple[str, str, tuple[int, int]], ...]:
    of_objects = pods.names_of_secrets(text)
    return tuple(
        each for each in _found(text) if each[0] not in _LISTS or each[1].rstrip(_CLOSING) not in of_objects
    )


def _found(text: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """The name, the value and where it is."""
    for start, line in _lines_with(_IN_NAMES, text):
        yield from _named(text, line, start)
        yield from _spaced(line, start)
        if "name" in line:
            for name, found, before in pods.found_at(text, start, start + len(line)):
                yield from _value(name, found, before)
    for start, line in _lines_with(forms.HINTS, text):
        for name, found in forms.found_in(line):
            yield from _value(name, found, start, is_option=True)
        for found in _reads(line):
            names = found["names"].split()
            name = next((each for each in names if _may_be_read(each)), "")
            if name:
                yield from _value(name.upper(), found, start)
    for found in _PEM.finditer(text):
        start = found.start("value")
        for part in re.finditer(r"\S+", found["value"]):
            yield "PRIVATE_KEY", part[0], (start + part.start(), start + part.end())


def _reads(line: str) -> Iterator[re.Match[str]]:
    """Each `read` of a text: it is looked for where a text is given, and not at each word of that name."""
    behind = 0  # no name has a <, and so each character is looked at once
    for arrows in _ARROWS.finditer(line) if "<<<" in line else ():
        words = _READS.finditer(line, max(arrows.start() - _LONGEST_READ, behind), arrows.start())
        found = next(filter(None, (_READ.match(line, each.start()) for each in words)), None)
        if found is not None:
            yield found
        behind = arrows.end()


def _may_be_read(name: str) -> bool:
    return may_be_secret(name.upper(), is_option=False)


def _named(text: str, line: str, start: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Those with their names beside them: a value, or all elements of an array."""
    for pattern in (_NAMED, _OPTION):
        behind, is_option = 0, pattern is _OPTION
        for found in pattern.finditer(line):
            name = _name(found)
            if found.start() < behind or not may_be_secret(name, is_option=is_option):
                continue
            if name == "PASS" and _is_result(line, found.start()):
                continue
            if _OWN_NAME.match(line, found.start("name")):
                continue
            if (
                is_option
                and _CALLED.match(line, found.end())
                and _OF_COMMENT.fullmatch(line, 0, found.start())
            ):
                continue
            at = start + found.end()
            if next_line := _NEXT_LINE.match(text, at):
                if value := _BEHIND.match(text, next_line.end()):
                    yield from _value(name, value, 0, is_option=is_option)
            elif value := _BEHIND.match(line, found.end()):
                behind = value.end()
                yield from _value(name, value, start, is_option=is_option)
            elif elements := _ELEMENTS.match(text, at):
                for each in _BEHIND.finditer(elements[1]):
                    yield from _value(name, each, elements.start(1))


def _is_result(line: str, at: int) -> bool:
    near = _RESULT.finditer(line, max(at - _NEAR, 0), at + _NEAR)
    return any(each.start() <= at < each.end() for each in near)


def _spaced(line: str, start: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Those that a program or a file of settings names: beside a name of a program stand names, too."""
    for found in (*_SPACED.finditer(line), *_SET.finditer(line)):
        name = _name(found)
        if not is_secret(name) or not (value := _BEHIND.match(line, found.end())):
            continue
        if name == "PASS" and _is_result(line, found.start()):
            continue
        is_quoted = value["value"][:1] in ("'", '"')
        if (
            found.re is _SET
            or is_quoted
            or not (is_name_of_code(value["value"]) or line[value.end() :][:1] == "(")
        ):
            yield from _value(name, value, start)


def _name(found: re.Match[str]) -> str:
    return found["name"].replace("-", "_").replace(".", "_").upper()


def _lines_with(hints: Sequence[str], text: str) -> Iterator[tuple[int, str]]:
    """The lines in which something may be found, and where they begin: of a megabyte it is few."""
    small = text.translate(_SMALL)
    lines: set[tuple[int, int]] = set()
    for hint in hints:
        at = small.find(hint)
        while at >= 0:
            end = small.find("\n", at)
            end = len(text) if end < 0 else end
            lines.add((small.rfind("\n", 0, at) + 1, end))
            at = small.find(hint, end)
    return ((start, text[start:end]) for start, end in sorted(lines))


def _value(
    name: str, found: re.Match[str], at: int, *, is_option: bool = False
) -> Iterator[tuple[str, str, tuple[int, int]]]:
    value, (start, end) = found["value"], found.span("value")
    if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
        value, start, end = value[1:-1], start + 1, end - 1
    elif value[:1] in ("'", '"'):
        value, start = value[1:], start + 1
    if value.endswith("\\") and found.string[found.start("value") - 1 : found.start("value")] == "\\":
        value, end = value[:-1], end - 1  # of the quote that closes it
    if default := _DEFAULT.fullmatch(value):
        value, (start, end) = default["value"], (start + default.start("value"), start + default.end("value"))
    is_sign = len(value) < 3 and not any(map(str.isalnum, value))  # the = of a comparison
    # The last of a dictionary in code, and what closes that: False}
    bare = value.rstrip(_CLOSING) if value == found["value"] else value
    if not (is_sign or value.endswith(HIDDEN)) and not any(
        tells_where(each) or is_other(name, each, is_option=is_option) for each in {value, bare or value}
    ):
        yield name, value, (at + start, at + end)
        if bare and bare != value:  # {token: VALUE, ...}: the value itself may stand elsewhere
            yield name, bare, (at + start, at + start + len(bare))
