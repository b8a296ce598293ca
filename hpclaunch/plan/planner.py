"""Job + Site + node types -> LaunchPlan."""

import os.path
from collections.abc import Mapping
from typing import NoReturn

from hpclaunch.plan import environment, fabric, gpukind, local, mounts, placement, size, slurm
from hpclaunch.spec import hosts
from hpclaunch.spec.job import Bind, Job, SiteHints
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.topology import model
from hpclaunch.values import cpulist
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.launchplan import Common, Container, LaunchPlan, LocalTarget, Mount, SlurmTarget
from hpclaunch.values.names import acts_on_commands
from hpclaunch.values.placement import Gpu, NodeShape


class Planner:
    """Plans jobs for one site. `machines` holds the node type of each name that the site uses.

    Shapes of nodes are kept, so that many jobs that differ in little else than their environment cost one
    placement.
    """

    def __init__(self, site: Site, machines: Mapping[str, NodeType]):
        self.site = site
        self.machines = machines
        self._shapes: dict[tuple[int, int, int, Bind], tuple[NodeShape, bool]] = {}
        self._sizes: dict[int, int | None] = {}

    def plan(self, job: Job) -> LaunchPlan:
        """The plan of `job` here. Raises InputError, with every problem found, where it cannot be."""
        site = self.site
        resolved, problems = mounts.resolve(job, site)
        problems += self._unsuitable(job)
        try:
            index = self._group(job)
            machine = self.machines[site.node_types[index].type]
            gpus = len(machine.gpus) if job.gpus_per_node is None else job.gpus_per_node
            ranks = job.ranks_per_node or max(gpus, 1)
            shaped = self._slices if gpukind.slices(job, site) else self._shape
            shape, whole = shaped(index, gpus, ranks, job.bind)
        except InputError as error:
            problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        exclusive = whole or (site.slurm is not None and site.slurm.exclusive is True)
        fixed = environment.computed(job, site, gpus, shape.hcas) | fabric.variables(job, site)
        on_node = environment.computed_on_node(job, any(seat.hcas for seat in shape.seats))
        variables, warnings = environment.layered(
            job, site, machine, fixed, on_node, on_host=job.image is None
        )
        common = Common(
            name=job.name,
            nodes=job.nodes,
            ranks_per_node=ranks,
            gpus_per_node=gpus,
            shapes=(shape,),
            whole_node=whole,
            argv=("/bin/sh", "-c", job.command) if isinstance(job.command, str) else job.command,
            cwd=_cwd(job),
            environment=variables,
            inherit=tuple(name for name in job.inherit if name not in job.env),
            secrets=job.secrets,
            container=_container(job, resolved),
            mpi=job.mpi,
            rendezvous=job.rendezvous,
            minutes=job.time,
            verify=job.verify,
        )
        problems += size.problems(common, environment.for_the_host(variables))
        if problems:
            raise InputError(problems)
        target: SlurmTarget | LocalTarget
        if site.scheduler == "slurm":
            target, more = slurm.target(job, site, machine, common, exclusive)
        else:
            target, more = local.target(job, site, machine, common)
            more += fabric.without_scheduler(job)
        if len(site.node_types) > 1:
            more.append(
                f"planned for {machine.name}; site {site.name} has other node types too: "
                "see that the partition or constraint gives no others"
            )
        return LaunchPlan(site.name, site.scheduler, common, target, tuple(warnings + more))

    def _group(self, job: Job) -> int:
        """The first group of nodes that is large enough."""
        wanted = job.sites.get(self.site.name, SiteHints()).node_type
        groups = [
            (index, group) for index, group in enumerate(self.site.node_types) if wanted in (None, group.type)
        ]
        if not groups:
            known = ", ".join(group.type for group in self.site.node_types)
            _refuse(
                f"site {self.site.name} has no nodes of type {wanted}; it has: {known}",
                ("sites", self.site.name, "node_type"),
            )
        fitting = [
            (index, group) for index, group in groups if gpukind.fits(job, group, self.machines[group.type])
        ]
        if not fitting:
            if gpukind.unsuitable(job, self.site, self.machines):
                raise InputError(())  # these say it
            found = [(group, self.machines[group.type]) for _, group in groups]
            _refuse(gpukind.too_few(job, found), ("gpus_per_node",))
        sizes = [self._size(index, group) for index, group in fitting]
        for (index, _), nodes in zip(fitting, sizes, strict=True):
            if nodes is None or job.nodes <= nodes:
                return index
        most_nodes = max(nodes for nodes in sizes if nodes is not None)
        return _refuse(f"{job.nodes} nodes, and site {self.site.name} has {most_nodes}", ("nodes",))

    def _size(self, index: int, group: NodeGroup) -> int | None:
        if index not in self._sizes:
            if group.hosts is not None:
                self._sizes[index] = hosts.count(group.hosts)
            else:
                self._sizes[index] = group.count if self.site.scheduler == "slurm" else 1
        return self._sizes[index]

    def _shape(self, index: int, gpus: int, ranks: int, bind: Bind) -> tuple[NodeShape, bool]:
        key = (index, gpus, ranks, bind)
        if key not in self._shapes:
            self._shapes[key] = self._new_shape(index, gpus, ranks, bind)
        return self._shapes[key]

    def _new_shape(self, index: int, gpus: int, ranks: int, bind: Bind) -> tuple[NodeShape, bool]:
        group = self.site.node_types[index]
        machine = self.machines[group.type]
        try:
            hcas = model.named_hcas(machine, group.variant)
        except InputError as error:
            raise InputError([Problem(str(error), "site", ("node_types", index, "variant"))]) from None
        forbidden = self.site.slurm is not None and self.site.slurm.exclusive is False
        whole = gpus == len(machine.gpus) and not forbidden
        reserved = frozenset(cpulist.parse(group.reserved_cpus))
        if whole:
            seats = placement.whole_node(machine, gpus, ranks, bind, hcas, reserved)
        else:
            seats = placement.unbound(gpus, ranks, bind, hcas)
        shape = NodeShape(
            node_type=machine.name,
            hosts=group.hosts or "",
            cpu_count=model.cpu_count(machine) - len(reserved),
            gpus=tuple(Gpu(number, gpu.pci, gpu.numa) for number, gpu in enumerate(machine.gpus)),
            hcas=hcas,
            seats=seats,
        )
        return shape, whole

    def _slices(self, index: int, gpus: int, ranks: int, bind: Bind) -> tuple[NodeShape, bool]:
        """Nodes of which the job gets MIG slices. Slurm chooses them when the job starts, so no rank has
        cores, memory or an HCA of its own, and no slice has a PCI address."""
        group = self.site.node_types[index]
        machine = self.machines[group.type]
        shape = NodeShape(
            node_type=machine.name,
            hosts=group.hosts or "",
            cpu_count=model.cpu_count(machine) - len(cpulist.parse(group.reserved_cpus)),
            gpus=(),
            hcas=(),
            seats=placement.unbound(gpus, ranks, bind, ()),
        )
        return shape, False

    def _unsuitable(self, job: Job) -> list[Problem]:
        """What the job asks for and this kind of site cannot give at all."""
        site = self.site
        problems = slurm.unsuitable(job, site) if site.scheduler == "slurm" else []
        problems += gpukind.unsuitable(job, site, self.machines)
        if job.image is not None and site.container == "none":
            message = f"site {site.name} runs no containers (`container: none`), and the job has an image"
            problems.append(Problem(message, "job", ("image",)))
        if job.image is None:
            if job.mounts:
                message = "mounts need an `image`: without one the ranks see the node's own files"
                problems.append(Problem(message, "job", ("mounts",)))
            if job.container != type(job.container)():
                problems.append(Problem("`container` needs an `image`", "job", ("container",)))
        problems += [
            Problem(
                f"{name} cannot be inherited: it would change how the job is started; "
                "set it in env, where the ranks alone see it",
                "job",
                ("inherit", index),
            )
            for index, name in enumerate(job.inherit)
            if acts_on_commands(name)
        ]
        problems += [
            Problem(f"{name} cannot be a secret: what starts the job reads it", "job", ("secrets", index))
            for index, name in enumerate(job.secrets)
            if acts_on_commands(name) or name == "PATH" or name in environment.RENDEZVOUS
        ]
        problems += [
            Problem(f"~ is not expanded in {path!r}: write the whole path", "job", (key,))
            for key, path in (("image", job.image), ("workdir", job.workdir))
            if path is not None and path.startswith("~")
        ]
        return problems


def _container(job: Job, resolved: tuple[Mount, ...]) -> Container | None:
    if job.image is None:
        return None
    spec = job.container
    return Container(
        image=job.image,
        mounts=resolved,
        workdir=job.workdir or "",
        writable=spec.writable,
        mount_home=spec.mount_home,
        remap_root=spec.remap_root,
        entrypoint=spec.entrypoint,
        env=spec.env,
        save=os.path.normpath(os.path.join(job.directory, spec.save)) if spec.save else "",
    )


def _cwd(job: Job) -> str:
    """On the host, relative to the job file as every path in it is; in a container, the container's."""
    if job.image is not None:
        return job.workdir or ""
    return os.path.normpath(os.path.join(job.directory, job.workdir or ""))


def _refuse(message: str, path: Path) -> NoReturn:
    raise InputError([Problem(message, "job", path)])
