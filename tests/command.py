"""The command as a user calls it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def hpclaunch(*words: str | Path, **more: Any) -> "subprocess.CompletedProcess[str]":
    """`hpclaunch WORDS`, with its output as text; `more` goes to subprocess.run."""
    argv = [sys.executable, "-m", "hpclaunch", *map(str, words)]
    return subprocess.run(argv, **{"capture_output": True, "text": True, "timeout": 120, **more})


def origins(*words: str | Path, **more: Any) -> dict[str, tuple[str, str]]:
    """What `hpclaunch explain WORDS` tells of each thing: its value, and what set it."""
    done = hpclaunch("explain", *words, "--json", **more)
    assert done.returncode == 0, done.stderr
    return {row["what"]: (row["value"], row["from"]) for row in json.loads(done.stdout)["origins"]}


def loaded_by(*words: str | Path, cwd: Path | None = None) -> set[str]:
    """The modules that `hpclaunch WORDS` imports."""
    argv = list(map(str, words))
    return loaded_in(
        f"from hpclaunch.cli.main import hpclaunch\nhpclaunch({argv}, standalone_mode=False)", cwd
    )


def loaded_in(program: str, cwd: Path | None = None) -> set[str]:
    """The modules that a program of Python has imported when it ends."""
    text = f"import sys\n{program}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", text], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())
