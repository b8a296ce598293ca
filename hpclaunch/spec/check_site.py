"""What a site file alone tells to be wrong, beyond the types of its fields."""

from functools import partial

from hpclaunch.spec import check_text, findings, hosts
from hpclaunch.spec.check_job import env_problems
from hpclaunch.spec.scalars import shown
from hpclaunch.spec.site import Fabric, NodeGroup, Site, SlurmSite, Volume
from hpclaunch.values import cpulist
from hpclaunch.values.errors import Path, Problem

DOCUMENT = "site"
MPI_FAMILIES = ("pmix", "pmi2", "none")

_PLAIN_GROUP = NodeGroup("")

_check = partial(findings.check, DOCUMENT)
_problem = partial(findings.problem, DOCUMENT)


def site_problems(site: Site) -> list[Problem]:
    """Every problem of a single key of the site that no job and no node type is needed for."""
    found: list[Problem] = []
    _check(found, ("name",), check_text.name, site.name)
    if not site.node_types:
        found.append(_problem(("node_types",), "the list is empty; write [{type: dgx-a100, count: 1}]"))
    for index, group in enumerate(site.node_types):
        found += _group_problems(group, ("node_types", index))
    found += _shared_hosts(site)
    if site.slurm is not None:
        found += _slurm_problems(site.slurm)
    if site.preflight is not None:
        from hpclaunch.spec.check_preflight import site_problems as preflight_problems  # few sites have it

        found += preflight_problems(site.preflight)
    if site.ssh is not None:
        from hpclaunch.spec.check_ssh import ssh_problems  # most sites are for their own login nodes

        found += ssh_problems(site.ssh)
    if site.kubernetes is not None:
        found += _kubernetes_problems(site)
    if site.limits is not None:
        from hpclaunch.spec import check_limits  # few sites have any

        found += check_limits.problems(site.limits)
    if site.network.socket_ifname is not None:
        _check(found, ("network", "socket_ifname"), check_text.line, site.network.socket_ifname)
    for index, interface in enumerate(site.network.exclude):
        _check(found, ("network", "exclude", index), check_text.line, interface)
    found += _fabric_problems(site.fabric)
    for name, volume in site.volumes.items():
        _check(found, ("volumes", name), check_text.name, name)
        found += _volume_problems(volume, ("volumes", name))
    return found + env_problems(site.env, DOCUMENT)


def site_relations(site: Site) -> list[Problem]:
    """Where keys of the site contradict one another. Only for a site whose keys are each right."""
    found: list[Problem] = []
    if site.scheduler == "slurm" and site.slurm is None:
        found.append(_problem(("slurm",), 'scheduler: slurm needs it; write slurm: {version: "22.05"}'))
    if site.scheduler == "kubernetes" and site.kubernetes is None:
        message = "scheduler: kubernetes needs it; write kubernetes: {namespace: default}"
        found.append(_problem(("kubernetes",), message))
    if site.container == "pyxis" and site.scheduler != "slurm":
        found.append(_problem(("container",), f"pyxis needs scheduler: slurm, not {site.scheduler}"))
    if site.container == "pyxis" and site.slurm is not None and site.slurm.pyxis is None:
        found.append(
            _problem(("slurm", "pyxis"), 'container: pyxis needs its version, such as pyxis: "0.20.0"')
        )
    for index, group in enumerate(site.node_types):
        if site.scheduler != "local" and group.hosts is None and group.count is None:
            found.append(_problem(("node_types", index), 'needs hosts ("dgx[001-140]") or a count'))
        if site.scheduler == "local" and group.mig:
            found.append(_problem(("node_types", index, "mig"), "needs a scheduler that gives slices out"))
    if site.ssh is not None:
        from hpclaunch.spec.check_ssh import ssh_relations

        found += ssh_relations(site)
    if site.scheduler == "kubernetes":
        from hpclaunch.spec.check_kubernetes_relations import cluster_relations

        return found + cluster_relations(site)
    for index, group in enumerate(site.node_types):
        for key in ("selector", "tolerations", "allocatable"):
            if getattr(group, key) != getattr(_PLAIN_GROUP, key):
                found.append(_problem(("node_types", index, key), "is for scheduler: kubernetes alone"))
    return found


def _kubernetes_problems(site: Site) -> list[Problem]:
    from hpclaunch.spec.check_kubernetes import cluster_problems, node_problems  # a Slurm site pays nothing

    assert site.kubernetes is not None
    found = cluster_problems(site.kubernetes)
    for index, group in enumerate(site.node_types):
        found += node_problems(group, ("node_types", index))
    return found


