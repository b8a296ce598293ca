"""The wrapper that runs beside every rank: one POSIX sh text with a small protocol."""

import os.path
from collections.abc import Sequence
from functools import cache

# The parts in their order, each with the settings that need it; none: every wrapper has it.
_PARTS: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (part, frozenset(needed.split()))
    for part, needed in (
        ("begin", ""),
        ("hosts", "hosts"),
        ("lists", "seats cores verify"),
        ("settings", ""),
        ("rank", ""),
        ("rendezvous", "rendezvous"),
        ("limits", "memlock verify"),
        ("memlock", "memlock"),
        ("devices", "hcas seats verify"),
        ("gpus", "seats verify"),
        ("granted", "seats"),
        ("hcas", "hcas"),
        ("cores", "part"),
        ("bind", "cpus membind preferred part"),
        ("report", "verify"),
        ("run", ""),
    )
)

# The settings that need a part of their own. With all of them the text has every part.
SETTINGS: tuple[str, ...] = tuple(sorted(set().union(*(needed for _, needed in _PARTS))))


def wrapper_text(settings: Sequence[str]) -> str:
    """The wrapper as it is handed to `/bin/sh -c`: what its settings ("from=slurm") need, and no more."""
    names = {setting.partition("=")[0] for setting in settings}
    return "\n".join(_read(part) for part, needed in _PARTS if not needed or needed & names)


@cache
def _read(part: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "wrapper", f"{part}.sh"), encoding="utf-8") as file:
        return file.read()
