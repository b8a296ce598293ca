"""Job + Site + node types -> LaunchPlan."""

import os.path
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from msgspec import structs

from hpclaunch.plan import environment, fabric, gpukind, mounts, shapes, size, unsuitable
from hpclaunch.plan.groups import Groups
from hpclaunch.spec.job import Bind, Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.topology import model
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.launchplan import Common, Container, LaunchPlan, LocalTarget, Mount, SlurmTarget
from hpclaunch.values.placement import Hca, NodeShape
from hpclaunch.values.pods import KubernetesTarget

if TYPE_CHECKING:
    from hpclaunch.plan.steps import Beside


class Planner:
    """Plans jobs for one site. `machines` holds the node type of each name that the site uses.

    Shapes of nodes are kept, so that many jobs that differ in little else than their environment cost one
    placement.
    """

    def __init__(self, site: Site, machines: Mapping[str, NodeType]):
        self.site = site
        self.machines = machines
        self.groups = Groups(site, machines)
        self._shapes: dict[tuple[int, int, int, Bind, bool], NodeShape] = {}

    def plan(self, job: Job) -> LaunchPlan:
        """The plan of `job` here. Raises InputError, with every problem found, where it cannot be."""
        if job.groups:
            from hpclaunch.plan import rankgroups  # most jobs need not pay for it

            # Not a subclass' plan: what that does to the job is done.
            return rankgroups.plan(partial(Planner.plan, self), self.site, job)
        site = self.site
        resolved, problems = mounts.resolve(job, site)
        problems += unsuitable.problems(job, site, self.machines)
        besides = _beside(job, site, resolved)
        with_spares = job
        if job.preflight is not None and site.scheduler == "slurm":
            with_spares = structs.replace(job, nodes=job.nodes + job.preflight.spares)
        if besides is not None:
            problems += besides.problems
        try:
            chosen, warnings = self.groups.choose(with_spares)
            first = self.groups.machine(chosen[0])
            gpus = len(first.gpus) if job.gpus_per_node is None else job.gpus_per_node
            ranks = job.ranks_per_node or max(gpus, 1)
            machines, on_nodes = self._shapes_of(job, chosen, gpus, ranks)
            visible = self._visible_hcas(job, chosen)
        except InputError as error:
            problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        if site.limits is not None:
            from hpclaunch.plan import limits  # few sites have any

            problems += limits.problems(with_spares, site, gpus)
            if problems:
                raise InputError(problems)
        if job.profile is not None:
            from hpclaunch.plan import profile

            problems += profile.problems(job, ranks)
            if problems:
                raise InputError(problems)
            warnings = [*warnings, *profile.warnings(job, resolved)]
        whole = self._whole(job, first, gpus)
        exclusive = whole or (site.slurm is not None and site.slurm.exclusive is True)
        fixed = environment.computed(job, site, gpus, visible) | fabric.variables(job, site)
        on_node = environment.computed_on_node(job, on_nodes, whole)
        of_trials = besides.variables if besides is not None else ()
        variables, replaced = environment.layered(
            job, site, machines, fixed, (*on_node, *of_trials), on_host=job.image is None
        )
        common = Common(
            name=job.name,
            nodes=job.nodes,
            ranks_per_node=ranks,
            gpus_per_node=gpus,
            shapes=on_nodes,
            whole_node=whole,
            argv=("/bin/sh", "-c", job.command) if isinstance(job.command, str) else job.command,
            cwd=_cwd(job),
            environment=variables,
            inherit=tuple(name for name in job.inherit if name not in job.env),
            secrets=job.secrets,
            container=self._container(job, resolved),
            mpi=job.mpi,
            rendezvous=job.rendezvous,
            minutes=job.time,
            verify=job.verify,
        )
        if job.long_run:
            from hpclaunch.plan import longrun  # most jobs need not pay for it

            common = structs.replace(common, long_run=longrun.of_job(job))
            if site.scheduler != "slurm":
                warnings = [*warnings, *longrun.unheeded(job, site.scheduler)]
        if job.preflight is not None and site.scheduler != "slurm":
            from hpclaunch.plan import preflight

            warnings = [*warnings, preflight.unheeded(site.scheduler)]
        if besides is not None:
            common = _with(common, besides)
            warnings = [*besides.warnings, *warnings]
        target: SlurmTarget | KubernetesTarget | LocalTarget
        # Each scheduler's part is imported where it plans: nobody pays for the others.
        if site.scheduler == "slurm":
            from hpclaunch.plan import slurm

            target, more = slurm.target(job, site, machines, common, exclusive)
        elif site.scheduler == "kubernetes":
            from hpclaunch.plan import kubernetes

            target, more = kubernetes.target(job, site, machines[0], chosen[0], common)
        else:
            from hpclaunch.plan import local

            target, more = local.target(job, site, machines[0], common)
            more += fabric.without_scheduler(job)
        too_large = size.problems(common, target)
        if too_large:
            raise InputError(too_large)
        unnamed = _unnamed(job, machines)
        return LaunchPlan(site.name, site.scheduler, common, target, (*replaced, *more, *warnings, *unnamed))

    def _whole(self, job: Job, machine: NodeType, gpus: int) -> bool:
        """Whether the job has nodes to itself. A site may forbid that; MIG slices are never all of a node."""
        forbidden = self.site.slurm is not None and self.site.slurm.exclusive is False
        return gpus == len(machine.gpus) and not forbidden and not gpukind.slices(job, self.site)

    def _shapes_of(
        self, job: Job, chosen: tuple[int, ...], gpus: int, ranks: int
    ) -> tuple[list[NodeType], tuple[NodeShape, ...]]:
        """One shape for each group, with its machine; groups that differ in their hosts alone are one."""
        hosts: dict[tuple[str, NodeShape], list[str]] = {}
        for index in chosen:
            shape = self._shape(job, index, gpus, ranks)
            name = self.site.node_types[index].type
            hosts.setdefault((name, structs.replace(shape, hosts="")), []).append(shape.hosts)
        machines = [self.machines[name] for name, _ in hosts]
        return machines, tuple(
            structs.replace(shape, hosts=",".join(lists)) for (_, shape), lists in hosts.items()
        )

    def _shape(self, job: Job, index: int, gpus: int, ranks: int) -> NodeShape:
        slices = gpukind.slices(job, self.site)
        key = (index, gpus, ranks, job.bind, slices)
        if key not in self._shapes:
            group, machine = self.site.node_types[index], self.groups.machine(index)
            if slices:
                self._shapes[key] = shapes.with_slices(machine, group, gpus, ranks, job.bind)
            else:
                whole, hcas = self._whole(job, machine, gpus), self._hcas(index)
                self._shapes[key] = shapes.shape(machine, group, hcas, gpus, ranks, job.bind, whole)
        return self._shapes[key]

    def _hcas(self, index: int) -> tuple[Hca, ...]:
        try:
            return model.named_hcas(self.groups.machine(index), self.site.node_types[index].variant)
        except InputError as error:
            raise InputError([Problem(str(error), "site", ("node_types", index, "variant"))]) from None

    def _visible_hcas(self, job: Job, chosen: tuple[int, ...]) -> str:
        """The value of MELLANOX_VISIBLE_DEVICES, one for all nodes, or "" where the job does not ask for
        it."""
        if job.container.hcas != "compute":
            return job.container.hcas or ""
        found: dict[str, str] = {}
        for index in chosen:
            group, machine = self.site.node_types[index], self.groups.machine(index)
            numbers = ",".join(map(str, model.visible_devices(machine, group.variant)))
            found.setdefault(numbers, machine.name + (f" ({group.variant})" if group.variant else ""))
        if "" in found:
            _refuse(f"no compute HCA of a {found['']} is known", ("container", "hcas"))
        if len(found) > 1:
            _refuse(
                "the compute HCAs have other numbers on each node type "
                f"({'; '.join(f'{name}: {numbers}' for numbers, name in found.items())}): choose one with "
                f"sites.{self.site.name}.node_type, or write hcas: all",
                ("container", "hcas"),
            )
        return next(iter(found))

    def _container(self, job: Job, resolved: tuple[Mount, ...]) -> Container | None:
        spec, name = job.container, job.image_name
        if name is None:
            return None
        if self.site.scheduler == "kubernetes":
            from hpclaunch.plan.kubernetes import unsuitable as of_pods

            name = of_pods.image(name)
        return Container(
            image=name,
            mounts=resolved,
            workdir=job.workdir or "",
            writable=spec.writable,
            mount_home=spec.mount_home,
            remap_root=spec.remap_root,
            entrypoint=spec.entrypoint,
            env=spec.env,
            save=os.path.normpath(os.path.join(job.directory, spec.save)) if spec.save else "",
        )


