"""The launch as processes of this machine, without a scheduler."""

from hpclaunch.plan import environment, hints, wrapper
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.launchplan import Common, LocalTarget

# The ranks bind themselves (Open MPI knows nothing of the plan), and more of them than cores is allowed, as
# it is where no scheduler divides the machine.
MPIRUN = ("mpirun", "--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE")


def target(job: Job, site: Site, machine: NodeType, common: Common) -> tuple[LocalTarget, list[str]]:
    """The target, and warnings: mpirun where the job speaks MPI, else the script starts each rank itself."""
    mpi = common.mpi != "none"
    settings = wrapper.settings(job, common, [machine], "openmpi" if mpi else "local", binds=True)
    exported = environment.for_the_host(common.environment) if mpi else ()
    beside = None
    if job.beside_ranks:
        from hpclaunch.plan import host_steps  # most jobs need not pay for it

        beside = host_steps.host(job, common, exported)
    local = LocalTarget(
        launcher=(*MPIRUN, "--np", str(common.ranks_per_node)) if mpi else (),
        wrapper=tuple(settings),
        keep=("PATH",),
        host_env=exported,
        beside=beside,
    )
    return local, hints.unheeded(job, site)
