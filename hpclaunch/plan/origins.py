"""Where each value of a plan came from: the file and line that set it, or the default."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from hpclaunch.plan import environment
from hpclaunch.plan.groups import Groups, of_shapes
from hpclaunch.plan.origin import Origin, Place
from hpclaunch.plan.origins_of_ranks import of_ranks
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import Path
from hpclaunch.values.launchplan import Common, LaunchPlan, SlurmTarget
from hpclaunch.values.names import PMIX_FENCE
from hpclaunch.values.pods import KubernetesTarget

_HINTS = ("account", "partition", "qos", "reservation", "constraint", "nodelist", "exclude", "mail")


class Sources(Struct, frozen=True):
    """The documents that a plan was made of; `machines` by the name that the site uses."""

    job: Document[Job]
    site: Document[Site]
    machines: Mapping[str, Document[NodeType]]


def said(origin: Origin, sources: Sources) -> str:
    """ "job.yaml:12", "--set nodes", "default", and behind a semicolon the lines of facts that took part."""
    first = next((place for place in origin.places if _document(place, sources).has(place.path)), None)
    parts = [_document(first, sources).lines([first.path]) if first else origin.otherwise]
    by_document: dict[str, list[Place]] = {}
    for place in origin.facts:
        by_document.setdefault(place.document, []).append(place)
    for places in by_document.values():
        parts.append(_document(places[0], sources).lines([place.path for place in places]))
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _document(place: Place, sources: Sources) -> Document:  # type: ignore[type-arg]
    if place.document == "job":
        return sources.job
    return sources.site if place.document == "site" else sources.machines[place.document]


def origins(sources: Sources, plan: LaunchPlan) -> tuple[Origin, ...]:
    """The origin of each value of `plan`, which was made of these sources: the nodes first, then what the
    ranks own and run, how the scheduler is asked, and the environment."""
    if plan.parts:
        from hpclaunch.plan import origins_of_groups  # others need not pay for it

        together = isinstance(plan.target, SlurmTarget) and not plan.target.components

        def alone(document: Document[Job], part: LaunchPlan) -> tuple[Origin, ...]:
            if together:  # their nodes are checked together
                document = structs.replace(document, value=structs.replace(document.value, preflight=None))
            return origins(structs.replace(sources, job=document), part)

        found = tuple(origins_of_groups.of_groups(sources.job, plan, alone))
        return (*found, *_checks(sources.job.value, sources.site.value, plan)) if together else found
    job, site = sources.job.value, sources.site.value
    machines = {name: document.value for name, document in sources.machines.items()}
    common = plan.common
    of_nodes = job
    if job.groups:
        from hpclaunch.plan import origins_of_groups, rankgroups

        of_nodes = rankgroups.by_itself(job, next(iter(job.groups)))  # they are alike
    chosen, _ = Groups(site, machines).choose(of_nodes)
    groups = of_shapes([(index, site.node_types[index]) for index in chosen], common.shapes)
    nodes = (
        *_nodes(of_nodes, site, common, groups),
        *of_ranks(of_nodes, common, groups, machines),
    )
    if job.groups:
        of_first = partial(origins_of_groups.of_first, sources.job)
        nodes = tuple(each if each.what == "nodes" else of_first(each) for each in nodes)
    return (
        *nodes,
        *_program(job, plan),
        *_steps(job, common),
        *_launch(job, site, plan),
        *_pods(job, site, chosen[0], plan),
        *_environment(job, common, groups[0][1].type),
    )


def _job(*path: str | int) -> Place:
    return Place("job", path)


def _site(*path: str | int) -> Place:
    return Place("site", path)


def _nodes(job: Job, site: Site, common: Common, groups: Sequence[tuple[int, NodeGroup]]) -> Iterator[Origin]:
    yield Origin("name", common.name, (_job("name"),))
    yield Origin("nodes", str(common.nodes), (_job("groups") if common.groups else _job("nodes"),))
    wanted = _job("sites", site.name, "node_type")
    for (index, group), shape in zip(groups, common.shapes, strict=True):
        behind = f" ({shape.node_type})" if len(groups) > 1 else ""
        yield Origin(f"node type{behind}", group.type, (wanted,), "", (_site("node_types", index, "type"),))
        for key in ("hosts", "variant", "reserved_cpus"):
            if getattr(group, key):
                yield Origin(f"{key}{behind}", getattr(group, key), (_site("node_types", index, key),))
    machine = groups[0][1].type
    gpus = Place(machine, ("gpus",))
    slices = bool(groups[0][1].mig)
    yield Origin(
        "gpus_per_node",
        str(common.gpus_per_node),
        (_job("gpus_per_node"),),
        "default: all",
        () if job.gpus_per_node is not None or slices or not common.shape.gpus else (gpus,),
    )
    if job.gpu_type is not None:
        yield Origin("gpu_type", job.gpu_type, (_job("gpu_type"),))
    usual = "default: one for each GPU" if common.gpus_per_node else "default"
    yield Origin("ranks_per_node", str(common.ranks_per_node), (_job("ranks_per_node"),), usual)


def _pods(job: Job, site: Site, group: int, plan: LaunchPlan) -> Iterator[Origin]:
    if isinstance(plan.target, KubernetesTarget):
        from hpclaunch.plan.kubernetes import origins as of_pods  # others need not pay for it

        yield from of_pods.of_target(job, site, group, plan.target)


def _steps(job: Job, common: Common) -> Iterator[Origin]:
    if job.beside_ranks:
        from hpclaunch.plan import origins_of_steps  # others need not pay for it

        yield from origins_of_steps.of_steps(job, common)


def _program(job: Job, plan: LaunchPlan) -> Iterator[Origin]:
    common = plan.common
    command = job.command if isinstance(job.command, str) else " ".join(job.command)
    if common.groups is None:
        yield Origin("command", command, (_job("command"),))
    for group in common.groups.members if common.groups else ():
        places = (_job("groups", group.name, "command"), _job("command"))
        yield Origin(f"groups.{group.name}.nodes", str(group.nodes), (_job("groups", group.name, "nodes"),))
        yield Origin(f"groups.{group.name}.command", " ".join(group.argv), places)
    container = common.container
    if container is None:
        yield Origin("workdir", common.cwd, (_job("workdir"),), "default: the job file's folder")
        return
    yield Origin("image", container.image, (_job("image"),))
    yield Origin("workdir", container.workdir or "the image's own", (_job("workdir"),))
    for key in ("writable", "mount_home", "remap_root", "entrypoint"):
        yield Origin(f"container.{key}", _yes(getattr(container, key)), (_job("container", key),))
    if container.env:
        yield Origin("container.env", ", ".join(container.env), (_job("container", "env"),))
    if container.save:
        yield Origin("container.save", container.save, (_job("container", "save"),))
    for index, mount in enumerate(container.mounts):
        text = f"{mount.source or mount.volume}:{mount.target}" + (":ro" if mount.read_only else "")
        volume = (_site("volumes", mount.volume),) if mount.volume else ()
        yield Origin(f"mounts[{index}]", text, (_job("mounts", index),), facts=volume)


def _launch(job: Job, site: Site, plan: LaunchPlan) -> Iterator[Origin]:
    common = plan.common
    unset = "no limit" if site.slurm is None else "the partition's"
    minutes = {None: unset, 0: "no limit"}.get(common.minutes, f"{common.minutes} minutes")
    yield Origin("time", minutes, (_job("time"),))
    slurm = site.slurm
    plugin: tuple[Place, ...] = ()
    family: str = common.mpi
    if slurm is not None and family in slurm.mpi_plugin and slurm.mpi_plugin[family] != family:
        plugin = (_site("slurm", "mpi_plugin", family),)
        family = f"{family} (plugin {slurm.mpi_plugin[family]})"
    yield Origin("mpi", family, (_job("mpi"),), facts=plugin)
    yield Origin("rendezvous", common.rendezvous, (_job("rendezvous"),))
    yield Origin("locality", job.locality, (_job("locality"),))
    if job.fabric.sharp:
        yield Origin("fabric.sharp", "true", (_job("fabric", "sharp"),), facts=(_site("fabric", "sharp"),))
    yield Origin("verify", _yes(common.verify), (_job("verify"),))
    if job.long_run:
        from hpclaunch.plan import origins_of_longrun  # others need not pay for it

        yield from origins_of_longrun.of_long_run(job)
    yield from _checks(job, site, plan)
    yield Origin("scheduler", plan.scheduler, (_site("scheduler"),))
    if slurm is None or not isinstance(plan.target, SlurmTarget):
        return
    yield Origin("slurm.version", slurm.version, (_site("slurm", "version"),))
    if common.container is not None and slurm.pyxis:
        yield Origin("slurm.pyxis", slurm.pyxis, (_site("slurm", "pyxis"),))
    for variable in plan.target.host_env:
        if variable.name == PMIX_FENCE:
            said = {"job": (_job("env", PMIX_FENCE),), "site": (_site("env", PMIX_FENCE),)}
            yield Origin(f"srun.{PMIX_FENCE}", variable.value, said.get(variable.origin, ()), "hpclaunch")
    exclusive = any(option.text == "--exclusive" for option in plan.target.sbatch)
    why = "default: the job takes whole nodes" if exclusive else "default: the job takes a part of a node"
    yield Origin("exclusive", _yes(exclusive), (_site("slurm", "exclusive"),), why)
    hints = job.sites.get(site.name, SiteHints())
    for key in _HINTS:
        own, usual = getattr(hints, key), getattr(slurm, key, None)
        if own:
            yield Origin(key, own, (_job("sites", site.name, key),))
        elif usual:
            yield Origin(key, usual, (_site("slurm", key),))
        elif key in ("account", "partition"):
            yield Origin(key, "Slurm's default")
    for command in ("sbatch", "srun"):
        for index, option in enumerate(getattr(hints, command)):
            yield Origin(f"{command}[{index}]", option, (_job("sites", site.name, command, index),))


def _checks(job: Job, site: Site, plan: LaunchPlan) -> Iterator[Origin]:
    if job.preflight is not None:
        from hpclaunch.plan import origins_of_preflight

        yield from origins_of_preflight.of_preflight(site, plan)


def _environment(job: Job, common: Common, machine: str) -> Iterator[Origin]:
    documents = {"job": "job", "site": "site", "node type": machine}
    for variable in common.environment:
        name = variable.name
        if variable.origin in documents:
            places: tuple[Place, ...] = (Place(documents[variable.origin], ("env", name)),)
        else:
            places = tuple(_computed(name))
        yield Origin(f"env.{name}", variable.value, places, "hpclaunch")
    set_here = {variable.name for variable in common.environment}
    for name in environment.computed_on_node(job, common.shapes, common.whole_node):
        if name not in set_here:
            key: Path = ("rendezvous",) if name in environment.RENDEZVOUS else ("bind", "hcas")
            yield Origin(f"env.{name}", "found on each node", (Place("job", key),), "hpclaunch")
    for index, name in enumerate(job.inherit):
        if name in common.inherit:
            yield Origin(f"env.{name}", "your shell's", (_job("inherit", index),))
    for index, name in enumerate(common.secrets):
        yield Origin(f"env.{name}", "a secret of your shell", (_job("secrets", index),))


def _computed(name: str) -> Iterator[Place]:
    """What a variable that hpclaunch computes follows from."""
    if name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") or name.startswith("OMPI_MCA_btl_tcp_if_"):
        yield _site("network", "socket_ifname")
        yield _site("network", "exclude")
    if name == "MELLANOX_VISIBLE_DEVICES":
        yield _job("container", "hcas")
    yield _site("fabric", "sharp", "env", name)
    if name == "NCCL_COLLNET_ENABLE":
        yield _job("fabric", "sharp")


def _yes(value: bool) -> str:
    return "true" if value else "false"
