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
