"""Made-up machines for property tests."""

from hypothesis import strategies as st

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.values.cpulist import format_list

SWITCHES = ("", "a", "b", "a/0", "a/1", "a/1/0", "b/0", "b/1")


@st.composite
def machines(
    draw: st.DrawFn, gpus: tuple[int, int] = (0, 9), hcas: tuple[int, int] = (0, 10), most_cores: int = 9
) -> NodeType:
    """One or two sockets, up to four NUMA nodes each, one or two threads a core, last-level caches of any one
    size where they are known, GPUs and HCAs anywhere, distances as they come or none. `gpus` and `hcas` are
    the least and the most."""
    sockets = draw(st.integers(1, 2))
    per_socket = draw(st.integers(1, 4))
    cores = draw(st.integers(1, most_cores))
    threads = draw(st.integers(1, 2))
    behind_cache = draw(st.none() | st.integers(1, cores))
    total = sockets * per_socket * cores
    numa = tuple(
        NumaNode(
            node=node,
            socket=node // per_socket,
            threads=tuple(
                f"{t * total + node * cores}-{t * total + node * cores + cores - 1}" for t in range(threads)
            ),
            l3=_caches(range(node * cores, (node + 1) * cores), behind_cache, threads, total),
        )
        for node in range(sockets * per_socket)
    )
    places = st.sampled_from([node.node for node in numa])
    switches = st.sampled_from(SWITCHES)
    return NodeType(
        "made-up",
        "a machine for tests",
        numa,
        gpus=tuple(
            GpuSpec(f"0000:{index + 1:02x}:00.0", draw(places), draw(switches))
            for index in range(draw(st.integers(*gpus)))
        ),
        hcas=(
            found := tuple(
                HcaSpec(f"0000:{index + 64:02x}:00.0", draw(places), switch=draw(switches))
                for index in range(draw(st.integers(*hcas)))
            )
        ),
        variants={
            "all": Variant("made up", {hca.pci: f"mlx5_{index}" for index, hca in enumerate(found)}, True)
        }
        if found
        else {},
        distances=draw(st.just(()) | _distances(len(numa))),
    )


def _caches(cores: range, size: int | None, threads: int, total: int) -> tuple[str, ...]:
    if size is None:
        return ()
    groups = [cores[start : start + size] for start in range(0, len(cores), size)]
    return tuple(format_list(t * total + core for t in range(threads) for core in group) for group in groups)


@st.composite
def _distances(draw: st.DrawFn, nodes: int) -> tuple[tuple[int, ...], ...]:
    far = {(a, b): draw(st.sampled_from((11, 12, 20, 32))) for a in range(nodes) for b in range(a + 1, nodes)}
    return tuple(
        tuple(10 if a == b else far[min(a, b), max(a, b)] for b in range(nodes)) for a in range(nodes)
    )
