"""Variables whose values a pod gets when it is made: from its status, or from the controller of its kind.

The command of a job has what the manifest tells. A word of it that only such a variable told is asked for,
where ranks have nothing under that name, or have something else there.
"""

import re
from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import INDEX, Workload
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running.launch import Launch, defaults

_USED = re.compile(r"\$\{?(\w+)")
_OF_PODS = {
    "RANK": "the number of the pod, and here it is that of the rank: NODE_RANK is the node's",
    "WORLD_SIZE": "the number of pods, or of ranks as the operator counts, and here it is that of ranks",
}


# What else the training operator tells each pod, for a torchrun without options (its pkg/controller.v1/
# pytorch/envvar.go): PET_NPROC_PER_NODE is nprocPerNode, or auto.
_OF_TORCHRUN = {
    "PET_NNODES": "the number of pods",
    "PET_NPROC_PER_NODE": "the number of ranks in a pod: LOCAL_WORLD_SIZE here",
    "PET_NODE_RANK": "the number of the pod: NODE_RANK here",
    "PET_MASTER_ADDR": "the first pod's address: MASTER_ADDR here",
    "PET_MASTER_PORT": "the first pod's port: MASTER_PORT here",
}


def texts(workload: Workload, first: Mapping[str, Variable]) -> dict[str, str | None]:
    """The variables of the container by their names, None where the manifest does not tell the value."""
    told: dict[str, str | None] = dict.fromkeys(workload.told)
    if workload.torch:
        slots, nodes = workload.slots, workload.nodes.value
        told |= dict.fromkeys(_OF_TORCHRUN)
        elastic = workload.root.get("spec", "elasticPolicy")
        told["PET_NNODES"] = str(nodes) if nodes and elastic is None else None
        told["PET_NPROC_PER_NODE"] = str(slots.value) if slots is not None and slots.value else "auto"
    return told | {name: each.text for name, each in first.items()}


def index(workload: Workload, own: Mapping[str, Variable]) -> dict[str, Variable]:
    """The number of the only pod of an Indexed Job, where the container has none of its own under that name.

    The controller puts it behind the container's own (kubernetes, pkg/controller/job/indexed_job_utils.go,
    addCompletionIndexEnvVariable), whose values do not have it therefore. Of several pods no number is told.
    """
    mode = workload.root.get("spec", "completionMode") if workload.kind == "Job" else None
    if mode is None or mode.text() != "Indexed" or workload.nodes.value != 1 or INDEX in own:
        return {}
    return {INDEX: Variable(INDEX, "0", mode.at)}


def put(workload: Workload, launch: Launch, first: Mapping[str, Variable], draft: Draft) -> None:
    """Asks for the command where it has the value of a variable that ranks do not have as it was."""
    for written, value in defaults(launch, texts(workload, first)):
        why = "no line of the manifest sets it, and the image may"
        draft.say("assumed", launch.places, written, became=value or "nothing", why=why)
    if workload.torch and launch.starts_a_script:
        _say_of_torchrun(launch, draft)
    if workload.torch:
        _say_port(workload, draft)
    fact = draft.facts.get(("command",))
    text = fact.value if fact is not None and isinstance(fact.value, str) else ""
    used = set(_USED.findall(text))
    ranks = draft.facts.get(("ranks_per_node",))
    said = {each.name: "known only in its pod" for each in first.values() if each.source == "other"}
    if INDEX in workload.told:
        said[INDEX] = "the number of the pod: RANK, where the job says rendezvous: torch"
        if INDEX not in used:
            why = f"the controller told each pod its number in {INDEX}, which ranks do not have"
            todo = "a program that reads it can have RANK, where the job says rendezvous: torch"
            draft.say("left", workload.nodes.places, "completionMode: Indexed", why=why, todo=todo)
    elif workload.told and (ranks is None or ranks.value != 1):
        said |= _OF_PODS
    if workload.torch and fact is not None and not fact.is_open and not launch.starts_a_script:
        whole = text or " ".join(map(str, fact.value))
        used = {*used, *(_OF_TORCHRUN.keys() & set(_USED.findall(whole)))}
        said |= _OF_TORCHRUN
        text = text or whole
    for name in sorted(used & said.keys() - _set_in(launch)):
        question = f"what each rank executes: {text}, where {name} was {said[name]}"
        draft.ask(("command",), question, launch.lines, name)


def _say_of_torchrun(launch: Launch, draft: Draft) -> None:
    """What a torchrun without options reads, which the operator tells it (training-operator, pkg/
    controller.v1/pytorch/envvar.go)."""
    why = (
        "the operator tells each pod PET_NNODES, PET_NPROC_PER_NODE and PET_NODE_RANK for a torchrun without "
        "options, and ranks have none of them: one that is in it would start a run of its own on each node"
    )
    todo = (
        "where it starts torchrun write what that starts as `command`, with ranks_per_node; or give it "
        "--nnodes, --node-rank and --nproc-per-node by WORLD_SIZE, RANK and a number"
    )
    draft.say("left", launch.lines, "a script in a PyTorchJob", why=why, todo=todo)


def _say_port(workload: Workload, draft: Draft) -> None:
    """The port by which the operator sets MASTER_PORT."""
    ports = workload.ranks.container.get("ports")
    for each in ports.items() if ports is not None else ():
        name, number = each.get("name"), each.get("containerPort")
        if name is not None and name.peek() == "pytorchjob-port":
            each.take()
            said = f"{name.peek()}: {number.peek() if number is not None else ''}"
            why = "it was MASTER_PORT; without one in env hpclaunch takes a port that no other job there has"
            draft.say("replaced", [each.place], said, why=why)


def _set_in(launch: Launch) -> set[str]:
    """What the shell's text sets itself."""
    return {name for name, _, _ in launch.shell.exported} if launch.shell is not None else set()
