"""Ctrl-C while the program is still being loaded, by the entry that an installation has."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = (Path(__file__).parents[2] / "pyproject.toml").read_text()
ENTRY = re.findall(r'^\[project\.scripts\]\nhpclaunch = "(.+)"$', PROJECT, re.MULTILINE)
START = """\
import importlib, os, signal, sys
loaded, entry = sys.argv.pop(1), sys.argv.pop(1)
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == loaded:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
module, _, function = entry.partition(":")
getattr(importlib.import_module(module), function)()
"""


@pytest.mark.parametrize("loaded", ["hpclaunch.cli.main", "click", "msgspec", "hpclaunch.cli.schema"])
def test_an_interrupt_while_it_is_loaded_is_no_traceback(loaded: str) -> None:
    argv = [sys.executable, "-c", START, loaded, *ENTRY, "schema", "job"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")
