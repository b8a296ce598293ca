"""Secrets among the variables of a pod, in the text of a manifest, however broken the rest of it is."""

import re
from collections.abc import Iterator

from hpclaunch.convert.secrets.names import is_secret

_LONGEST = 8000  # characters of lines that have one of the two each
# An anchor and a tag.
MARKS = r"(?:[&!][^\s\"',]{0,60}[ \t]+){0,2}"
# A variable of a pod: its name and its value side by side, in two lines or within braces.
_OF_POD = r"[\"']?%s[\"']?:[ \t]*" + MARKS
_NAME_OF_POD = _OF_POD % "name" + r"[\"']?(?P<name>[A-Za-z_][\w-]{0,60})[\"']?"
_VALUE_OF_POD = _OF_POD % "value" + r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|%s)"
_LINES_OF_POD = _VALUE_OF_POD % r"[^\s\"',#][^\n]*?(?=,?[ \t]*(?:\s#|\n|\Z))"
_FLOW_OF_POD = _VALUE_OF_POD % r"[^\s\"',}][^\n,}]*"
# What a pod calls a Secret by is the object's name, and in no value: EnvVarSource, EnvFromSource and
# SecretVolumeSource of kubernetes.io/docs/reference/kubernetes-api. Names are in small letters (RFC 1123).
_OF_SECRET = re.compile(
    r"\bsecret(?:(?:Key)?Ref[\"']?:\s{1,80}(?:\{\s{0,40})?"
    r"(?:[\"']?(?:key|optional)[\"']?:[ \t]{0,8}[^\s,]{1,253},?\s{1,80}){0,2}[\"']?name|Name)"
    r"[\"']?:[ \t]{1,8}[\"']?(?P<name>[a-z0-9][a-z0-9.-]{0,252})(?![\w.-])"
)
_PAIRS = tuple(
    re.compile(text)
    for text in (
        rf"{_NAME_OF_POD},?[ \t]*(?:\s#[^\n]*)?\n[ \t]*{_LINES_OF_POD}",
        rf"{_LINES_OF_POD},?[ \t]*(?:\s#[^\n]*)?\n[ \t]*{_NAME_OF_POD}",
        rf"{_NAME_OF_POD},[ \t]*{_FLOW_OF_POD}",
        rf"{_FLOW_OF_POD},[ \t]*{_NAME_OF_POD}",
    )
)


def found_at(text: str, start: int, end: int) -> Iterator[tuple[str, re.Match[str], int]]:
    """Those that a line names, with the line before it or after it:
    the name, where it is, and where its text begins."""
    before = text.rfind("\n", 0, max(start - 1, 0)) + 1
    after = text.find("\n", end + 1)
    window = text[before : len(text) if after < 0 else after]
    for pattern in _PAIRS if len(window) <= _LONGEST else _PAIRS[2:]:
        for found in pattern.finditer(window):
            if is_secret(found["name"]):
                yield found["name"].upper(), found, before


def names_of_secrets(text: str) -> frozenset[str]:
    """The names of the Secrets that pods of a text refer to: a comment may list them behind `secrets:`."""
    return (
        frozenset(found["name"] for found in _OF_SECRET.finditer(text)) if "secret" in text else frozenset()
    )
