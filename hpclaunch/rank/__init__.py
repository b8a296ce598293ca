"""The wrapper that runs beside every rank: one POSIX sh text with a small protocol."""

import os.path
from functools import cache


@cache
def wrapper_text() -> str:
    """The wrapper, as it is handed to `/bin/sh -c`."""
    with open(os.path.join(os.path.dirname(__file__), "wrapper.sh"), encoding="utf-8") as file:
        return file.read()
