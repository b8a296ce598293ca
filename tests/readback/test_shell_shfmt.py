"""What becomes of a text that shfmt refuses, or does not get."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpclaunch.readback.shell import shfmt
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.parse import parse
from hpclaunch.values.errors import HpclaunchError


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only program of that name that is to be found, and not there yet."""
    monkeypatch.setattr(shfmt.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(shfmt.sysconfig, "get_path", lambda *_: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    shfmt._program.cache_clear()
    yield tmp_path / "shfmt"
    shfmt._program.cache_clear()


def write(program: Path, text: str) -> None:
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


def test_without_it_an_error_says_how_to_get_it(program: Path) -> None:
    with pytest.raises(HpclaunchError, match="pip install shfmt-py"):
        parse("a")


@pytest.mark.parametrize("said", ['{"Stmts": 3}', "{", '{"Stmts": [{"Cmd": {"Type": "New"}}]}'])
def test_one_that_writes_another_tree_is_named(program: Path, said: str) -> None:
    write(program, f"echo '{said}'")
    with pytest.raises(HpclaunchError, match=f"{program} writes a syntax tree of another form"):
        parse("a")


def test_one_that_does_not_end_is_ended(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(program, "exec /bin/sleep 60")
    monkeypatch.setattr(shfmt, "_SECONDS", 1)
    start = time.monotonic()
    with pytest.raises(ScriptError, match="line 7: shfmt needs more than 1 seconds"):
        parse("a", 7)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "text",
    [
        "x && " * 3000 + "x",
        "x=$((" + "(" * 5000 + "1" + ")" * 5000 + "))",
        "echo " + "$(" * 100 + "a" + ")" * 100,
        "{ " * 100 + "a" + "; }" * 100,
        "a b\n" * 190_000 + "if",
    ],
)
def test_too_much_is_one_error(text: str) -> None:
    with pytest.raises(ScriptError) as error:
        parse(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_what_it_does_not_see_as_bash_does_is_put_right() -> None:
    group = parse("a\r\n'b\r\n' \"c\r\n\"\nd=(=e\r\n\r =\r)\na=(\n" + "  =f\n" * 50 + ")")
    first, second, third, many = group.body
    assert [word.written for word in (*first.words, *second.words)] == ["a\r", "'b\r\n'", '"c\r\n"']
    assert [element.value.written for element in third.assignments[0].array] == ["=e\r", "\r", "=\r"]
    assert [piece.text for element in third.assignments[0].array for piece in element.value.pieces] == [
        *("=e\r", "\r", "=\r")
    ]
    assert {element.value.written for element in many.assignments[0].array} == {"=f"}
