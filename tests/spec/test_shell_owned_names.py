"""The variables that are refused are those that a shell does not hand on byte for byte, and no others."""

import os
import shutil
import subprocess

import pytest

from hpclaunch.spec.scalars import SHELL_OWNED

VALUES = ["007", "x 1.9$y", ""]

# Names that are the shell's business too, and arrive unchanged: they must stay usable.
_USABLE = """
IFS PATH HOME ENV BASH_ENV PS1 PS4 OPTARG OPTERR LANG LC_ALL TERM COLUMNS HOSTNAME TMPDIR USER MAIL CDPATH
REPLY LD_PRELOAD HISTFILE POSIXLY_CORRECT TZ PIPESTATUS
"""
USABLE = _USABLE.split()


def shells() -> list[list[str]]:
    return [shell for shell in (["bash"], ["dash"], ["busybox", "sh"]) if shutil.which(shell[0])]


def arrived(shell: list[str], name: str, value: str) -> str | None:
    """What a program sees after the shell exported the variable, went to a folder, ran a pipe, and exec'd."""
    script = f"export '{name}={value}'\ncd /\n: | :\nexec \"$0\" -0\n"
    done = subprocess.run(
        [*shell, "-c", script, shutil.which("env")], env={"PATH": os.defpath}, capture_output=True, text=True
    )
    found = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if "=" in entry)
    return found.get(name)


@pytest.mark.parametrize("name", sorted(SHELL_OWNED))
def test_a_refused_name_does_not_arrive(name):
    assert any(arrived(shell, name, value) != value for shell in shells() for value in VALUES)


@pytest.mark.parametrize("name", USABLE)
def test_a_usable_name_arrives(name):
    assert name not in SHELL_OWNED
    for shell in shells():
        for value in VALUES:
            assert arrived(shell, name, value) == value, shell
