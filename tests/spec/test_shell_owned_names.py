"""The variables that are refused are those that a shell does not hand on byte for byte, and no others."""

import os
import shutil
import subprocess

import pytest
from variables import usable

from hpclaunch.spec.scalars import SHELL_OWNED

VALUES = ["007", "x 1.9$y", ""]

# Names that are the shell's business too, and arrive unchanged: they must stay usable.
_USABLE = """
IFS PATH HOME ENV BASH_ENV PS1 PS4 OPTARG OPTERR LANG LC_ALL TERM COLUMNS HOSTNAME TMPDIR USER MAIL CDPATH
REPLY LD_PRELOAD HISTFILE POSIXLY_CORRECT TZ PIPESTATUS
"""
USABLE = _USABLE.split()


def shells() -> list[list[str]]:
    every = [["bash"], ["dash"], ["busybox", "sh"]]
    for name, *_ in every:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    return every


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


# Beside the refused names: they must stay usable too.
AROUND = {near for name in SHELL_OWNED for near in (f"{name}_", f"X{name}", name.lower(), name[:-1])}
NEAR = sorted(AROUND - SHELL_OWNED - {""} | {"hl", "HL_X", "xhl_x", "_hl_x"})


def test_the_refusal_is_not_wider_than_the_refused_names():
    assert [name for name in NEAR if not usable(name)] == []
    for shell in shells():
        assert [name for name in NEAR if arrived(shell, name, "x 1.9$y") != "x 1.9$y"] == [], shell


def test_every_variable_that_bash_knows_is_refused_or_arrives():
    listing = subprocess.run(["bash", "-c", "compgen -v"], env={}, capture_output=True, text=True, check=True)
    names = [name for name in listing.stdout.split() if usable(name)]
    assert "IFS" in names
    assert [name for name in names if arrived(["bash"], name, "x 1.9$y") != "x 1.9$y"] == []
