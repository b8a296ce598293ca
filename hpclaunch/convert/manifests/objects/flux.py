"""What a MiniCluster of Flux says of its ranks, beside its pods.

Fields: flux-framework/flux-operator, api/v1alpha2/minicluster_types.go. `tasks` are the ranks of all pods;
Flux is told to use all pods where there are as many (pkg/flux/templates/components.sh), and chooses itself
where there are fewer.
"""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object


def put(given: Object, draft: Draft, todo: str) -> None:
    """Put the ranks of a node into the draft, where each pod has as many, and say what else tells of them."""
    spec = given.root.get("spec")
    tasks, size = (spec.get(key) if spec is not None else None for key in ("tasks", "size"))
    if tasks is not None and size is not None:
        all_ranks, pods = _number(tasks), _number(size)
        if pods and all_ranks and not all_ranks % pods:
            draft.put(("ranks_per_node",), all_ranks // pods, [tasks.at, size.at], "tasks over size")
        else:
            why = "the ranks of all its pods, which Flux spreads over them by itself"
            draft.say("question", [tasks.at], f"ranks_per_node: tasks: {tasks.peek()}", why=why, todo=todo)
    interactive = spec.get("interactive") if spec is not None else None
    if interactive is not None and interactive.peek() == "true" and not _has_command(given):
        why = "it waits for somebody to start ranks in it (flux run), and no line tells what is started then"
        draft.say("question", [interactive.at], "interactive: true", why=why, todo=todo)


def _has_command(given: Object) -> bool:
    listed = given.root.get("spec", "containers")
    containers = listed.items() if listed is not None and listed.is_list else []
    return any(each.get("command") is not None for each in containers)


def _number(field: Field) -> int:
    text = field.peek()
    return int(text) if text.isdecimal() and len(text) < 7 else 0
