"""Made-up machines for property tests."""

from hypothesis import strategies as st

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant


@st.composite
def machines(draw: st.DrawFn) -> NodeType:
    """One or two sockets, up to four NUMA nodes each, one or two threads a core, GPUs and HCAs anywhere."""
    sockets = draw(st.integers(1, 2))
    per_socket = draw(st.integers(1, 4))
    cores = draw(st.integers(1, 6))
    threads = draw(st.integers(1, 2))
    total = sockets * per_socket * cores
    numa = tuple(
        NumaNode(
            node=node,
            socket=node // per_socket,
            threads=tuple(
                f"{t * total + node * cores}-{t * total + node * cores + cores - 1}" for t in range(threads)
            ),
        )
        for node in range(sockets * per_socket)
    )
    places = st.sampled_from([node.node for node in numa])
    gpus = tuple(
        GpuSpec(f"0000:{index + 1:02x}:00.0", draw(places), draw(st.sampled_from(["", "a", "b"])))
        for index in range(draw(st.integers(0, 9)))
    )
    hcas = tuple(
        HcaSpec(f"0000:{index + 64:02x}:00.0", draw(places), switch=draw(st.sampled_from(["", "a", "b"])))
        for index in range(draw(st.integers(0, 10)))
    )
    names = {hca.pci: f"mlx5_{index}" for index, hca in enumerate(hcas)}
    variants = {"all": Variant("made up", names, default=True)} if names else {}
    return NodeType("made-up", "a machine for tests", numa, gpus=gpus, hcas=hcas, variants=variants)
