"""The hosts of an MPIJob's mpirun, and their slots: the operator's list of the Workers, or one of its own."""

import re
from collections.abc import Collection

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers.mpi_size import number
from hpclaunch.convert.manifests.objects.workload import Count, Workload
from hpclaunch.convert.manifests.running.launch import Launch, lines_of
from hpclaunch.convert.mapping.ranks.mpi import told_by
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import known

_OWN_HOST = re.compile(r"\bhostname\b|\bHOSTNAME\b|\bPOD_(?:IP|NAME)\b|\blocalhost\b")
# What mpi-operator mounts in the launcher (pkg/controller/mpi_job_controller.go: configMountPath).
_LISTS = frozenset(("/etc/mpi/hostfile", "/etc/mpi/discover_hosts.sh"))
# An option, and a part of the variable of Open MPI's of the same meaning.
_MORE = "oversubscribe"
_OTHER_MPI = ("intel", "mpich")
_ANOTHER = ":"  # program of the same mpirun, with a number of its own
# SetDefaults_MPIJob (mpi-operator, pkg/apis/kubeflow/v2beta1/default.go).
_BY_DEFAULT = Count(1, (), "without slotsPerWorker a worker has one slot, and ")


def say(workload: Workload, launch: Launch, layer: Layer, names: Collection[str], draft: Draft) -> None:
    """Say what a list of hosts has that no line tells, and where it has too few slots. `names` are the
    variables of the launcher."""
    if not workload.is_apart:
        return
    text = launch.shell.text if launch.shell is not None else ""
    options = [*layer.all("hostfile"), *layer.all("host")]
    own = [option for option in options if known(option.value or ()) not in _LISTS]
    told = told_by(layer, number)
    for option in own:
        places = lines_of(launch, option.written)
        if _OWN_HOST.search(text):
            why = (
                "where the launcher's own pod is in that list it had ranks, and the job has the Workers alone"
            )
            todo = "see what the text writes there; where it is so, count that pod in nodes, with its mounts"
            draft.say("question", places, option.written, why=why, todo=todo)
        elif option.name == "hostfile" and told is None:
            why = "without -np a rank is started for each slot of that list, which no line here tells"
            todo = "see that it has all Workers, with the slots of slotsPerWorker"
            draft.say("question", places, option.written, why=why, todo=todo)
    may_be_more = [text, *names, *(option.written for option in layer.options)]
    if not own and not any(_MORE in each.lower() for each in may_be_more):
        _too_many(workload, launch, layer, draft)


def _too_many(workload: Workload, launch: Launch, layer: Layer, draft: Draft) -> None:
    """More ranks than slots: without a word on it Open MPI starts none of them (mpirun(1), "Slots")."""
    told, pods = told_by(layer, number), workload.nodes.value
    slots = workload.slots or (None if _ANOTHER in map(known, launch.inner) else _BY_DEFAULT)
    if told is None or not told.is_total or not told.total or slots is None or not slots.value or not pods:
        return
    room = pods * slots.value
    if told.total > room and workload.mpi not in _OTHER_MPI:
        places = (*lines_of(launch, told.option.written), *slots.places)
        by_default = slots.what if slots is _BY_DEFAULT else ""
        why = f"{by_default}Open MPI starts more ranks than there are slots only where it is told to: mpirun "
        why += "ended there"
        todo = "see which of the numbers is meant; the job file has the ranks"
        draft.say(
            "defect", places, f"{told.option.written} where there are slots for {room}", why=why, todo=todo
        )
