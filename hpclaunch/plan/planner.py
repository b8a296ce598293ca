"""Job + Site + node types -> LaunchPlan."""

import os.path
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.plan import environment, fabric, mounts, size, unsuitable
from hpclaunch.plan.nodes import Chosen, Nodes, with_spares
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import Common, Container, LaunchPlan, LocalTarget, Mount, SlurmTarget
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.words import EnvVar

if TYPE_CHECKING:
    from hpclaunch.plan.steps import Beside


class Planner:
    """Plans jobs for one site. `machines` holds the node type of each name that the site uses."""

    def __init__(self, site: Site, machines: Mapping[str, NodeType]):
        self.site = site
        self.machines = machines
        self._nodes = Nodes(site, machines)

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
        if besides is not None:
            problems += besides.problems
        try:
            nodes = self._nodes.choose(job)
        except InputError as error:
            problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        _refuse_size(job, site, nodes)
        variables, replaced = self._environment(job, nodes, besides)
        common = self._common(job, nodes, resolved, variables)
        if besides is not None:
            common = _with(common, besides)
        target, of_target = self._target(job, nodes, common)
        too_large = size.problems(common, target)
        if too_large:
            raise InputError(too_large)
        warnings = (
            *replaced,
            *of_target,
            *(besides.warnings if besides is not None else ()),
            *nodes.warnings,
            *_unheeded(job, site, resolved),
            *_unnamed(job, nodes.machines),
        )
        return LaunchPlan(site.name, site.scheduler, common, target, warnings)

    def _environment(
        self, job: Job, nodes: Chosen, besides: "Beside | None"
    ) -> tuple[tuple[EnvVar, ...], list[str]]:
        """The ranks' variables, and a warning for each that the job has in place of a computed one."""
        fixed = environment.computed(job, self.site, nodes.gpus, nodes.visible_hcas)
        fixed |= fabric.variables(job, self.site)
        on_node = environment.computed_on_node(job, nodes.shapes, nodes.whole)
        of_trials = besides.variables if besides is not None else ()
        return environment.layered(
            job, self.site, nodes.machines, fixed, (*on_node, *of_trials), on_host=job.image is None
        )

    def _common(
        self, job: Job, nodes: Chosen, resolved: tuple[Mount, ...], variables: tuple[EnvVar, ...]
    ) -> Common:
        """What is launched, but for what the job does beside its ranks."""
        common = Common(
            name=job.name,
            nodes=job.nodes,
            ranks_per_node=nodes.ranks,
            gpus_per_node=nodes.gpus,
            shapes=nodes.shapes,
            whole_node=nodes.whole,
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
        if not job.long_run:
            return common
        from hpclaunch.plan import longrun  # most jobs need not pay for it

        return structs.replace(common, long_run=longrun.of_job(job))

    def _target(
        self, job: Job, nodes: Chosen, common: Common
    ) -> tuple[SlurmTarget | KubernetesTarget | LocalTarget, list[str]]:
        """The launch in the words of the site's scheduler, and warnings. Each scheduler's part is imported
        where it plans: nobody pays for the others."""
        site, first = self.site, nodes.machines[0]
        if site.scheduler == "slurm":
            from hpclaunch.plan import slurm

            exclusive = nodes.whole or (site.slurm is not None and site.slurm.exclusive is True)
            return slurm.target(job, site, nodes.machines, common, exclusive)
        if site.scheduler == "kubernetes":
            from hpclaunch.plan import kubernetes

            return kubernetes.target(job, site, first, nodes.groups[0], common)
        from hpclaunch.plan import local

        target, warnings = local.target(job, site, first, common)
        return target, [*warnings, *fabric.without_scheduler(job)]

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


def _refuse_size(job: Job, site: Site, nodes: Chosen) -> None:
    """Raises InputError for what is wrong where the job has this size."""
    if site.limits is not None:
        from hpclaunch.plan import limits  # few sites have any

        problems = limits.problems(with_spares(job, site), site, nodes.gpus)
        if problems:
            raise InputError(problems)
    if job.profile is not None:
        from hpclaunch.plan import profile

        problems = profile.problems(job, nodes.ranks)
        if problems:
            raise InputError(problems)


def _unheeded(job: Job, site: Site, resolved: Sequence[Mount]) -> Iterator[str]:
    """Warnings for keys that only some jobs have: what comes of a profile, and what another scheduler than
    Slurm does nothing with."""
    if job.profile is not None:
        from hpclaunch.plan import profile

        yield from profile.warnings(job, resolved)
    if job.long_run and site.scheduler != "slurm":
        from hpclaunch.plan import longrun

        yield from longrun.unheeded(job, site.scheduler)
    if job.preflight is not None and site.scheduler != "slurm":
        from hpclaunch.plan import preflight

        yield preflight.unheeded(site.scheduler)


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
