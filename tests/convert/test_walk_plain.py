"""Commands of plain words, which are read by one look each, are the same as read piece by piece."""

import os
import re
from typing import Any

import pytest
import script_cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs
from shell_hostile import HOSTILE
from test_walk_bash import SCRIPTS
from test_walk_fuzz import MARKS

from hpclaunch.convert.shell.syntax import plain, words
from hpclaunch.convert.shell.syntax.reader import read
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.pieces import Word

NOTHING = re.compile(r"(?!)")
# What plain words are made of, and what is nearly one.
NEAR = [
    *(
        "a",
        "x=",
        "x+=",
        "a[1]=",
        "export ",
        "declare -x ",
        "local ",
        "[ ",
        "[[ ",
        "]",
        "if",
        "then",
        "do",
        "time ",
    ),
    *(
        "$x",
        "${x}",
        "${x:-a b}",
        "${x+}",
        "${x?",
        "$1",
        "$$",
        "$",
        "${",
        "}",
        "{",
        '"',
        "'",
        "\\",
        "\\\n",
        "`",
    ),
    *(
        " ",
        "\t",
        "\n",
        ";",
        "&",
        "&&",
        "|",
        ">&",
        "&>",
        ">",
        "<",
        "(",
        ")",
        "$(",
        " #",
        "#",
        "=",
        "~",
        "*",
        "!",
    ),
    *("!(", "\x1c", "\x85", "\xa0", "\r", "é", "-n", "1", ":"),
]
TEXTS = st.lists(st.sampled_from([*NEAR, *MARKS]), max_size=14).map("".join)


def outcome(text: str) -> Any:
    """The statements of a text, or why there are none."""
    try:
        return bare(read(text))
    except ScriptError as error:
        return error.message, error.line


def bare(found: Any) -> Any:
    """A statement without what its words are known to become, which only saves that it is found out."""
    if isinstance(found, tuple):
        return tuple(map(bare, found))
    if not isinstance(found, Struct):
        return found
    fields = {name: bare(each) for name, each in structs.asdict(found).items()}
    return type(found), {**fields, "value": None} if isinstance(found, Word) else fields


def is_read_alike(text: str) -> None:
    at_once = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("word", "assignment", "command", "of_text"):
            patch.setattr(plain, name, lambda *_: None)
        patch.setattr(words, "_WITH_TEXT", NOTHING)
        assert outcome(text) == at_once


def scripts() -> list[str]:
    """Those of the cases."""
    found = [
        os.path.join(folder, name)
        for folder, _, names in sorted(os.walk(script_cases.SCRIPTS))
        for name in sorted(names)
        if not name.endswith(".yaml")
    ]
    assert len(found) > 50
    return found


def test_a_launcher_is_read_alike() -> None:
    for path in scripts():
        with open(path, encoding="utf-8", errors="replace") as file:
            is_read_alike(file.read())


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
@example(text="x=1 y=2 a b")
@example(text="export A=1 B='a b' C=\"$x\" D")
@example(text="echo `a b` `a;b` $(a b) $(export a=1)")
@example(text="a \\\n b\nc")
@example(text="function f export ")
def test_any_text_is_read_alike(text: str) -> None:
    is_read_alike(text)


@settings(max_examples=100, deadline=None)
@given(text=SCRIPTS, data=st.data())
def test_a_script_with_something_in_it_is_read_alike(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    is_read_alike(text[:at] + data.draw(st.sampled_from([*NEAR, *MARKS])) + text[at:])


@pytest.mark.parametrize("name", [name for name in HOSTILE if len(str(HOSTILE[name])) < 20000])
def test_a_hostile_text_is_read_alike(name: str) -> None:
    is_read_alike(str(HOSTILE[name]))
