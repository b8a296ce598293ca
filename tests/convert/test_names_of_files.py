"""Where a file lies is said once, at the head: all else that is said has its own name."""

from pathlib import Path

import pytest
from test_any_input import SCRIPTS

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import markdown, text
from hpclaunch.values.conversion import with_base_names
from hpclaunch.values.errors import InputError

_HEADS = ("Files: ", "# Made by `hpclaunch convert` from ")


def _said(name: str, script: str) -> list[str]:
    found = convert(classified({name: script}), Options({}))
    lines = f"{found.job}\n{text(found)}\n{markdown(found)}".splitlines()
    return [line for line in lines if line and not line.startswith(_HEADS)]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: "/".join(path.parts[-2:]))
def test_the_folder_of_a_file_changes_nothing_that_is_said(path: Path) -> None:
    script = path.read_bytes().decode()
    try:
        own = _said(path.name, script)
    except InputError:
        return
    assert _said(f"/an/own/folder/{path.name}", script) == own


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("it stands in /a/run.sub:3-4 alone", "it stands in run.sub:3-4 alone"),
        ("/a/run.sub", "run.sub"),
        ("(/a/run.sub:3, b/more.sh:1)", "(run.sub:3, b/more.sh:1)"),
        ("bash /a/run.sub x", "bash /a/run.sub x"),
        ("/x/a/run.sub:3", "/x/a/run.sub:3"),
    ],
)
def test_places_in_sentences(said: str, shown: str) -> None:
    assert with_base_names({"/a/run.sub": "run.sub", "b/more.sh": "b/more.sh"})(said) == shown