def _volume_problems(volume: Volume, path: Path) -> list[Problem]:
    if volume.path is not None and volume == Volume(path=volume.path):
        found: list[Problem] = []
        _check(found, (*path, "path"), check_text.absolute, volume.path)
        return found
    from hpclaunch.spec.check_volume import volume_problems  # most of a Slurm site's are paths alone

    return volume_problems(volume, path)


def _group_problems(group: NodeGroup, path: Path) -> list[Problem]:
    found: list[Problem] = []
    _check(found, (*path, "type"), check_text.line, group.type)
    _check(found, (*path, "reserved_cpus"), cpulist.parse, group.reserved_cpus)
    if group.variant is not None:
        _check(found, (*path, "variant"), check_text.name, group.variant)
    if group.hosts is not None:
        _check(found, (*path, "hosts"), hosts.count, group.hosts)
    if group.count is not None and not 1 <= group.count <= hosts.LIMIT:
        found.append(_problem((*path, "count"), f"{group.count} must be from 1 to {hosts.LIMIT}"))
    for profile, slices in group.mig.items():
        _check(found, (*path, "mig", profile), check_text.name, profile)
        if slices < 1:
            found.append(_problem((*path, "mig", profile), f"{slices} must be at least 1"))
    if group.hosts is not None and group.count is not None:
        found.append(_problem((*path, "count"), "either hosts or count, not both"))
    return found


def _shared_hosts(site: Site) -> list[Problem]:
    seen: set[str] = set()
    groups = [(index, group.hosts) for index, group in enumerate(site.node_types) if group.hosts]
    for index, text in groups if len(groups) > 1 else ():
        try:
            names = hosts.expand(text)
        except ValueError:
            continue  # already a problem of its own
        shared = next((name for name in names if name in seen), None)
        if shared is not None:
            return [_problem(("node_types", index, "hosts"), f"the host {shared} is in an earlier group too")]
        seen.update(names)
    return []


def _fabric_problems(fabric: Fabric) -> list[Problem]:
    found: list[Problem] = []
    if fabric.unit is not None and fabric.unit < 1:
        found.append(_problem(("fabric", "unit"), f"{fabric.unit} must be at least 1"))
    if fabric.sharp is not None:
        if fabric.sharp.network is not None:
            _check(found, ("fabric", "sharp", "network"), check_text.line, fabric.sharp.network)
        for problem in env_problems(fabric.sharp.env, DOCUMENT):
            found.append(_problem(("fabric", "sharp", *problem.path), problem.message))
    return found


def _slurm_problems(slurm: SlurmSite) -> list[Problem]:
    found: list[Problem] = []
    _check(found, ("slurm", "version"), _slurm_version, slurm.version)
    if slurm.pyxis is not None:
        _check(found, ("slurm", "pyxis"), _pyxis_version, slurm.pyxis)
    for key in ("partition", "account", "qos"):
        value = getattr(slurm, key)
        if value is not None:
            _check(found, ("slurm", key), check_text.line, value)
    for key in ("path", "conf", "image_folder"):
        value = getattr(slurm, key)
        if value is not None:
            _check(found, ("slurm", key), check_text.absolute, value)
    if slurm.rest is not None or slurm.via == "rest":
        from hpclaunch.spec.check_rest import rest_problems  # few sites have it

        found += rest_problems(slurm)
    for family, plugin in slurm.mpi_plugin.items():
        path = ("slurm", "mpi_plugin", family)
        if family not in MPI_FAMILIES:
            message = f"{shown(family)} is not a family of MPI; allowed: {', '.join(MPI_FAMILIES)}"
            found.append(_problem(path, message))
        _check(found, path, check_text.name, plugin)
    return found


def _slurm_version(text: str) -> None:
    parts = text.split(".")
    major, minor = parts[:2], parts[2:]
    sound = check_text.are_digits(major, range(2, 3)) and check_text.are_digits(minor, range(1, 3))
    if not sound or len(parts) not in (2, 3):
        raise ValueError(f"{shown(text)} is not a version of Slurm, such as 22.05 or 23.11.4")


def _pyxis_version(text: str) -> None:
    parts = text.split(".")
    if len(parts) != 3 or not check_text.are_digits(parts, range(1, 4)):
        raise ValueError(f"{shown(text)} is not a version such as 0.20.0")
