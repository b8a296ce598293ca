"""What Slurm's commands print, read by explicit fields and delimiter. Pure.

`squeue --Format=name:0|` prints a field in full and then the delimiter (`_parse_long_token` and
`_print_str` of src/squeue, the same from 20.11 to 26.05). The fields that may hold anything stand last.
"""

import os
import pwd
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from hpclaunch.schedulers.slurm_states import BY_WORD, CANCELLING, REASONS, is_waiting
from hpclaunch.values.job import ENDED, JobStatus

# The id of a job array's task is ARRAY_TASK, and of those that wait ARRAY_[LIST]; of a heterogeneous job's
# component it is JOB+COMPONENT. sacct's JobID is the same.
SQUEUE_FIELDS = (
    "JobArrayID",
    "State",
    "exit_code",
    "NodeList",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "Reason",
)
SQUEUE_FORMAT = ",".join(f"{name}:0|" for name in (*SQUEUE_FIELDS, "comment", "WorkDir"))
SACCT_FIELDS = ("JobID", "State", "ExitCode", "NodeList", "Submit", "Start", "End", "Reason")
# The comment is empty unless AccountingStoreFlags has job_comment; the working folder is always kept.
SACCT_FORMAT = ",".join((*SACCT_FIELDS, "Comment", "WorkDir"))

ExitReader = Callable[[str], tuple[int | None, int | None]]


def parse_squeue(text: str) -> list[tuple[str, JobStatus, str]]:
    """(job id, status, comment and working folder) of each line."""
    return _parse(text, _squeue_exit)


def parse_sacct(text: str) -> list[tuple[str, JobStatus, str]]:
    """(job id, status, comment and working folder) of each line of `sacct --parsable2`."""
    return _parse(text, _exit_and_signal)


def parse_submitted(text: str) -> str | None:
    """The job id in the output of `sbatch --parsable`: "id" or "id;cluster", after whatever a site's
    plugin printed. None where there is none."""
    found = re.findall(r"^(\d+)(?:;\S+)?$", text, re.MULTILINE)
    return found[-1] if found else None


def by_tag(
    rows: list[tuple[str, JobStatus, str]], tags: Mapping[str, str | None]
) -> dict[str, tuple[str, JobStatus]]:
    """Tag -> (job id, status) for the rows that carry one of `tags` in their comment or working folder,
    and have its job id where that is known. A number that an older cluster gave to another job is nobody's.
    The id of an array's task is the array's.
    """
    return {
        tag: (job_id.partition("_")[0], status)
        for job_id, status, marks in rows
        for tag, wanted in tags.items()
        if wanted in (None, job_id.partition("_")[0]) and tag in marks
    }


def whole(rows: Iterable[tuple[str, JobStatus, str]]) -> list[tuple[str, JobStatus, str]]:
    """The rows with one in place of those of a heterogeneous job's components: that of the first, which has
    the job's id and its script, with the nodes of all and the reason of the next one that has any. Where
    somebody cancels another one the script ends as if the ranks had failed, and the job is cancelled too."""
    found: list[tuple[str, JobStatus, str]] = []
    components: dict[str, dict[int, JobStatus]] = {}
    for job_id, status, marks in rows:
        leader, component, number = job_id.partition("+")
        if component:
            components.setdefault(leader, {})[int(number)] = status
        if number in ("", "0"):
            found.append((leader, status, marks))
    return [
        (job_id, _together(components[job_id]) if job_id in components else status, marks)
        for job_id, status, marks in found
    ]


def _together(components: Mapping[int, JobStatus]) -> JobStatus:
    parts = [components[number] for number in sorted(components)]
    first = parts[0]
    reason = next((each.reason for each in parts if each.reason and each.state == first.state), "")
    nodes = ",".join(each.nodes for each in parts if each.nodes)
    cancelled = next((each for each in parts if each.state == "CANCELLED"), None)
    if first.state == "FAILED" and cancelled is not None:
        own = {"exit_code": cancelled.exit_code, "signal": cancelled.signal, "reason": cancelled.reason}
        return msgspec.structs.replace(first, state="CANCELLED", nodes=nodes, **own)
    return msgspec.structs.replace(first, nodes=nodes, reason=first.reason or reason)


def _parse(text: str, read_exit: ExitReader) -> list[tuple[str, JobStatus, str]]:
    rows = []
    for line in text.splitlines():
        values = line.split("|", len(SQUEUE_FIELDS))
        if len(values) <= len(SQUEUE_FIELDS):
            continue  # a remark of the command, not a job
        job_id, word, ended_with, nodes, submitted, started, ended, reason, marks = values
        rows.append(
            (job_id, status_of(word, read_exit(ended_with), nodes, submitted, started, ended, reason), marks)
        )
    return whole(rows)


def status_of(
    word: str,
    ended_with: tuple[int | None, int | None],
    nodes: str,
    submitted: str,
    started: str,
    ended: str,
    reason: str,
) -> JobStatus:
    words = word.split()  # sacct says "CANCELLED by 1000"
    state, remark = BY_WORD.get(words[0] if words else "", ("UNKNOWN", f"Slurm calls its state {word!r}"))
    if state == "CANCELLED" and reason not in CANCELLING:
        reason = ""
    if state in ENDED and is_waiting(reason):
        reason = ""
    if state == "CANCELLED" and words[1:2] == ["by"] and len(words) > 2:
        remark = f"by {_user(words[2])}"
    said = REASONS.get(reason, f"Slurm's reason: {reason}" if reason not in ("", "None", "(null)") else "")
    has_ended = state in ENDED
    exit_code, signal = ended_with if has_ended else (None, None)
    return JobStatus(
        state=state,
        reason="; ".join(dict.fromkeys(part for part in (remark, said) if part)),
        exit_code=exit_code,
        signal=signal,
        nodes="" if nodes in ("(null)", "None assigned") else nodes,
        submitted=_time(submitted),
        started=None if state == "PENDING" else _time(started),  # what Slurm prints then is a forecast
        ended=_time(ended) if has_ended else None,
    )


def _user(number: str) -> str:
    """The name of the user with that number, where this machine knows it."""
    try:
        return pwd.getpwuid(int(number)).pw_name
    except (KeyError, ValueError):
        return f"user {number}"


def _time(text: str) -> str | None:
    """Slurm prints local time without a zone; it is asked with TZ=UTC. "N/A", "NONE", "Unknown": no time."""
    return text + "Z" if text[:1].isdigit() else None


def _squeue_exit(text: str) -> tuple[int | None, int | None]:
    """squeue prints the wait status as a number, later versions as "exit:signal"."""
    if ":" in text:
        return _exit_and_signal(text)
    if not text.isdigit():
        return None, None
    status = int(text)
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def _exit_and_signal(text: str) -> tuple[int | None, int | None]:
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match:
        return None, None
    exit_code, signal = map(int, match.groups())
    return (None, signal) if signal else (exit_code, None)
