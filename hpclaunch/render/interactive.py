"""A plan as an allocation in which a person works: what salloc runs, and where."""

import re
from collections.abc import Iterator, Mapping

from hpclaunch.rank import wrapper_text
from hpclaunch.values import oneprocess
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.launchplan import Common, LaunchPlan, SlurmTarget

# Of a batch job alone; salloc has none of them.
_OF_BATCH = ("--requeue", "--no-requeue", "--open-mode", "--propagate", "--array", "--signal")
# What srun would follow of what salloc sets: each is an option below, or is none.
_CLEARED = """\
for hl_name in $(compgen -e); do
  case $hl_name in
    SLURM_JOB* | SLURM_CONF | SLURM_CLUSTER_NAME | SLURM_SUBMIT_*) ;;
    SLURM_* | SRUN_* | SALLOC_*) unset -v "$hl_name" ;;
  esac
done
exec srun "$@"
"""
# What salloc ends with where there is no allocation (SLURM_EXIT_ERROR of salloc(1)): else 1, as commands do.
FOR_SALLOC = {"SLURM_EXIT_ERROR": str(SchedulerError.exit_status)}
SHELL = "if command -v bash >/dev/null 2>&1; then exec bash -i; else exec sh -i; fi"


def argv(
    plan: LaunchPlan,
    target: SlurmTarget,
    words: tuple[str, ...],
    inherited: Mapping[str, str],
    terminal: bool,
) -> list[str]:
    """The words of salloc: the job's nodes, and on the first of them its container and environment for
    `words`, or a shell. `inherited` are the values of the job's `inherit`; secrets are in the environment
    alone."""
    common = plan.common
    environment = [f"{each.name}={each.value}" for each in common.environment]
    environment += [f"{name}={inherited[name]}" for name in common.inherit if name in inherited]
    settings = ["from=slurm", *(each.text for each in oneprocess.settings(target.wrapper))]
    return [
        "salloc",
        *_allocation(common, target),
        *("/bin/bash", "-p", "-c", _CLEARED, "hpclaunch-shell"),
        *_step(common, target),
        *(["--pty"] if terminal else []),
        *(each.text for each in target.pyxis if not each.text.startswith("--container-save=")),
        *("/bin/sh", "-c", wrapper_text(settings), "hpclaunch-rank"),
        *settings,
        "--",
        *environment,
        "--",
        *(f"={word}" for word in words or ("/bin/sh", "-c", SHELL)),
    ]


def _allocation(common: Common, target: SlurmTarget) -> Iterator[str]:
    for option in target.sbatch:
        name = option.text.partition("=")[0]
        if name == "--nodes":
            yield f"--nodes={common.nodes}"  # without spare ones: nobody checks them
        elif name not in _OF_BATCH:
            yield _unquoted(option.text)


def _step(common: Common, target: SlurmTarget) -> Iterator[str]:
    """One task, with all that the job has on the node."""
    yield from ("--nodes=1", "--ntasks=1", "--relative=0")
    for option in target.srun:
        name, _, value = option.text.partition("=")
        if name == "--cpus-per-task":
            yield f"{name}={int(value) * common.ranks_per_node}"
        elif name in ("--gres", "--cpus-per-gpu", "--network"):
            yield option.text
    yield from ("--cpu-bind=none", "--mem-bind=none", "--mpi=none", "--export=ALL", "--propagate=NONE")


def _unquoted(text: str) -> str:
    """An option as the command line has it: on #SBATCH lines a value may be in quotes, with backslashes."""
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    name, equals, value = text.partition('="')
    return f"{name}=" + re.sub(r"\\(.)", r"\1", value[:-1]) if equals else text
