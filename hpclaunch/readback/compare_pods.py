"""Whether two launches agree in what surrounds the ranks: wrapper, rights, amounts, nodes of their own."""

import re

from msgspec import structs

from hpclaunch.readback.place import NOTHING, Kind, Side, beside
from hpclaunch.values.launch import Difference, Launch
from hpclaunch.values.quantity import is_count

_MIG = re.compile(r"\d+g\.\d+gb")
_OWN = "own"

# Pods need these for what needs nothing under Slurm: verbs pin memory, sshd changes user and root folder.
_OF_PODS = frozenset(f"capability {name}" for name in ("IPC_LOCK", "SETGID", "SETUID", "SYS_CHROOT"))
_OF_USERS = ("user ", "group ", "also group ", "without capability ", "no new privileges")
_SHARED_BY_SLURM = frozenset(("the node's network", "the node's processes", "the node's shared memory"))

_OF_NODES = re.compile(r"cpu|memory|ephemeral-storage|hugepages-.*|/dev/shm")
_SETTINGS = {
    "besteffort": "a pod may have fewer cores than a node; a binding that it forbids is a warning",
    "port": "pods have a network of their own; on a node jobs get a port by their number",
}


def wrapper(a: Side, b: Side) -> list[Difference]:
    """The text beside each rank, and what it is told beside the tables."""
    found = []
    texts = a.launch.wrapper, b.launch.wrapper
    if texts[0] != texts[1]:
        shown = {_OWN: "this hpclaunch's", "": "none"}
        known = [shown.get(text, text) for text in texts]
        found.append(beside("text beside each rank", known, why="what it does is not known"))
    mine, theirs = dict(a.launch.settings), dict(b.launch.settings)
    mixed = a.launch.scheduler != b.launch.scheduler
    for name in dict.fromkeys((*mine, *theirs)):
        values = mine.get(name, NOTHING), theirs.get(name, NOTHING)
        if values[0] == values[1]:
            continue
        why = _SETTINGS.get(name, "") if mixed and NOTHING in values else ""
        found.append(beside(f"setting {name}", values, "place" if why else "difference", why))
    return found


def gpu_kind(a: Side, b: Side) -> list[Difference]:
    """MIG profiles count; the type of whole GPUs is the node's."""
    kinds = a.launch.gpu_kind, b.launch.gpu_kind
    if kinds[0] == kinds[1]:
        return []
    values = (kind or "any" for kind in kinds)
    if any(_MIG.fullmatch(kind) for kind in kinds) or a.launch.scheduler == b.launch.scheduler:
        return [beside("kind of GPU", values)]
    return [beside("kind of GPU", values, "place", "Slurm's name of it; pods choose by the nodes' labels")]


def own_nodes(a: Side, b: Side) -> list[Difference]:
    """Whether no other job is on the nodes, and no two parts of this one on the same."""
    found = []
    if a.launch.apart != b.launch.apart:
        values = ("yes" if side.launch.apart else "no" for side in (a, b))
        why = "without required anti-affinity two workers may share a node"
        found.append(beside("each part of the job on a node of its own", values, why=why))
    whole = _is_whole(a), _is_whole(b)
    if whole[0] != whole[1]:
        values = ("yes" if each else "no" for each in whole)
        less = [_takes_less(side) for side in (a, b)]
        kind: Kind = "place" if all(less) else "difference"
        why = "a site may give whole nodes alone, also to jobs that take a part" if all(less) else ""
        found.append(beside("no other job on the nodes", values, kind, why))
    return found


def rights(a: Side, b: Side) -> list[Difference]:
    """What the processes may do. Who they are is the place's."""
    mine, theirs = set(a.launch.rights), set(b.launch.rights)
    mixed = a.launch.scheduler != b.launch.scheduler
    other_place = mixed or (a.place.name and b.place.name and a.place.name != b.place.name)
    found = []
    for right in sorted(mine ^ theirs):
        of_place = right in _OF_PODS or right.startswith(_OF_USERS) or (mixed and right in _SHARED_BY_SLURM)
        values = ("yes", NOTHING) if right in mine else (NOTHING, "yes")
        what = f"rights: {right}"
        if of_place and other_place:
            found.append(beside(what, values, "place", _why_right(right)))
        else:
            why = "containers under Pyxis have the user's own rights" if mixed else ""
            found.append(beside(what, values, "unbridged" if mixed else "difference", why))
    return found


def resources(a: Side, b: Side) -> list[Difference]:
    """The amounts of pods, and a device for each HCA that ranks are told of."""
    mine, theirs = _lacking(a), _lacking(b)
    why = "ranks cannot open an HCA that the pod's limits have no device for"
    found = [
        Difference(what, mine.get(what, "all"), theirs.get(what, "all"), why=why)
        for what in dict.fromkeys((*mine, *theirs))
        if mine.get(what) != theirs.get(what)
    ]
    if a.launch.scheduler == b.launch.scheduler:
        return found + _amounts(a, b) + _where(a, b)
    if a.launch.scheduler == "kubernetes":
        return found + [structs.replace(each, a=each.b, b=each.a) for each in _limits(a.launch)]
    return found + _limits(b.launch)


