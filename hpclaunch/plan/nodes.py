"""Which nodes of a site a job gets, and what it has of each."""

from collections.abc import Mapping
from typing import NoReturn

from msgspec import Struct, structs

from hpclaunch.plan import gpukind, shapes
from hpclaunch.plan.groups import Groups
from hpclaunch.spec.job import Bind, Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.topology import model
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.placement import Hca, NodeShape


class Chosen(Struct, frozen=True):
    """The nodes that a job gets, from these `groups` of the site's node types. `shapes` is what it has of
    them, with the node type of each in `machines`: so many `gpus` and `ranks`, or the `whole` node.
    `visible_hcas` is the value of MELLANOX_VISIBLE_DEVICES, or ""."""

    groups: tuple[int, ...]
    machines: list[NodeType]
    shapes: tuple[NodeShape, ...]
    gpus: int
    ranks: int
    whole: bool
    visible_hcas: str
    warnings: tuple[str, ...]


class Nodes:
    """The nodes of one site. `machines` holds the node type of each name that the site uses.

    Shapes of nodes are kept, so that many jobs that differ in little else than their environment cost one
    placement.
    """

    def __init__(self, site: Site, machines: Mapping[str, NodeType]):
        self._site = site
        self._machines = machines
        self._groups = Groups(site, machines)
        self._shapes: dict[tuple[int, int, int, Bind, bool], NodeShape] = {}

    def choose(self, job: Job) -> Chosen:
        """The nodes for the job. Raises InputError where it fits on none, or asks for what they have not."""
        groups, warnings = self._groups.choose(with_spares(job, self._site))
        first = self._groups.machine(groups[0])
        gpus = len(first.gpus) if job.gpus_per_node is None else job.gpus_per_node
        ranks = job.ranks_per_node or max(gpus, 1)
        machines, on_nodes = self._shapes_of(job, groups, gpus, ranks)
        return Chosen(
            groups=groups,
            machines=machines,
            shapes=on_nodes,
            gpus=gpus,
            ranks=ranks,
            whole=self._whole(job, first, gpus),
            visible_hcas=self._visible_hcas(job, groups),
            warnings=tuple(warnings),
        )

    def _whole(self, job: Job, machine: NodeType, gpus: int) -> bool:
        """Whether the job has nodes to itself. A site may forbid that; MIG slices are never all of a node."""
        forbidden = self._site.slurm is not None and self._site.slurm.exclusive is False
        return gpus == len(machine.gpus) and not forbidden and not gpukind.slices(job, self._site)

    def _shapes_of(
        self, job: Job, chosen: tuple[int, ...], gpus: int, ranks: int
    ) -> tuple[list[NodeType], tuple[NodeShape, ...]]:
        """One shape for each group, with its machine; groups that differ in their hosts alone are one."""
        hosts: dict[tuple[str, NodeShape], list[str]] = {}
        for index in chosen:
            shape = self._shape(job, index, gpus, ranks)
            name = self._site.node_types[index].type
            hosts.setdefault((name, structs.replace(shape, hosts="")), []).append(shape.hosts)
        machines = [self._machines[name] for name, _ in hosts]
        return machines, tuple(
            structs.replace(shape, hosts=",".join(lists)) for (_, shape), lists in hosts.items()
        )

    def _shape(self, job: Job, index: int, gpus: int, ranks: int) -> NodeShape:
        slices = gpukind.slices(job, self._site)
        key = (index, gpus, ranks, job.bind, slices)
        if key not in self._shapes:
            group, machine = self._site.node_types[index], self._groups.machine(index)
            if slices:
                self._shapes[key] = shapes.with_slices(machine, group, gpus, ranks, job.bind)
            else:
                whole, hcas = self._whole(job, machine, gpus), self._hcas(index)
                self._shapes[key] = shapes.shape(machine, group, hcas, gpus, ranks, job.bind, whole)
        return self._shapes[key]

    def _hcas(self, index: int) -> tuple[Hca, ...]:
        try:
            return model.named_hcas(self._groups.machine(index), self._site.node_types[index].variant)
        except InputError as error:
            raise InputError([Problem(str(error), "site", ("node_types", index, "variant"))]) from None

    def _visible_hcas(self, job: Job, chosen: tuple[int, ...]) -> str:
        """The value of MELLANOX_VISIBLE_DEVICES, one for all nodes, or "" where the job does not ask for
        it."""
        if job.container.hcas != "compute":
            return job.container.hcas or ""
        found: dict[str, str] = {}
        for index in chosen:
            group, machine = self._site.node_types[index], self._groups.machine(index)
            numbers = ",".join(map(str, model.visible_devices(machine, group.variant)))
            found.setdefault(numbers, machine.name + (f" ({group.variant})" if group.variant else ""))
        if "" in found:
            _refuse(f"no compute HCA of a {found['']} is known", ("container", "hcas"))
        if len(found) > 1:
            _refuse(
                "the compute HCAs have other numbers on each node type "
                f"({'; '.join(f'{name}: {numbers}' for numbers, name in found.items())}): choose one with "
                f"sites.{self._site.name}.node_type, or write hcas: all",
                ("container", "hcas"),
            )
        return next(iter(found))


def with_spares(job: Job, site: Site) -> Job:
    """The job with as many nodes as it asks for: those that its ranks need, and spare ones."""
    if job.preflight is None or site.scheduler != "slurm":
        return job
    return structs.replace(job, nodes=job.nodes + job.preflight.spares)


def _refuse(message: str, path: Path) -> NoReturn:
    raise InputError([Problem(message, "job", path)])
