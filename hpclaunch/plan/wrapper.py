"""The settings of the rank wrapper (rank/wrapper.sh), which are the same on every scheduler."""

from hpclaunch.values.launchplan import Common, Option


def settings(common: Common, rank_from: str) -> list[Option]:
    """The settings. `rank_from` says where a rank's number comes from: slurm, openmpi or local."""
    found = [Option(f"from={rank_from}")]
    if common.rendezvous == "torch":
        found.append(Option("rendezvous=torch"))
    if any(variable.name == "NCCL_IB_HCA" for variable in common.environment):
        found += _hcas(common)
    if common.container is None:
        found.append(Option(f"cwd={common.cwd}"))
    return found


def _hcas(common: Common) -> list[Option]:
    """UCX_NET_DEVICES of each local rank, and the limit that InfiniBand needs."""
    ports = {hca.name: hca.port for hca in common.shape.hcas}
    per_rank = [",".join(f"{name}:{ports[name]}" for name in seat.hcas) for seat in common.shape.seats]
    found = []
    if any(per_rank):
        found.append(Option("ucx=" + ";".join(per_rank), "UCX_NET_DEVICES of each local rank"))
    # Verbs pin the buffers that they send from; below this a job dies in ibv_reg_mr, far from the cause.
    found.append(Option("memlock=1048576", "KiB that InfiniBand must be able to pin"))
    return found
