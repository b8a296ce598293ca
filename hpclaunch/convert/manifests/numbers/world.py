"""WORLD_SIZE that a manifest gives its pods by hand, where the pods that the job has do not come to it.

Such a Job or Pod is one of several of the same launch (the first node; the others stand in a StatefulSet or
in a file of their own), or its program starts more processes by itself: one object does not tell all of it.
"""

from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.parts import ask_instead
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running.launch import Launch

_NAME = "WORLD_SIZE"


def ask(workload: Workload, launch: Launch, own: Mapping[str, Variable], draft: Draft) -> None:
    """Ask for the nodes, or for the ranks of a node where there is one of them for each GPU."""
    given = own.get(_NAME)
    by_text = launch.shell is not None and any(name == _NAME for name, _, _ in launch.shell.exported)
    if launch.outer or workload.torch or by_text or given is None or not given.text:
        return
    keys = ("nodes", "ranks_per_node", "gpus_per_node")
    nodes, per_node, gpus = (
        fact.value if (fact := draft.facts.get((key,))) is not None and not fact.is_open else None
        for key in keys
    )
    if not (isinstance(nodes, int) and isinstance(per_node, int)):
        return
    told = f"{_NAME}: {given.text}"
    have = f"{nodes} pod{'s' * (nodes != 1)} with {per_node} process{'es' * (per_node != 1)} in each"
    places = [given.place, *given.more, *draft.facts[("nodes",)].places]
    if not given.text.isdigit():
        if nodes * per_node == 1:  # of several it may be their number, and of one nobody would write a name
            question = f"how many nodes: {told} is no number, and what is told here is {have}"
            todo = "where what fills it in makes such an object for each rank write the number of them all"
            ask_instead(("nodes",), question, places, told, draft, todo)
        return
    world = int(given.text)
    if world in (0, nodes * per_node):
        return
    if isinstance(gpus, int) and world == nodes * gpus:
        question = f"how many ranks on each node: {told}, and what is told here is {have}"
        todo = "where the program starts one for each GPU itself write 1, else the number, and what each runs"
        ask_instead(("ranks_per_node",), question, places, told, draft, todo)
        return
    question = f"how many nodes: {told}, and what is told here is {have}"
    todo = "where other objects start the others write the nodes of all of them, and one command"
    if world < nodes * per_node:
        todo = "where each pod is a world of its own submit the job as often, with the nodes of one"
    ask_instead(("nodes",), question, places, told, draft, todo)
