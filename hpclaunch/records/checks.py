"""What a record has of the check of a job's nodes: the lines that its script wrote there."""

from hpclaunch.records.record import Record
from hpclaunch.values.preflight import FILE

_CHOSEN = "the ranks are on "


def lines(record: Record) -> list[str]:
    """What was said of the job's last start; nothing for a job that checks none, and before it does."""
    try:
        return (record.folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def chosen(record: Record) -> str:
    """The nodes that the ranks were given, with commas, "" where that is not told."""
    return next((line[len(_CHOSEN) :] for line in lines(record) if line.startswith(_CHOSEN)), "")
