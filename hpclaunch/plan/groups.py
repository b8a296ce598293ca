"""Which groups of a site's nodes a job is planned for."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from msgspec import structs

from hpclaunch.plan import gpukind
from hpclaunch.plan.hints import of_site
from hpclaunch.spec import hosts
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.placement import NodeShape


class Groups:
    """The groups of one site. `machines` holds the node type of each name that the site uses."""

    def __init__(self, site: Site, machines: Mapping[str, NodeType]):
        self._site = site
        self._machines = machines
        self._sizes: dict[int, int | None] = {}

    def machine(self, index: int) -> NodeType:
        """The node type of a group."""
        return self._machines[self._site.node_types[index].type]

    def choose(self, job: Job) -> tuple[tuple[int, ...], list[str]]:
        """The indexes of the groups whose nodes the job may get, and warnings.

        These are all that the job fits on whose nodes have one number of GPUs, where each has `hosts` to
        tell its nodes by; else the first that is large enough. Raises InputError where no group fits.
        """
        fitting = self._fitting(job)
        chosen = self._large_enough(job, fitting)
        if job.gpus_per_node is None:
            job = structs.replace(job, gpus_per_node=len(self.machine(chosen[0]).gpus))
        others = [
            index
            for index, group in enumerate(self._site.node_types)
            if index not in chosen and gpukind.fits(job, group, self.machine(index))
        ]
        # Kubernetes is told the labels or names of the chosen nodes, so others cannot come.
        if not others or self._site.scheduler == "kubernetes":
            return chosen, []
        here, there = self._names(chosen), self._names(others)
        warning = (
            f"planned for {here}; site {self._site.name} has other node types too that the job fits on "
            f"({there}): see that the partition or constraint gives no others"
        )
        nameless = [index for index in (*chosen, *others) if not self._site.node_types[index].hosts]
        if nameless and any(self._alike(job, chosen[0], index) for index in others):
            warning += f", or give {self._names(nameless)} its `hosts`, and the ranks find their node's type"
        return chosen, [warning]

    def _fitting(self, job: Job) -> list[int]:
        """The groups that have what the job asks for, but for their number of nodes."""
        site = self._site
        wanted = of_site(job, site).node_type
        groups = [
            (index, group) for index, group in enumerate(site.node_types) if wanted in (None, group.type)
        ]
        if not groups:
            known = ", ".join(group.type for group in site.node_types)
            _refuse(
                f"site {site.name} has no nodes of type {wanted}; it has: {known}",
                ("sites", site.name, "node_type"),
            )
        fitting = [index for index, group in groups if gpukind.fits(job, group, self.machine(index))]
        if not fitting:
            if gpukind.unsuitable(job, site, self._machines):
                raise InputError(())  # these say it
            found = [(group, self.machine(index)) for index, group in groups]
            _refuse(gpukind.too_few(job, found), ("gpus_per_node",))
        return fitting

    def _large_enough(self, job: Job, fitting: list[int]) -> tuple[int, ...]:
        most, pods = 0, self._site.scheduler == "kubernetes"
        for first in fitting:
            chosen = tuple(index for index in fitting if self._alike(job, first, index))
            if not all(self._site.node_types[index].hosts for index in chosen):
                chosen = (first,)
            sizes = [self._places(job, index) for index in chosen]
            total = sum(size for size in sizes if size is not None)
            if None in sizes or job.nodes <= total:
                return chosen
            most = max(most, total)
        has = "has room for" if of_site(job, self._site).share_nodes else "has"
        # All pods of a job look for the labels, or names, of one group.
        one = " in one of its node_types" if pods and len(fitting) > 1 else ""
        return _refuse(f"{job.nodes} nodes, and site {self._site.name} {has} {most}{one}", ("nodes",))

    def _places(self, job: Job, index: int) -> int | None:
        """For how many of the job's nodes the group has room, None where that is not known."""
        group = self._site.node_types[index]
        size, room = self._size(index, group), gpukind.room(job, self._site, group, self.machine(index))
        return None if size is None or room is None else size * room

    def _alike(self, job: Job, one: int, other: int) -> bool:
        """Whether one set of options gets nodes of both: as many GPUs, all of them or slices of none, and one
        name in --gres."""
        if one == other:
            return True
        if self._site.scheduler != "slurm" or gpukind.slices(job, self._site):
            return False
        machines = self.machine(one), self.machine(other)
        options = {gpukind.gres(job, self._site, machine, len(machine.gpus)) for machine in machines}
        return len(options) == 1

    def _size(self, index: int, group: NodeGroup) -> int | None:
        if index not in self._sizes:
            if group.hosts is not None:
                self._sizes[index] = hosts.count(group.hosts)
            else:
                self._sizes[index] = 1 if self._site.scheduler == "local" else group.count
        return self._sizes[index]

    def _names(self, indexes: tuple[int, ...] | list[int]) -> str:
        return ", ".join(dict.fromkeys(self.machine(index).name for index in indexes))


def _refuse(message: str, path: Path) -> NoReturn:
    raise InputError([Problem(message, "job", path)])


def of_shapes(
    groups: Sequence[tuple[int, NodeGroup]], shapes: Sequence[NodeShape]
) -> list[tuple[int, NodeGroup]]:
    """For each shape of node the first of the groups that have it: those that differ in their hosts alone
    have one."""
    if len(groups) == len(shapes):
        return list(groups)
    named = [each for each in groups if each[1].hosts]
    return [
        next((each for each in named if shape.hosts.startswith(each[1].hosts or "")), groups[0])
        for shape in shapes
    ]
