"""What a record has of the check of a job's nodes: the lines that its script wrote there."""

import contextlib
from pathlib import Path

from hpclaunch.records.record import Record
from hpclaunch.values.preflight import FILE, JUDGE, LINKS

_CHOSEN = "the ranks are on "


def are_asked(record: Record) -> bool:
    """Whether the job's script checks nodes."""
    with contextlib.suppress(OSError):
        script = record.script.read_bytes()
        return any(f" {name} ".encode() in script for name in (JUDGE, LINKS))
    return False


def lines(folder: Path) -> list[str]:
    """What was said of the last start of the job with this record; nothing for a job that checks none, and
    before it does."""
    try:
        return (folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def chosen(folder: Path, allocation: int | None = None) -> str:
    """The nodes that the ranks were given, with commas, "" where that is not told. Where groups have an
    allocation each it is those of that one, or of all."""
    found = [line[len(_CHOSEN) :] for line in lines(folder) if line.startswith(_CHOSEN)]
    return ",".join(found if allocation is None else found[allocation : allocation + 1])
