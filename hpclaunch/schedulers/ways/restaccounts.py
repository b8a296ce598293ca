"""Accounts through slurmrestd: its other API, /slurmdb/, where it serves that and the cluster keeps accounts.

Its queries are sacct's (`dump_jobs` of src/plugins/openapi/dbv0.0.3*/jobs.c): without states jobs that never
became eligible are left out, and times take the form of sacct's "utsSECONDS". From v0.0.40 on
(openapi/slurmdbd/jobs.c, `_parse_list` of data_parser) several states are several parameters, and who sets a
flag loses those that are set otherwise: --duplicates, and that jobs are shown however they were scheduled.
"""

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlencode

from hpclaunch.schedulers.slurm_output import status_of, whole
from hpclaunch.schedulers.slurm_states import BY_WORD
from hpclaunch.schedulers.ways import openapi
from hpclaunch.schedulers.ways.contract import Row
from hpclaunch.schedulers.ways.restclient import RestClient
from hpclaunch.values.errors import SchedulerError

_QUERY_S = 60.0
_ENDED = (
    *("CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL"),
    *("PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"),
)
_FAR_S = 2_114_380_800  # 2037-01-01: Slurm's times may be of 32 bits
_NOTHING = "Nothing found"


def of_ids(client: RestClient, ids: Sequence[str]) -> list[Row]:
    """These jobs; none where the accounts cannot be asked."""
    rows: list[Row] = []
    for job_id in ids:
        found = _ask(client, f"job/{job_id}")
        if found is None:
            break
        rows += found
    return rows


def since(client: RestClient, when: str) -> list[Row] | None:
    """All jobs that ended after a time (UTC, "2026-01-31T12:00:00"); None where the accounts cannot be
    asked."""
    start = int(datetime.fromisoformat(when).replace(tzinfo=timezone.utc).timestamp())
    asked: dict[str, object] = {"start_time": f"uts{start}", "end_time": f"uts{_FAR_S}"}
    if client.server.api < "v0.0.40":
        asked |= {"state": ",".join(_ENDED), "skip_steps": "true"}
    else:
        asked["state"] = _ENDED
    return _ask(client, f"jobs?{urlencode(asked, doseq=True)}")


def _ask(client: RestClient, path: str) -> list[Row] | None:
    try:
        answer = client.ask_accounts(path, _QUERY_S)
    except SchedulerError as error:
        return [] if _NOTHING in str(error) else None
    return whole(_row(job) for job in answer.get("jobs") or () if isinstance(job, dict))


def _row(job: dict[str, Any]) -> Row:
    state, times = job.get("state") or {}, job.get("time") or {}
    current = state.get("current") or ""
    # From v0.0.40 on a list: the base state, then flags.
    words = [current] if isinstance(current, str) else [str(word) for word in current]
    word = next((word for word in words if word in BY_WORD), words[0] if words else "")
    comment = job.get("comment") or {}
    marks = f"{comment.get('job') or ''}|{job.get('working_directory') or ''}"
    status = status_of(
        word,
        _ended_with(job, word),
        str(job.get("nodes") or ""),
        openapi.moment(times.get("submission")),
        openapi.moment(times.get("start")),
        openapi.moment(times.get("end")),
        str(state.get("reason") or ""),
    )
    return _id(job), status, marks


def _ended_with(job: dict[str, Any], word: str) -> tuple[int | None, int | None]:
    """slurmrestd 22.05 tells a signal, and gives 0 for every exit code: no such 0 is one."""
    told = job.get("exit_code") or {}
    signal = told.get("signal") or {}
    number = openapi.number_of(signal.get("signal_id", signal.get("id")))
    if number:
        return None, number
    code = openapi.number_of(told.get("return_code"))
    return (code, None) if code or word == "COMPLETED" else (None, None)


def _id(job: dict[str, Any]) -> str:
    """As sacct has it: JOB, JOB+COMPONENT, ARRAY_TASK, and ARRAY_[LIST] of tasks that never began, which are
    told as a mask."""
    het, array = job.get("het") or {}, job.get("array") or {}
    job_of_parts = openapi.number_of(het.get("job_id"))
    if job_of_parts:
        return f"{job_of_parts}+{openapi.number_of(het.get('job_offset')) or 0}"
    array_id = openapi.number_of(array.get("job_id"))
    mask = str(array.get("task") or "")
    if mask.startswith("0x"):
        tasks = int(mask, 16)
        numbers = (str(number) for number in range(tasks.bit_length()) if tasks >> number & 1)
        return f"{array_id or job.get('job_id')}_[{','.join(numbers)}]"
    return (
        f"{array_id}_{openapi.number_of(array.get('task_id')) or 0}" if array_id else str(job.get("job_id"))
    )
