"""A chain: one job array whose tasks, its links, run one after the other until one is done or fails."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from hpclaunch.schedulers import arrays
from hpclaunch.values.job import JobStatus

FILE = "chain"


def whole(folder: Path, tasks: Mapping[int, JobStatus]) -> JobStatus:
    """The state of a chain: that of the link that runs, or is the next; after the end that of the last link.
    `folder` is the record's, in which the script of a link says that it was the last."""
    total = len(tasks)
    submitted, started = arrays.least(tasks, "submitted"), arrays.least(tasks, "started")

    def of(link: int, reason: str) -> JobStatus:
        own = tasks[link]
        why = f"{reason}; {own.reason}" if own.reason else reason
        return structs.replace(own, reason=why, submitted=submitted, started=started)

    running = next((link for link, status in tasks.items() if status.state == "RUNNING"), None)
    if running is not None:
        return of(running, f"link {running} of {total} runs")
    said, last, status = _ended(folder)
    if last in tasks:
        if said == "done":
            return structs.replace(
                of(last, f"link {last} of {total} was done"), state="COMPLETED", exit_code=0
            )
        return structs.replace(of(last, f"link {last} of {total} failed"), state="FAILED", exit_code=status)
    for link, own in tasks.items():
        if own.state in ("PENDING", "UNKNOWN"):
            return of(link, f"link {link} of {total} is next")
    ran = [link for link, own in tasks.items() if own.state != "CANCELLED"]
    done = next((link for link in ran if tasks[link].state == "COMPLETED"), None)
    if done is not None:
        return of(done, f"link {done} of {total} was done")
    final = ran[-1] if ran else total - 1
    return of(final, f"link {final} of {total} was the last, and not done")


def _ended(folder: Path) -> tuple[str, int, int]:
    """done or failed, the link, and its exit status; -1 for a link while no script has said it."""
    try:
        said, link, status = (folder / FILE).read_text(encoding="ascii").split()
        return said, int(link), int(status)
    except (OSError, ValueError):
        return "", -1, 0
