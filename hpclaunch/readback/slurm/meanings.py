"""What an option says about a launch: nothing, because it is about the place or the output; something that
only Slurm has; or what `launch` and `layout` read."""

from collections.abc import Sequence

from hpclaunch.readback.slurm.options import Given
from hpclaunch.values.launch import Unbridged

# Where and for whom: the site's and the person's.
_PLACE = """
account partition qos reservation constraint cluster-constraint prefer nodelist nodefile exclude clusters
cluster mail-type mail-user comment nice wckey priority mcs-label licenses batch chdir acctg-freq
"""
# How it is told, and what the plan of every job has: amounts of CPUs and memory are the site's reckoning.
_OF_EVERY_JOB = """
output error open-mode quiet verbose parsable mem mem-per-cpu mem-per-gpu cpus-per-task cpus-per-gpu mpi
disable-status propagate
"""
_READ = """
job-name nodes ntasks ntasks-per-node gres gpus gpus-per-node gpus-per-task exclusive oversubscribe time
requeue no-requeue distribution cpu-bind mem-bind kill-on-bad-exit export
"""
_UNDERSTOOD = frozenset((_PLACE + _OF_EVERY_JOB + _READ).split())
_WHY = {
    "switches": "Kubernetes has no word for how far nodes may be apart",
    "segment": "Kubernetes has no word for how far nodes may be apart",
    "network": "Kubernetes asks no network for anything",
    "gpu-bind": "a pod's ranks all see the pod's GPUs",
    "label": "how lines of output are marked is the launcher's",
    "array": "Kubernetes has no job arrays",
    "dependency": "Kubernetes has no order of jobs",
    "begin": "Kubernetes starts a job when there is room",
    "licenses": "Kubernetes counts no licenses",
}


def of_others(command: str, given: Sequence[Given], line: int) -> tuple[list[str], list[Unbridged]]:
    """What is not understood, and what is Slurm's alone, among these options. `line`: where they stand."""
    unread: list[str] = []
    unbridged: list[Unbridged] = []
    for each in given:
        if not each.name:
            unread.append(f"line {line}: {command} has no option {each.written}")
        elif each.name in _UNDERSTOOD or "container-" in each.name:
            continue
        else:
            why = _WHY.get(each.name, "an option of Slurm's that Kubernetes has nothing for")
            unbridged.append(Unbridged(each.written.partition(" ")[0], why))
    return unread, unbridged
