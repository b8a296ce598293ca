"""slurmrestd's API by version, as data: what an option of sbatch is called in it, and how it spells a job.

Up to v0.0.38 a field is an option of sbatch with its text (`job_params` in src/plugins/openapi/VERSION/
jobs.c, tag slurm-22-05-8-1); from v0.0.39 on it is a field of Slurm's job description with a type
(`JOB_DESC_MSG` in src/plugins/data_parser/VERSION/parsers.c, tags 23.02 to 26.05). Names in lists are those
of its flags, and a submission with another one is refused as a whole.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from hpclaunch.schedulers.ways.contract import CannotExpress
from hpclaunch.schedulers.ways.options import spelled

Fields = dict[str, Any]
Convert = Callable[[str], Any]

# Of ARRAY_TASK these take the number of the array alone when they cancel, and end all of it
# (`_handle_job_delete` of src/plugins/openapi/v0.0.39/jobs.c, and of openapi/slurmctld in 23.11 and 24.05);
# v0.0.36 takes numbers alone.
CANCEL_WHOLE_ARRAYS = frozenset({"v0.0.36", "v0.0.39", "v0.0.40", "v0.0.41"})
_OPTION_TEXTS = frozenset({"v0.0.36", "v0.0.37", "v0.0.38"})


def _number(text: str) -> Fields:
    return {"set": True, "infinite": False, "number": int(text)}


def _minutes(text: str) -> Fields:
    """Of the forms of --time those that hpclaunch itself writes: [D-]HH:MM:SS and UNLIMITED."""
    if text == "UNLIMITED":
        return {"set": False, "infinite": True, "number": 0}
    days, _, clock = text.rpartition("-")
    hours, minutes, seconds = map(int, clock.split(":"))
    return _number(str(int(days or 0) * 1440 + hours * 60 + minutes + (seconds > 0)))


def _megabytes(text: str) -> Fields:
    units = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
    value, unit = (text[:-1], text[-1]) if text[-1] in units else (text, "M")
    # Rounded up as sbatch does (str_to_mbytes of src/common): 0 would be all memory of the nodes.
    return _number(str(-(-int(value) * units[unit] // 1024)))


def _list(text: str) -> list[str]:
    return [text]


# What --mail-type and --open-mode take (parse_mail_type of src/common/proc_args.c, arg_set_open_mode of
# slurm_opt.c), and the flags of each.
_MAILS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **{each: (each,) for each in ("BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "ARRAY_TASKS")},
        "ALL": ("INVALID_DEPENDENCY", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT"),
        "INVALID_DEPEND": ("INVALID_DEPENDENCY",),
        "TIME_LIMIT": ("TIME=100%",),
        "TIME_LIMIT_90": ("TIME=90%",),
        "TIME_LIMIT_80": ("TIME=80%",),
        "TIME_LIMIT_50": ("TIME=50%",),
    }
)
_OPEN_MODES = MappingProxyType({"A": "APPEND", "APPEND": "APPEND", "T": "TRUNCATE", "TRUNCATE": "TRUNCATE"})


def _mails(text: str) -> list[str]:
    return list(dict.fromkeys(flag for word in text.upper().split(",") for flag in _MAILS[word]))


def _open_mode(text: str) -> list[str]:
    return [_OPEN_MODES[text.upper()]]


# What both kinds of API call alike.
_SAME = (
    "account",
    "array",
    "dependency",
    "mail_user",
    "partition",
    "qos",
    "reservation",
    "licenses",
    "wckey",
)

_TEXT_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        **{f"--{name.replace('_', '-')}": name for name in _SAME},
        "--constraint": "constraints",
        "--cpus-per-task": "cpus_per_task",
        "--exclude": "exclude_nodes",
        "--gres": "gres",
        "--job-name": "name",
        "--mail-type": "mail_type",
        "--mem": "memory_per_node",
        "--nodelist": "nodelist",
        "--nodes": "nodes",
        "--ntasks": "tasks",
        "--ntasks-per-node": "tasks_per_node",
        "--open-mode": "open_mode",
        "--signal": "signal",
        "--time": "time_limit",
    }
)
_TEXT_WHOLE: Mapping[str, Fields] = MappingProxyType(
    {
        "--exclusive": {"exclusive": "exclusive"},
        "--hold": {"hold": "true"},
        "--kill-on-invalid-dep=yes": {"kill_on_invalid_dependency": True},
        "--no-kill": {"no_kill": "set"},  # sbatch's own name for the option without a value
        "--no-requeue": {"no_requeue": "true"},
        "--propagate=NONE": {},  # slurmrestd has limits of its own, and hands none on
        "--requeue": {"requeue": "true"},
    }
)
_TYPED_FIELDS: Mapping[str, tuple[str, Convert]] = MappingProxyType(
    {
        **{f"--{name.replace('_', '-')}": (name, str) for name in _SAME},
        "--constraint": ("constraints", str),
        "--cpus-per-task": ("cpus_per_task", int),
        "--exclude": ("excluded_nodes", _list),
        "--job-name": ("name", str),
        "--mail-type": ("mail_type", _mails),
        "--mem": ("memory_per_node", _megabytes),
        "--network": ("network", str),
        "--nodelist": ("required_nodes", _list),
        "--nodes": ("nodes", str),
        "--ntasks": ("tasks", int),
        "--ntasks-per-node": ("tasks_per_node", int),
        "--open-mode": ("open_mode", _open_mode),
        "--time": ("time_limit", _minutes),
    }
)
_TYPED_WHOLE: Mapping[str, Fields] = MappingProxyType(
    {
        "--exclusive": {"shared": ["none"]},
        "--hold": {"hold": True},
        "--kill-on-invalid-dep=yes": {"flags": ["KILL_INVALID_DEPENDENCY"]},
        "--no-kill": {"kill_on_node_fail": False},
        "--no-requeue": {"requeue": False},
        "--propagate=NONE": {},
        "--requeue": {"requeue": True},
    }
)


def body(
    api: str,
    asked: Sequence[Mapping[str, str]],
    script: str,
    fixed: Mapping[str, str],
    environment: Mapping[str, str],
    slurm: str = "",
) -> Fields:
    """The body of a submission. `asked` are options of sbatch, name -> value, of each component of a
    heterogeneous job, or of the one job; `fixed` the fields that both kinds call alike; `slurm` the release
    behind the API, "23.02.7". Raises CannotExpress for an option that this API has no field for."""
    texts = api in _OPTION_TEXTS
    jobs: list[Fields] = []
    for component in asked:
        job: Fields = dict(fixed)
        for name, value in component.items():
            job |= _text_field(name, value) if texts else _typed_field(slurm, name, value)
        job["environment"] = (
            dict(environment) if texts else [f"{name}={value}" for name, value in environment.items()]
        )
        jobs.append(job)
    if not texts:
        jobs[0] |= {"script": script}  # the first component's runs
    found: Fields = {"job": jobs[0]} if len(jobs) == 1 else {"jobs": jobs}
    return {"script": script, **found} if texts else found


def _text_field(name: str, value: str) -> Fields:
    whole = spelled(name, value)
    if whole in _TEXT_WHOLE:
        return _TEXT_WHOLE[whole]
    if name in _TEXT_FIELDS and value:
        return {_TEXT_FIELDS[name]: value}
    raise CannotExpress(whole)


def _typed_field(slurm: str, name: str, value: str) -> Fields:
    whole = spelled(name, value)
    if whole in _TYPED_WHOLE:
        return _TYPED_WHOLE[whole]
    try:
        if name == "--gres" and value:
            # 23.11 changed how it writes them (gres_prepend_tres_type of src/interfaces/gres.c), also for the
            # older API that it serves: it would read gres:gpu:8 as 8 of what has no name.
            mark = "gres:" if slurm.startswith("23.02") else "gres/"
            return {"tres_per_node": ",".join(mark + part for part in value.split(","))}
        if name == "--signal" and value:
            return _signal(value)
        field, convert = _TYPED_FIELDS[name]
        return {field: convert(value)}
    except (KeyError, ValueError):
        raise CannotExpress(whole) from None


def _signal(text: str) -> Fields:
    """[B:]SIGNAL[@SECONDS]."""
    flags, _, rest = text.rpartition(":")
    signal, _, before = rest.partition("@")
    if flags not in ("", "B"):
        raise ValueError(text)
    return {
        "kill_warning_signal": signal,
        "kill_warning_delay": _number(before or "60"),
        "kill_warning_flags": ["BATCH_JOB"] if flags else [],
    }


def refusal(entry: Any) -> str:
    """What an entry of `status` says of a job that was not cancelled, "" of another one
    (`KILL_JOBS_RESP_JOB`, v0.0.42 on)."""
    error = entry.get("error") if isinstance(entry, dict) else None
    if not isinstance(error, dict) or not error.get("code"):
        return ""
    return ": ".join(dict.fromkeys(str(error[key]) for key in ("string", "message") if error.get(key)))


def number_of(value: Any) -> int | None:
    """A number in either spelling, None where it is not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return value if isinstance(value, int) else None


def moment(value: Any) -> str:
    """A time as Slurm's commands print it in UTC; "" for none."""
    seconds = number_of(value)
    if not seconds:
        return ""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def ended_with(value: Any) -> tuple[int | None, int | None]:
    """(exit code, signal): a wait status up to v0.0.39, and named parts after it."""
    if isinstance(value, dict) and "return_code" in value:
        signal = number_of((value.get("signal") or {}).get("id"))
        return (None, signal) if signal else (number_of(value["return_code"]), None)
    status = number_of(value)
    if status is None:
        return None, None
    return (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)
