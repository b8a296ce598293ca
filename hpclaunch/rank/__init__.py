"""The wrapper that runs beside every rank: one POSIX sh text with a small protocol."""

from functools import cache
from importlib.resources import files

PROTOCOL = 1


@cache
def wrapper_text() -> str:
    """The wrapper, as it is handed to `/bin/sh -c`."""
    return files("hpclaunch.rank").joinpath("wrapper.sh").read_text("utf-8")
