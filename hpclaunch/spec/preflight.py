"""The keys of a job that has its nodes checked before its ranks start."""

from msgspec import Struct


class PreflightSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """What of each node is checked: the number of GPUs and their ECC errors; the ports of HCAs, their rate
    and the memlock limit; the bandwidth of an all_reduce among the node's GPUs, and between nodes. The job
    asks for `spares` nodes more than its ranks need, and those that are bad are left out. `limit` is how long
    each check may take, in seconds, read from the forms of `time`: a node that has said nothing by then is
    bad."""

    gpu: bool = True
    hca: bool = True
    nccl: bool = False
    spares: int = 0
    limit: int = 120


class PreflightSite(Struct, frozen=True, forbid_unknown_fields=True):
    """What the site knows of its nodes: the bus bandwidth in GB/s that an all_reduce among the GPUs of one
    must reach, that of one over several nodes, and the command that measures them, unless it is the
    all_reduce_perf of NVIDIA's nccl-tests. It prints what they do ("# Avg bus bandwidth : N"): over nodes one
    task of it runs on each, as an MPI world, and the first alone prints."""

    all_reduce_gbs: int | None = None
    between_nodes_gbs: int | None = None
    command: tuple[str, ...] = ()
