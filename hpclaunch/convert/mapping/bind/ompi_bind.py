"""ompi_bind_*.sh: a script in front of the command that binds by the local rank that mpirun tells.

MLPerf's pick cores, memory and an HCA with `case $OMPI_COMM_WORLD_LOCAL_RANK`, and end with
`exec numactl --physcpubind=... --membind=... "$@"`. srun does not set that variable.
"""

import re
from collections.abc import Sequence
from os.path import basename

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.bind import evaluated
from hpclaunch.convert.reading import Source
from hpclaunch.readback.shell.values import Value, known
from hpclaunch.values.conversion import Place

_NAME = re.compile(r"^ompi_bind\w*(\.sh)?$")
_LOCAL_RANK = "OMPI_COMM_WORLD_LOCAL_RANK"
_MOST_RANKS = 64
_LIST = re.compile(r"[\d,-]+")


def is_binder(words: Sequence[Value]) -> bool:
    """Whether the command begins with such a script."""
    return len(words) > 1 and bool(_NAME.match(basename(known(words[0]) or "")))


def put(name: str, ranks: int | None, files: Sequence[Source], places: Sequence[Place], draft: Draft) -> None:
    """Put what each local rank is bound to into the draft: by the script, where it was given."""
    script = next((file for file in files if basename(file.name) == basename(name)), None)
    rows = _rows(script, ranks) if script is not None and ranks and ranks <= _MOST_RANKS else None
    if rows is None or script is None:
        question = f"the cores of each local rank: {name} chooses them, by {_LOCAL_RANK}"
        todo = f"give {basename(name)} too, or leave bind out: each rank then gets the cores beside its GPU"
        draft.ask(("bind", "cpus"), question, places, name, todo=todo)
        draft.facts.pop(("bind", "memory"), None)
        return
    why = f"as {basename(name)} has it; {_LOCAL_RANK} is mpirun's, and srun does not set it"
    lines = [*places, *(place for _, _, place in rows)]
    draft.put(("bind", "cpus"), [cpus for cpus, _, _ in rows], lines, name, why=why)
    if all(memory for _, memory, _ in rows):
        draft.put(("bind", "memory"), [memory for _, memory, _ in rows], lines, name, why=why)
    why = "hpclaunch gives each rank the HCA nearest to its GPU (UCX_NET_DEVICES), if it can be used"
    draft.say("replaced", lines, f"HCAs that {basename(name)} names", why=why)


def _rows(script: Source, ranks: int) -> list[tuple[str, str, Place]] | None:
    """CPUs, memory nodes and line of each local rank; None where one of them is not told."""
    found = []
    for rank in range(ranks):
        told = [each for each in evaluated.in_script(script, {}, str(rank)) if not each.conditions]
        if len(told) != 1 or told[0].layer.program != "numactl":
            return None
        layer = told[0].layer
        cpus, memory = (layer.option(name) for name in ("physcpubind", "membind"))
        text = known(cpus.value or ()) if cpus is not None else None
        if not text or not _LIST.fullmatch(text):
            return None
        node = (known(memory.value or ()) or "") if memory is not None else ""
        found.append((text, node, told[0].place))
    return found