def _unnamed(job: Job, machines: Sequence[NodeType]) -> list[str]:
    """A warning for each node type with HCAs of which nothing tells the names: no rank can be given one."""
    if job.bind.hcas == "none":
        return []
    nameless = [
        machine.name
        for machine in machines
        if not machine.variants and any(hca.use == "compute" for hca in machine.hcas)
    ]
    return [
        f"no rank gets an HCA of a {name}: its node type has their addresses, and no variant with names"
        for name in dict.fromkeys(nameless)
    ]


def _beside(job: Job, site: Site, resolved: Sequence[Mount]) -> "Beside | None":
    """What the job does beside starting its ranks once, None for most jobs, which need not pay for it."""
    if not job.beside_ranks:
        return None
    from hpclaunch.plan import steps

    return steps.beside(job, site, resolved)


def _with(common: Common, besides: "Beside") -> Common:
    box = common.container
    return structs.replace(
        common,
        container=structs.replace(box, shared=besides.shared) if box is not None else None,
        stage_in=besides.stage_in,
        steps=besides.steps,
        trials=besides.trials,
    )


def _cwd(job: Job) -> str:
    """On the host, relative to the job file as every path in it is; in a container, the container's."""
    if job.image is not None:
        return job.workdir or ""
    return os.path.normpath(os.path.join(job.directory, job.workdir or ""))


def _refuse(message: str, path: Path) -> NoReturn:
    raise InputError([Problem(message, "job", path)])
