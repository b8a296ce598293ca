"""The settings of the rank wrapper (hpclaunch/rank), which are the same on every scheduler.

Those of a table say what ranks have on one kind of node. Where the job may get nodes of several kinds each
table begins with its hosts, and the wrapper takes the one of the host that it is on.
"""

from collections.abc import Iterable, Sequence

from hpclaunch.plan.caches import Core
from hpclaunch.spec.job import Bind, Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import Common
from hpclaunch.values.placement import Gpu, NodeShape
from hpclaunch.values.words import Option


def settings(
    job: Job, common: Common, machines: Sequence[NodeType], rank_from: str, binds: bool
) -> list[Option]:
    """The settings. `machines` are the node types of the shapes; `rank_from` says where a rank's number
    comes from: slurm, openmpi, hydra or local; `binds` whether the wrapper binds ranks on whole nodes, as it
    always does on parts of nodes."""
    found = [Option(f"from={rank_from}")]
    if common.rendezvous == "torch":
        found.append(Option("rendezvous=torch"))
    if common.container is None:
        found.append(Option(f"cwd={common.cwd}"))
    infiniband = job.bind.hcas != "none" and any(shape.hcas for shape in common.shapes)
    if infiniband or "NCCL_IB_HCA" in job.env:
        # Verbs pin the buffers that they send from; below this a job dies in ibv_reg_mr, far from the cause.
        found.append(Option("memlock=1048576", "KiB that InfiniBand must be able to pin"))
    if infiniband and job.bind.hcas == "strict":
        found.append(Option("strict=1", "an HCA that cannot be used ends the job"))
    if infiniband and job.mpi != "none":
        found.append(Option("openib=1", "OMPI_MCA_btl_openib_if_include, for Open MPI 4 and older"))
    if job.verify:
        found.append(Option("verify=1", "each rank reports where it is"))
    if job.profile is not None:
        from hpclaunch.plan import profile  # most jobs need not pay for it

        found += profile.settings(job, common)
    for machine, shape in zip(machines, common.shapes, strict=True):
        memory = job.bind.memory != "none" and len(machine.numa) > 1
        if len(common.shapes) > 1:
            found.append(
                Option(f"hosts={shape.hosts}", f"up to the next hosts= for nodes of type {shape.node_type}")
            )
        if shape.hcas and job.bind.hcas != "none":
            found += _hcas(shape, common.whole_node)
        if not common.whole_node:
            found += _part(job.bind, shape, memory)
        elif binds:
            found += _whole(job.bind, shape, memory)
    return found


def _hcas(shape: NodeShape, whole: bool) -> list[Option]:
    entries = " ".join(f"{hca.name}/{hca.pci}/{hca.port}/{hca.link_layer}" for hca in shape.hcas)
    found = [
        Option(
            f"hcas={entries}", "NAME/PCI/PORT/LINK of the compute HCAs: names as expected, addresses count"
        )
    ]
    # Without these a rank has the HCAs of its GPUs, which on a part of a node are found there.
    if whole or any(seat.hcas for seat in shape.seats):
        orders = (f"{len(seat.hcas)}:{_indexes(shape, seat.hcas + seat.next_hcas)}" for seat in shape.seats)
        found.append(
            Option(
                "near=" + ";".join(orders), "for each rank how many it uses, and which, from the nearest on"
            )
        )
    return found


def _whole(bind: Bind, shape: NodeShape, memory: bool) -> list[Option]:
    """All of a node: each rank's own."""
    found = []
    if any(seat.cpus for seat in shape.seats):
        cpus = ";".join(format_list(seat.cpus) for seat in shape.seats)
        found.append(Option(f"cpus={cpus}", "the CPUs of each rank"))
    if memory:
        mems = ";".join(format_list(seat.mems) for seat in shape.seats)
        found.append(Option(f"{_policy(bind)}={mems}", "the NUMA nodes of each rank's memory"))
    return found


def _part(bind: Bind, shape: NodeShape, memory: bool) -> list[Option]:
    """A part of a node: what the wrapper needs to find it. The ranks divide what Slurm gave to the job."""
    bound = ["cpus"] if bind.cpus != "none" else []
    bound += [_policy(bind)] if memory else []
    found = []
    if bound and shape.cores:
        cores = " ".join(
            f"{each.pool}.{each.node}:{columns}" for each in shape.cores for columns in _columns(each.cores)
        )
        found.append(
            Option(
                f"cores={cores}",
                "POOL.NUMA:CPUs/SIBLINGS that jobs may use; GPUs divide the pool that they are nearest to",
            )
        )
    nearest = bool(shape.hcas) and bind.hcas in ("nearest", "strict")
    if any(seat.gpus for seat in shape.seats) and shape.gpus and (bound or nearest):
        gpus = " ".join(_gpu(shape, gpu, nearest) for gpu in shape.gpus)
        found.append(
            Option(f"gpus={gpus}", "PCI|POOLS|HCAS of the node's GPUs, pools and HCAs from the nearest on")
        )
    if found:
        seats = ";".join(format_list(seat.gpus) for seat in shape.seats)
        found.append(Option(f"seats={seats}", "for each rank which of the job's GPUs on the node"))
    if bound and shape.cores:
        found.append(Option(f"part={','.join(bound)}", "what is bound"))
    return found


def _gpu(shape: NodeShape, gpu: Gpu, nearest: bool) -> str:
    return f"{gpu.pci}|{_list(gpu.pools)}|{_indexes(shape, gpu.hcas) if nearest else ''}"


def _columns(cores: Sequence[Core]) -> list[str]:
    """One CPU list for each thread of these cores, such that entry i of all lists is one core:
    "48-63/176-191". Cores with another number of threads, or whose numbers do not rise with those before,
    begin lists of their own, since a CPU list is read in rising order."""
    blocks: list[list[Core]] = []
    for core in cores:
        last = blocks[-1][-1] if blocks else ()
        if len(last) != len(core) or any(cpu <= before for cpu, before in zip(core, last, strict=True)):
            blocks.append([])
        blocks[-1].append(core)
    return ["/".join(map(format_list, zip(*block, strict=True))) for block in blocks]


def _indexes(shape: NodeShape, names: Iterable[str]) -> str:
    numbers = {hca.name: index for index, hca in enumerate(shape.hcas)}
    return _list(numbers[name] for name in names)


def _list(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _policy(bind: Bind) -> str:
    return "preferred" if bind.memory == "prefer" else "membind"
