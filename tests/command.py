"""The command as a user calls it."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def hpclaunch(*words: str | Path, **more: Any) -> "subprocess.CompletedProcess[str]":
    """`hpclaunch WORDS`, with its output as text; `more` goes to subprocess.run."""
    argv = [sys.executable, "-m", "hpclaunch", *map(str, words)]
    return subprocess.run(argv, **{"capture_output": True, "text": True, "timeout": 120, **more})
