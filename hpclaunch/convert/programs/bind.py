"""What binds one rank and then becomes it: MLPerf's bind.sh and bindpcie, numactl and taskset.

Options of bind.sh are those of NVIDIA's v0.7 and v1.1 submissions to MLPerf training, of bindpcie, which came
in its place, those that HPE's v2.1 submission prints, of numactl those of numactl(8) 2.0.19, of taskset those
of taskset(1) of util-linux 2.41.
"""

from collections.abc import Sequence

from hpclaunch.convert.programs.flags import Table, table, take
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import Value, program_of

# MLPerf's own, with the same options: lists of cores and memory from a file, or what is near each rank's GPU.
OF_MLPERF = ("bind.sh", "bindpcie")
BINDERS = (*OF_MLPERF, "numactl", "taskset")
# Others that bind what they start, and whose words are not read: hwloc-bind(1), LIKWID's likwid-pin(1), HPE's
# dplace(1) and omplace(1), and mpibind of LLNL.
UNREAD_BINDERS = ("hwloc-bind", "likwid-pin", "dplace", "omplace", "mpibind")
_BIND_SH = table(((1, "cpu mem ib cluster"), (0, "help=h")))
_NUMACTL = table(
    (
        (1, "physcpubind=C cpunodebind=N,cpubind,c membind=m interleave=i preferred=p preferred-many=P"),
        (1, "weighted-interleave=w shm=S file=f offset=o length=L shmmode=M shmid=I"),
        (0, "localalloc=l all=a balancing=b strict=t dump=d dump-nodes=D touch=T huge=u verify=V"),
        (0, "show=s hardware=H"),
    )
)
# Options of numactl that are about memory and its policy, and no cores.
_MEMORY = frozenset(
    ("membind", "interleave", "weighted-interleave", "preferred", "preferred-many", "localalloc", "balancing")
)
# It says what there is, and what it is bound to itself, and starts nothing.
_SHOWS = frozenset(("show", "hardware"))
_TASKSET = table(((0, "cpu-list=c all-tasks=a pid=p help=h version=V"),))


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer of one of BINDERS, and the command that is bound. The mask or the list of
    taskset stands in the layer's words."""
    program = program_of(words)
    if program == "taskset":
        options, rest = take(words[1:], _TASKSET, clusters=True)
        if any(each.name == "pid" for each in options):
            return Layer(""), list(words)
        return Layer(program, tuple(options), tuple(rest[:1])), rest[1:]
    options_of: Table = _NUMACTL if program == "numactl" else _BIND_SH
    options, rest = take(words[1:], options_of, clusters=program == "numactl")
    if options_of is _NUMACTL and any(each.name in _SHOWS for each in options):
        return Layer(""), list(words)
    return Layer(program, tuple(options)), rest


def is_of_memory(layer: Layer) -> bool:
    """Whether it is numactl that chooses memory alone, and leaves the cores to who starts the ranks."""
    return layer.program == "numactl" and all(each.name in _MEMORY for each in layer.options)