def _limits(pod: Launch) -> list[Difference]:
    """What a pod has less than a job of Slurm's (on the left), which gets all of a node, or parts that Slurm
    counts in its own way."""
    amounts = dict(pod.resources)
    found = []
    bound = {cpu for table in pod.tables for seat in table.seats for cpu in seat.cpus}
    cpus = amounts.get("cpu", "")
    if is_count(cpus) and int(cpus) < len(bound):
        what = f"the {len(bound)} CPUs that ranks are bound to"
        why = "the kubelet keeps the others: name those as reserved_cpus of both sites, or bind fewer"
        found.append(Difference(what, "all", f"{cpus} of them", why=why))
    if "memory" in amounts:
        why = "what is left of a node for pods is the cluster's"
        found.append(Difference("limit memory", "Slurm's", amounts["memory"], "place", why))
    if "/dev/shm" in amounts:
        why = "in a pod it counts towards the memory"
        found.append(Difference("limit /dev/shm", "the node's", amounts["/dev/shm"], "place", why))
    return found


def _amounts(a: Side, b: Side) -> list[Difference]:
    mine, theirs = dict(a.launch.resources), dict(b.launch.resources)
    other_place = a.place.name and b.place.name and a.place.name != b.place.name
    found = []
    for name in dict.fromkeys((*mine, *theirs)):
        values = mine.get(name, NOTHING), theirs.get(name, NOTHING)
        if values[0] == values[1]:
            continue
        if other_place and NOTHING not in values and _OF_NODES.fullmatch(name):
            why = "what is left of a node for pods is the cluster's"
            found.append(beside(f"limit {name}", values, "place", why))
        elif not other_place or _OF_NODES.fullmatch(name):
            found.append(beside(f"limit {name}", values))
    return found


def _where(a: Side, b: Side) -> list[Difference]:
    """What chooses nodes, networks and queue: each cluster's own."""
    mine, theirs = dict(a.launch.where), dict(b.launch.where)
    other_place = a.place.name and b.place.name and a.place.name != b.place.name
    return [
        Difference(
            name,
            mine.get(name, NOTHING),
            theirs.get(name, NOTHING),
            "place" if other_place else "difference",
            "each cluster's own" if other_place else "",
        )
        for name in dict.fromkeys((*mine, *theirs))
        if mine.get(name) != theirs.get(name)
    ]


def _lacking(side: Side) -> dict[str, str]:
    """The devices and networks that a pod lacks for the HCAs that its ranks are told of."""
    launch = side.launch
    hcas = max((table.hcas for table in launch.tables), key=len, default=())
    if launch.scheduler != "kubernetes" or not hcas:
        return {}
    has = {name: amount for name, amount in launch.resources if not _OF_NODES.fullmatch(name)}
    if side.place.rdma is None:
        given = sum(int(amount) for amount in has.values() if is_count(amount))
        return {} if given >= len(hcas) else {"devices of HCAs": f"{given} for {len(hcas)}"}
    wanted: dict[str, int] = {}
    for hca in hcas:
        name, _, rest = hca.partition("/")
        resource = side.place.rdma.get(rest.partition("/")[0]) or side.place.rdma.get(name) or ""
        wanted[resource] = wanted.get(resource, 0) + 1
    attached = dict(launch.where).get("networks", "").split(",")
    lost = [name for name in side.place.networks if name not in attached]
    networks = {"networks of pods": f"without {', '.join(lost)}"} if lost else {}
    return networks | {
        f"devices of {resource}"
        if resource
        else "HCAs without a resource": f"{has.get(resource, '0')} for {count}"
        for resource, count in wanted.items()
        if has.get(resource, "0") != str(count)
    }


def _is_whole(side: Side) -> bool:
    """A pod has a node to itself when it takes all GPUs; a text alone does not tell how many there are."""
    launch, of_node = side.launch, side.place.gpus_of_node
    if launch.scheduler == "kubernetes" and of_node is not None:
        return launch.apart and launch.gpus_per_node == of_node
    return launch.whole_node


def _takes_less(side: Side) -> bool:
    of_node = side.place.gpus_of_node
    return of_node is not None and side.launch.gpus_per_node < of_node


def _why_right(right: str) -> str:
    if right in _OF_PODS:
        return "pods need it for what needs no right under Slurm"
    if right in _SHARED_BY_SLURM:
        return "under Slurm ranks have it too"
    return "who containers run as is the site's"
