"""Slurm's library in this process, through the package pyslurm (https://github.com/PySlurm/pyslurm).

pyslurm does not read a script's #SBATCH lines as sbatch does: every resource is an attribute here. The
attributes are those of `JobSubmitDescription` (pyslurm/core/job/submission.pyx and .pxd), the same at the
tags v22.5.3, v23.2.3, v23.11.0, v24.5.0, v24.11.0, v25.5.0 and v25.11.2. Left out is what is set there in
vain in at least one of them: `switches` (its conversion raises NameError, or is never called), `signal` and
`cores_reserved_for_system` (never called in v22.5.3 and v23.11.0), `memory_per_gpu`; and what it has no
attribute for: memory and GPU binding, rlimits, and the options of plugins.

Slurm's commands are asked about jobs, and cancel them: `Jobs.load` brings every job of the cluster.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any

from hpclaunch.schedulers.contract import Warn
from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm_advice import advice_for, kind_of
from hpclaunch.schedulers.ways.contract import CannotExpress, Request
from hpclaunch.schedulers.ways.options import by_name, is_utf8, spelled, tasks
from hpclaunch.schedulers.ways.surroundings import job_environment

Attributes = dict[str, Any]

# Zero is "not set" to pyslurm (u64 in pyslurm/utils/uint.pyx), so --mem=0 cannot be said as such. The flag
# for "per CPU" alone is --mem-per-cpu=0, which slurmctld maps to --mem=0 (job_mgr.c, tags 20.11 to 26.05).
_ALL_MEMORY = 1 << 63

_TEXT: Callable[[str], Any] = str
_ATTRIBUTES: Mapping[str, tuple[str, Callable[[str], Any]]] = MappingProxyType(
    {
        "--account": ("account", _TEXT),
        "--array": ("array", _TEXT),
        "--constraint": ("constraints", _TEXT),
        "--cpus-per-task": ("cpus_per_task", int),
        "--dependency": ("dependencies", _TEXT),
        "--exclude": ("excluded_nodes", _TEXT),
        "--gres": ("gres_per_node", _TEXT),
        "--job-name": ("name", _TEXT),
        "--licenses": ("licenses", _TEXT),
        "--mail-type": ("mail_types", _TEXT),
        "--mail-user": ("mail_user", _TEXT),
        "--network": ("network", _TEXT),
        "--nodelist": ("required_nodes", _TEXT),
        "--nodes": ("nodes", int),
        "--ntasks": ("ntasks", int),
        "--ntasks-per-node": ("ntasks_per_node", int),
        "--open-mode": ("log_files_open_mode", _TEXT),
        "--partition": ("partitions", _TEXT),
        "--qos": ("qos", _TEXT),
        "--reservation": ("reservations", _TEXT),
        "--time": ("time_limit", _TEXT),
        "--wckey": ("wckey", _TEXT),
    }
)
# Whole options and what they become. Limits are never propagated here: see surroundings.py.
_WHOLE: Mapping[str, Attributes] = MappingProxyType(
    {
        "--exclusive": {"resource_sharing": "exclusive"},
        "--hold": {"priority": 0},
        "--kill-on-invalid-dep=yes": {"kill_on_invalid_dependency": True},
        "--mem=0": {"memory_per_cpu": _ALL_MEMORY},
        "--no-requeue": {"is_requeueable": False},
        "--propagate=NONE": {},
        "--requeue": {"is_requeueable": True},
    }
)

_loaded_for: str | None = None


class InProcess:
    """pyslurm for one cluster."""

    name = "pyslurm"

    def __init__(self, slurm_conf: str | None):
        self._slurm_conf = slurm_conf

    def submit(self, request: Request, warn: Warn) -> str:
        """As the contract says it."""
        wanted = attributes(request)
        surroundings = job_environment(request.inherited, self._slurm_conf, wanted.get("name", ""))
        if "dependencies" in wanted:
            surroundings["SLURM_JOB_DEPENDENCY"] = wanted["dependencies"]  # as sbatch and slurmrestd do
        _check_text(surroundings)
        with _only(closed(os.environ, {}, self._slurm_conf)):
            pyslurm = _load(self._slurm_conf or "")
            try:
                description = pyslurm.JobSubmitDescription(**wanted, environment=surroundings)
                return str(description.submit())
            except pyslurm.RPCError as error:
                message = str(error)
                kind = kind_of(message)
                raise kind(message, advice_for(message)) from error
            except (AttributeError, TypeError, ValueError, OverflowError, NameError) as error:
                # Nothing was sent: all conversions come before the call of the controller.
                raise CannotExpress(str(error)) from error


def attributes(request: Request) -> Attributes:
    """The attributes of `JobSubmitDescription` for a request, but for its environment. Raises
    CannotExpress."""
    asked = by_name(request.options, request.more)
    found: Attributes = {"ntasks": tasks(asked)}
    for name, value in asked.items():
        text = spelled(name, value)
        if text in _WHOLE:
            found |= _WHOLE[text]
        elif name == "--mem" and value:
            found["memory_per_node"] = value
        elif name in _ATTRIBUTES and value:
            attribute, convert = _ATTRIBUTES[name]
            try:
                found[attribute] = convert(value)
            except ValueError:
                raise CannotExpress(text) from None
        else:
            raise CannotExpress(text)
    found |= {
        "comment": request.comment,
        "working_directory": str(request.chdir),
        "standard_output": request.output,
        "script": str(request.script),
        "script_args": [str(request.script), *request.arguments],
    }
    _check_text(found)
    return found


def _check_text(values: Mapping[str, Any]) -> None:
    """pyslurm takes text that is UTF-8; of bytes that are not, it would make other ones, or an error."""
    for name, value in values.items():
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str) and not is_utf8(text):
                raise CannotExpress(f"{name}, which is not UTF-8")


def _load(slurm_conf: str) -> Any:
    """The package. Its library reads slurm.conf once, so this process is for one cluster. Raises
    CannotExpress."""
    global _loaded_for
    if _loaded_for not in (None, slurm_conf):
        raise CannotExpress("this process has another cluster's slurm.conf already")
    try:
        pyslurm = import_module("pyslurm")
    except Exception as error:  # a library of another release says so in many ways
        raise CannotExpress(f"it cannot be loaded: {error}") from error
    _loaded_for = slurm_conf
    return pyslurm


@contextmanager
def _only(environment: Mapping[str, str]) -> Iterator[None]:
    """With this environment alone: Slurm's library reads it, and pyslurm hands every SLURM_* of it to the
    job (`_set_environment` of submission.pyx)."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
