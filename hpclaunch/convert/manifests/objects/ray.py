"""What a RayJob and a RayCluster say beside the pods of their workers: program, environment, scaling.

Fields: ray-project/kuberay, apis/ray/v1; a runtime environment: docs.ray.io, "Environment Dependencies".
"""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.pods import environment
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running.launch import line_in
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object
from hpclaunch.spec.tree import MappingNode, ScalarNode, compose
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_VARIABLES = "env_vars"


def put(given: Object, draft: Draft, todo: str) -> None:
    """Put the variables of all its processes into the draft, and say the rest."""
    program = given.root.get("spec", "entrypoint")
    if program is not None:
        draft.say("left", [program.place], "entrypoint", why="the program that its head starts", todo=todo)
    text = given.root.get("spec", "runtimeEnvYAML")
    if text is not None:
        _environment(text, draft, todo)
    for key in ("runtimeEnv", "submitterPodTemplate"):
        field = given.root.get("spec", key)
        if field is not None:
            draft.say("left", [field.place], key, why="what stands in it is not read", todo=todo)
    cluster = given.root.get("spec", "rayClusterSpec") or given.root.get("spec")
    scaling = cluster.get("enableInTreeAutoscaling") if cluster is not None else None
    if scaling is not None and scaling.peek() == "true":
        why = "Ray starts and ends workers, from minReplicas to maxReplicas, and a job keeps its nodes"
        draft.say("question", [scaling.at], "nodes: enableInTreeAutoscaling", why=why, todo=todo)


def _environment(field: Field, draft: Draft, todo: str) -> None:
    """The YAML of a runtime environment: its variables, and of the rest that it is there."""
    try:
        root = compose(field.peek(), field.place.file, "runtime environment")
    except InputError:
        root = None
    if not isinstance(root, MappingNode):
        why = "it is no YAML that is read"
        draft.say("unread", [field.place], "runtimeEnvYAML", why=why, todo=todo)
        return
    others = []
    for key, value in root.value:
        if not isinstance(key, ScalarNode):
            continue
        if key.value != _VARIABLES or not isinstance(value, MappingNode):
            others.append(str(key.value))
            continue
        entries = [
            (str(name.value), each, name) for name, each in value.value if isinstance(name, ScalarNode)
        ]
        found = {
            name: Variable(name, str(each.value), _line(field, at.start_mark.line))
            for name, each, at in entries
            if isinstance(each, ScalarNode) and name.isidentifier()
        }
        environment.put(found, draft)
    if others:
        why = "what Ray brings to its workers before the program starts"
        draft.say("left", [field.place], f"runtimeEnvYAML: {', '.join(others)}", why=why, todo=todo)


def _line(field: Field, offset: int) -> Place:
    """The line of a text: the first one of a block is below its key."""
    place = field.text_place
    return (
        line_in(place, offset) if offset else Place(place.file, min(place.line + 1, place.last or place.line))
    )
