"""A script that a pod starts, and that its image or one of its volumes has: it may start ranks itself."""

from collections.abc import Iterator, Mapping, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.running.launch import Launch, line_in
from hpclaunch.convert.manifests.running.mounted_scripts import Script
from hpclaunch.convert.manifests.running.steps import LOOK
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.readback.shell.values import Value, base_name, known
from hpclaunch.values.conversion import Place

_NO_RUN = LOOK | that("ends", "files", "copies")


def say(workload: Workload, launch: Launch, given: Mapping[str, Script], draft: Draft) -> None:
    """Say of a script that each pod starts once that it may start ranks. Of one GPU there is one either way,
    of a PyTorchJob's it is said what torchrun in it finds, and of a config map's what it may do; those that
    are `given` are looked through for launchers."""
    fact = draft.facts.get(("ranks_per_node",))
    nodes, gpus = (draft.facts.get((key,)) for key in ("nodes", "gpus_per_node"))
    alone = all(each is not None and each.value == 1 for each in (nodes, gpus))
    if launch.outer or workload.torch or workload.is_apart or fact is None or fact.value != 1 or alone:
        return
    if any(each.kind == "question" and each.what.startswith("what ") for each in draft.findings):
        return
    words, places = _run(launch)
    script = _script_of(words)
    if script and base_name((script,)) not in given:
        why = "the pod starts it once, and what it starts is not read: it is not in the manifest"
        todo = "see that file: where it starts ranks write ranks_per_node, mpi and bind as it has them"
        what = f"whether {script} starts ranks itself"
        draft.say("question", places, what, became="ranks_per_node: 1", why=why, todo=todo)


def _run(launch: Launch) -> tuple[Sequence[Value], Sequence[Place]]:
    """The words of what the pod is there for, the last that is no more than said or copied."""
    shell, place = launch.shell, launch.shell_place
    if shell is None or place is None:
        return [word.value for word in launch.words], launch.places
    for unit in reversed(shell.units):
        if unit.words and (known(unit.words[0]) or "").rpartition("/")[2] not in _NO_RUN:
            return unit.words, [line_in(place, unit.line)]
    return (), ()


def _script_of(words: Sequence[Value]) -> str:
    """The script of ./run.sh, or of bash run.sh; "" where something else is started."""
    program = layers(words)[-1].words if words else ()
    return next((text for text in _first(program) if text.endswith(".sh")), "")


def _first(program: Sequence[Value]) -> Iterator[str]:
    """The program, or what a shell is given to read."""
    if not program:
        return
    behind = [known(word) or "" for word in program]
    if base_name(program[0]) in SHELLS:
        behind = [each for each in behind[1:] if not each.startswith("-")]
    yield from behind[:1]
