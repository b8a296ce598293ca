"""What a record has of the check of a job's nodes: the lines that its script wrote there."""

import contextlib

from hpclaunch.records.record import Record
from hpclaunch.values.preflight import FILE, JUDGE, LINKS

_CHOSEN = "the ranks are on "


def are_asked(record: Record) -> bool:
    """Whether the job's script checks nodes."""
    with contextlib.suppress(OSError):
        script = record.script.read_bytes()
        return any(f" {name} ".encode() in script for name in (JUDGE, LINKS))
    return False


def lines(record: Record) -> list[str]:
    """What was said of the job's last start; nothing for a job that checks none, and before it does."""
    try:
        return (record.folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def chosen(record: Record) -> str:
    """The nodes that the ranks were given, with commas, "" where that is not told."""
    return next((line[len(_CHOSEN) :] for line in lines(record) if line.startswith(_CHOSEN)), "")
