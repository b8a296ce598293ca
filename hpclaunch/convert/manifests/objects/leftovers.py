"""What nobody read of a workload: told by its name, so that nothing of a manifest vanishes."""

from hpclaunch.convert.draft import Draft, shown
from hpclaunch.convert.manifests.text import api
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.spec.tree import MappingNode, ScalarNode
from hpclaunch.values.conversion import Kind

_WITHOUT_EFFECT = "it changes nothing for the ranks"
_OWN = "hpclaunch and the operator set it themselves"
# The last key of a path -> what becomes of it, and why.
_KNOWN: dict[str, tuple[Kind, str]] = {
    "name": ("without effect", "a name of the pod's parts, which hpclaunch gives itself"),
    "terminationMessagePath": ("without effect", _WITHOUT_EFFECT),
    "terminationMessagePolicy": ("without effect", _WITHOUT_EFFECT),
    "stdin": ("without effect", "ranks have no terminal"),
    "stdinOnce": ("without effect", "ranks have no terminal"),
    "tty": ("without effect", "ranks have no terminal"),
    "terminationGracePeriodSeconds": ("replaced", "hpclaunch gives ranks time to end on a signal"),
    "dnsPolicy": ("replaced", _OWN),
    "dnsConfig": ("left", "how names are looked up is the site's"),
    "enableServiceLinks": ("replaced", "hpclaunch keeps variables of Services out of pods"),
    "automountServiceAccountToken": ("replaced", _OWN),
    "ports": ("without effect", "a port of a container is a note for people: all are open between pods"),
    "livenessProbe": ("left", "a rank that hangs is ended by the job's time, not by a probe"),
    "readinessProbe": ("replaced", "hpclaunch waits for its workers itself"),
    "startupProbe": ("replaced", "hpclaunch waits for its workers itself"),
    "lifecycle": ("left", "a job has setup and after for what is to be done before and after"),
    "hostname": ("replaced", _OWN),
    "subdomain": ("replaced", _OWN),
    "hostAliases": ("left", "names of hosts are the site's"),
    "runtimeClassName": ("left", "which runtime a site's nodes use is the site's"),
    "shareProcessNamespace": ("without effect", "a pod of hpclaunch has one container"),
    "preemptionPolicy": ("left", "priorities are the site's"),
    "priority": ("left", "priorities are the site's"),
    "creationTimestamp": ("without effect", "the API server writes it"),
    "resourceVersion": ("without effect", "the API server writes it"),
    "uid": ("without effect", "the API server writes it"),
    "generation": ("without effect", "the API server writes it"),
    "selfLink": ("without effect", "the API server writes it"),
    "managedFields": ("without effect", "the API server writes it"),
    "ownerReferences": ("without effect", "the API server writes it"),
    "finalizers": ("left", "they are the cluster's"),
    "selector": ("replaced", _OWN),
    "overhead": ("without effect", "the runtime class writes it"),
    "metrics": ("left", "a job has as many nodes from its begin to its end"),
}


def account(root: Field, kind: str, draft: Draft) -> None:
    """A finding for each field that nothing was read of."""
    left = [part for field in root.left() for part in _parts(field, root, kind)[0]]
    for field in left:
        key = _key(field)
        what = f"{field.name}: {_value(field)}"
        if not field.node.value:
            draft.say("without effect", [field.place], what, why="nothing stands in it")
        elif key in _KNOWN:
            became, why = _KNOWN[key]
            draft.say(became, [field.place], what, why=why)
        elif kind in api.types() and _is_strange(field, root, kind):
            why = "the API has no such field in this place: it had no effect, or the object was refused"
            draft.say("unread", [field.place], what, why=why, todo="see what it was meant for")
        else:
            why = "a job has no place for it, as far as this command knows"
            draft.say("left", [field.place], what, why=why, todo="see whether the ranks count on it")


def _parts(field: Field, root: Field, kind: str) -> tuple[list[Field], bool]:
    """What of a field that nobody read is to be said: the field itself, or its parts where the API does not
    have one of them there; and whether it is so."""
    if kind not in api.types() or _is_strange(field, root, kind):
        return [field], kind in api.types()
    if field.is_list:
        below = field.items()
    elif isinstance(field.node, MappingNode):
        below = [each for _, each in field.fields()]
    else:
        return [field], False
    found = [_parts(each, root, kind) for each in below]
    has_strange = any(is_strange for _, is_strange in found)
    # metadata with a name alone: what is known of each part is said.
    has_known = _key(field) not in _KNOWN and bool(below) and all(each.path[-1] in _KNOWN for each in below)
    if not has_strange and not has_known:
        return [field], False
    return [part for parts, _ in found for part in parts], has_strange


def _key(field: Field) -> str:
    return next((str(each) for each in reversed(field.path) if isinstance(each, str)), "")


def _value(field: Field) -> str:
    return shown(field.node.value, 60) if isinstance(field.node, ScalarNode) else "..."


def _is_strange(field: Field, root: Field, kind: str) -> bool:
    found: str | None = kind
    for key in field.path[len(root.path) :]:  # an object may itself stand in a List or a Template
        if found is None:
            return True
        if found in api.FREE:
            return False
        found = api.item(found) if isinstance(key, int) else api.below(found, key)
    return found is None
