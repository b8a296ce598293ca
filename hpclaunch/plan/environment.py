"""The closed environment of a rank, in layers:

    image < node type < site.env < what hpclaunch computes < job.env < --set

The image's own variables are under these; the submitter's shell gives the names in `inherit` and no others.
"""

from collections.abc import Container, Iterable, Sequence

from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.names import HOST_PREFIXES
from hpclaunch.values.placement import NodeShape
from hpclaunch.values.words import EnvVar

# The wrapper computes these on the node, by the rank.
RENDEZVOUS = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
)

# A login shell's PATH is the submitter's, so ranks on the host get the system's.
HOST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def computed_on_node(job: Job, shapes: Sequence[NodeShape], whole: bool) -> tuple[str, ...]:
    """The names that the rank wrapper sets, since what is usable is seen on the node alone. On a part of a
    node a rank with a GPU has the HCA of that."""
    names: tuple[str, ...] = RENDEZVOUS if job.rendezvous == "torch" else ()
    if job.bind.hcas == "none" or not any(shape.hcas for shape in shapes):
        return names
    names += ("NCCL_IB_HCA",)
    if not any(seat.hcas or (seat.gpus and not whole) for shape in shapes for seat in shape.seats):
        return names
    names += ("UCX_NET_DEVICES",)
    return names if job.mpi == "none" else (*names, "OMPI_MCA_btl_openib_if_include")


def computed(job: Job, site: Site, gpus: int, visible_hcas: str) -> dict[str, str]:
    """The names that are the same for all ranks of a job. `visible_hcas` are the HCAs that a container may
    have in the form that Enroot wants, "" where the job leaves that alone."""
    values: dict[str, str] = {}
    if gpus:
        values["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # so that index and local rank agree with the plan
    if visible_hcas:
        values["MELLANOX_VISIBLE_DEVICES"] = visible_hcas
    network = site.network
    if network.socket_ifname:
        values["NCCL_SOCKET_IFNAME"] = network.socket_ifname
        values["GLOO_SOCKET_IFNAME"] = network.socket_ifname.lstrip("=")
        if job.mpi != "none":
            values["OMPI_MCA_btl_tcp_if_include"] = network.socket_ifname.lstrip("=")
    elif network.exclude:
        values["NCCL_SOCKET_IFNAME"] = "^" + ",".join(network.exclude)
        if job.mpi != "none":
            values["OMPI_MCA_btl_tcp_if_exclude"] = ",".join(network.exclude)
    return values


def layered(
    job: Job,
    site: Site,
    machines: Sequence[NodeType],
    fixed: dict[str, str],
    on_node: tuple[str, ...],
    on_host: bool,
) -> tuple[tuple[EnvVar, ...], list[str]]:
    """The variables that the wrapper sets last, and a warning for each computed one that the job replaces.

    Raises InputError where node types of the job differ in a variable that nothing above them sets.
    """
    above = {*site.env, *fixed, *on_node, *job.env, *job.inherit, *job.secrets}
    layers: tuple[tuple[str, dict[str, str]], ...] = (
        ("hpclaunch", {"PATH": HOST_PATH} if on_host else {}),
        ("node type", _of_all(machines, site, above)),
        ("site", site.env),
        ("hpclaunch", fixed),
        ("job", job.env),
    )
    merged: dict[str, EnvVar] = {}
    for origin, values in layers:
        for name, value in values.items():
            merged[name] = EnvVar(name, value, origin)
    for name in on_node:
        if name not in job.env:
            merged.pop(name, None)  # the site's value is under the computed one
    for name in job.inherit + job.secrets:
        if name not in job.env:
            merged.pop(name, None)  # these come from the submitter, as env does
    warnings = [
        f"{where}: the job's value replaces the one that hpclaunch computes"
        for where, name in [
            *((f"env.{name}", name) for name in job.env),
            *((f"inherit: {name}", name) for name in job.inherit),
        ]
        if name in on_node or name in fixed
    ]
    return tuple(merged.values()), warnings


def _of_all(machines: Sequence[NodeType], site: Site, above: Container[str]) -> dict[str, str]:
    """What the node types set, but for names that something above them sets in any case."""
    first = machines[0]
    problems = [
        Problem(
            f"the node types {first.name} and {other.name} differ in {name} ({_shown(first, name)} and "
            f"{_shown(other, name)}): set it in the site's env or the job's, or choose one by node_type",
            "job",
            ("sites", site.name, "node_type"),
        )
        for other in machines[1:]
        for name in dict.fromkeys((*first.env, *other.env))
        if name not in above and first.env.get(name) != other.env.get(name)
    ]
    if problems:
        raise InputError(problems)
    return first.env


def _shown(machine: NodeType, name: str) -> str:
    return machine.env.get(name, "unset")


def for_the_host(variables: Iterable[EnvVar]) -> tuple[EnvVar, ...]:
    """Those that must be set outside the container too."""
    return tuple(variable for variable in variables if variable.name.startswith(HOST_PREFIXES))
