"""A node type as a picture shows it."""

from hpclaunch.spec.nodetype import NodeType, NumaNode
from hpclaunch.topology import model
from hpclaunch.values import cpulist
from hpclaunch.values.outline import GpuOutline, HcaOutline, NumaOutline, Outline, SocketOutline


def outline(node_type: NodeType, variant: str | None, reserved: str = "") -> Outline:
    """The machine with the HCA names of `variant` (None: the default one). `reserved` are the CPUs that the
    site keeps from jobs, as a kernel list.

    An HCA that the variant does not name is not there. Raises InputError for a variant that the type does
    not have.
    """
    sockets = sorted({node.socket for node in node_type.numa})
    return Outline(
        name=node_type.name,
        description=node_type.description,
        sockets=tuple(
            SocketOutline(
                socket,
                tuple(
                    _numa(node_type, node)
                    for node in sorted(node_type.numa, key=lambda node: node.node)
                    if node.socket == socket
                ),
            )
            for socket in sockets
        ),
        gpus=tuple(
            GpuOutline(index, gpu.pci, gpu.numa, _path(gpu.switch))
            for index, gpu in enumerate(node_type.gpus)
        ),
        hcas=_hcas(node_type, variant),
        reserved=cpulist.parse(reserved),
    )


def _numa(node_type: NodeType, node: NumaNode) -> NumaOutline:
    cores = model.cores(node_type, node.node)
    caches = [frozenset(cpulist.parse(text)) for text in node.l3]
    cache_of = {
        core: next((index for index, cpus in enumerate(caches) if core[0] in cpus), len(caches))
        for core in cores
    }
    ordered = tuple(sorted(cores, key=lambda core: (cache_of[core], core)))
    return NumaOutline(
        node=node.node,
        cores=ordered,
        caches=tuple(cache_of[core] for core in ordered) if caches else (),
        memory_gib=node.memory_gib,
    )


def _hcas(node_type: NodeType, variant: str | None) -> tuple[HcaOutline, ...]:
    """In PCI order. A type without variants has HCAs without names."""
    names = model.device_names(node_type, variant)
    return tuple(
        HcaOutline(
            name=names.get(hca.pci, ""),
            pci=hca.pci,
            numa=hca.numa,
            switch=_path(hca.switch),
            use=hca.use,
            link_layer=hca.link_layer,
            rate_gbps=hca.rate_gbps,
        )
        for hca in model.hcas(node_type, variant)
    )


def _path(switch: str) -> tuple[str, ...]:
    return tuple(part for part in switch.split("/") if part)
