"""What differs between the ranks of two sides, and whether that is only what must."""

from collections.abc import Iterator, Mapping, Set

import left_out
from both_sides import Ran
from recorded_ranks import Rank

# As the sites say it, Slurm's first.
NETWORK = {
    "NCCL_SOCKET_IFNAME": (b"lo", b"eth0"),
    "GLOO_SOCKET_IFNAME": (b"lo", b"eth0"),
    "OMPI_MCA_btl_tcp_if_include": (b"lo", b"eth0"),
}


def between(slurm: Ran, pods: Ran, own: Set[str], name: str) -> list[str]:
    """Every difference. `own` are the names that the job sets: none of them is a scheduler's. `name` is what
    the job is called in Kubernetes."""
    found = []
    if slurm.status != pods.status:
        found.append(f"exit status {slurm.status} and {pods.status}")
    if len(slurm.ranks) != len(pods.ranks):
        return [*found, f"{len(slurm.ranks)} ranks and {len(pods.ranks)}"]
    for number, (here, there) in enumerate(zip(slurm.ranks, pods.ranks, strict=True)):
        found += [f"rank {number}: {what}" for what in _of_rank(here, there, own)]
    if "MASTER_ADDR" not in own:
        several = len(pods.given) > 1
        found += _rendezvous(slurm, slurm.ranks[0].ran[0].env[b"SLURMD_NODENAME"].decode())
        found += _rendezvous(pods, f"{name}-worker-0.{name}.made-up.svc" if several else "127.0.0.1")
    return found


def _of_rank(here: Rank, there: Rank, own: Set[str]) -> Iterator[str]:
    for what in ("node", "local", "cpus", "memory"):
        if getattr(here, what) != getattr(there, what):
            yield f"{what}: {getattr(here, what)} and {getattr(there, what)}"
    if len(here.ran) != len(there.ran):
        yield f"{len(here.ran)} processes and {len(there.ran)}"
    for mine, theirs in zip(here.ran, there.ran, strict=False):
        for what in ("argv", "cwd"):
            if getattr(mine, what) != getattr(theirs, what):
                yield f"{what}: {getattr(mine, what)} and {getattr(theirs, what)}"
        yield from _of_environment(
            left_out.compared(mine.env, left_out.SLURM, own),
            left_out.compared(theirs.env, left_out.PODS, own),
            own,
        )


def _of_environment(here: Mapping[str, bytes], there: Mapping[str, bytes], own: Set[str]) -> Iterator[str]:
    for name in sorted({*here, *there} - ({"MASTER_ADDR", "MASTER_PORT"} - own)):
        expected = here.get(name)
        if name in NETWORK and name not in own and expected == NETWORK[name][0]:
            expected = NETWORK[name][1]
        if there.get(name) != expected:
            yield f"{name}: {here.get(name)!r} and {there.get(name)!r}"


def _rendezvous(ran: Ran, first: str) -> Iterator[str]:
    """Where there is one all ranks name the first node, and one port."""
    told = {
        (each.env.get(b"MASTER_ADDR"), each.env.get(b"MASTER_PORT"))
        for rank in ran.ranks
        for each in rank.ran
    }
    if len(told) != 1:
        yield f"ranks have several rendezvous: {told}"
    elif told != {(None, None)} and next(iter(told))[0] != first.encode():
        yield f"the rendezvous is {told}, and the first node {first}"
