"""The launch as processes of this machine, without a scheduler."""

from hpclaunch.plan import environment, wrapper
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import Common, LocalTarget, Option

# The ranks bind themselves (Open MPI knows nothing of the plan), and more of them than cores is allowed, as
# it is where no scheduler divides the machine.
MPIRUN = ("mpirun", "--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE")


def target(job: Job, site: Site, machine: NodeType, common: Common) -> tuple[LocalTarget, list[str]]:
    """The target, and warnings: mpirun where the job speaks MPI, else the script starts each rank itself."""
    mpi = common.mpi != "none"
    settings = wrapper.settings(common, "openmpi" if mpi else "local")
    seats = common.shape.seats
    if any(seat.cpus for seat in seats):
        cpus = ";".join(format_list(seat.cpus) for seat in seats)
        settings.append(Option(f"cpus={cpus}", "the cores of each rank"))
    if len(machine.numa) > 1 and any(seat.mems for seat in seats):
        policy = "preferred" if job.bind.memory == "prefer" else "membind"
        mems = ";".join(format_list(seat.mems) for seat in seats)
        settings.append(Option(f"{policy}={mems}", "the NUMA nodes of each rank's memory"))
    hints = job.sites.get(site.name, SiteHints())
    unheeded = [
        name for name in hints.__struct_fields__ if getattr(hints, name) != getattr(SiteHints(), name)
    ]
    warnings = [f"sites.{site.name}.{name} means nothing here: there is no scheduler" for name in unheeded]
    local = LocalTarget(
        launcher=(*MPIRUN, "--np", str(common.ranks_per_node)) if mpi else (),
        wrapper=tuple(settings),
        keep=("PATH",),
        host_env=environment.for_the_host(common.environment) if mpi else (),
    )
    return local, warnings
