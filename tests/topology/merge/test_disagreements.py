"""Captures that do not fit together are refused with both sources; what nothing tells is said."""

from collections.abc import Callable

import captured
import pytest
from msgspec import structs

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import captures, catalogue, nodetypetext
from hpclaunch.topology.merge.machine import Merged, merge
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError

A100 = catalogue.load("dgx-a100").value
H100 = catalogue.load("dgx-h100").value


def read(**texts: str) -> list[Seen]:
    return [one for name, text in texts.items() for one in captures.read(text, f"{name}.txt").seen]


def merged(**texts: str) -> Merged:
    return merge(read(**texts), "made")


def refused(**texts: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        merged(**texts)
    return [str(problem) for problem in caught.value.problems]


def moved(machine: NodeType, gpu: int, numa: int) -> NodeType:
    gpus = list(machine.gpus)
    gpus[gpu] = structs.replace(gpus[gpu], numa=numa)
    return structs.replace(machine, gpus=tuple(gpus))


def test_a_gpu_on_two_numa_nodes() -> None:
    lines = refused(
        cpus=captured.lscpu(A100),
        pci=captured.lspci_vmm(A100),
        topo=captured.topo_m(moved(A100, 0, 1)),
    )
    assert lines == [
        "contradiction: NUMA node of GPU 0 (0000:07:00.0): 3 in pci.txt:1 (lspci -vmm), "
        "but 1 in topo.txt:2 (nvidia-smi topo)"
    ]


def test_cpus_of_a_numa_node() -> None:
    lines = refused(a=captured.lscpu(A100), b=captured.numactl(A100).replace(" 143\n", "\n"))
    assert lines[0].startswith("contradiction: CPUs of NUMA node 0: 0-15,128-143 in a.txt")
    assert "but 0-15,128-142 in b.txt:2 (numactl)" in lines[0]


def test_siblings() -> None:
    """The same CPUs, but neighbours share a core: another machine, or another setting of its firmware."""
    other = structs.replace(
        H100,
        numa=tuple(
            structs.replace(
                node,
                threads=(
                    ",".join(str(cpu) for cpu in range(first, first + 56, 2))
                    + ","
                    + ",".join(str(cpu) for cpu in range(first + 112, first + 168, 2)),
                    ",".join(str(cpu) for cpu in range(first + 1, first + 56, 2))
                    + ","
                    + ",".join(str(cpu) for cpu in range(first + 113, first + 168, 2)),
                ),
            )
            for node, first in zip(H100.numa, (0, 56), strict=True)
        ),
    )
    lines = refused(a=captured.lscpu_e(H100), b=captured.lscpu_e(other))
    assert lines == [
        "contradiction: core of CPU 0: shared by CPUs 0,112 in a.txt:2 (lscpu), but 0-1 in b.txt:2 (lscpu)"
    ]


def test_names_that_moved() -> None:
    """The machine got a card between the two captures: every later name is another."""
    fewer = structs.replace(A100, variants={"x": structs.replace(A100.variants["10-device"], default=True)})
    lines = refused(a=captured.lscpu(A100), b=captured.ibdev2netdev(A100), c=captured.ibdev2netdev(fewer))
    assert "PCI address of mlx5_4: 0000:61:00.0 in b.txt:5 (ibdev2netdev), but 0000:8d:00.0 in c.txt:5" in (
        "\n".join(lines)
    )


def test_number_of_gpus() -> None:
    half = structs.replace(A100, gpus=A100.gpus[:4])
    lines = refused(a=captured.lscpu(A100), b=captured.lspci_vmm(A100), c=captured.topo_m(half))
    assert lines == [
        "contradiction: number of GPUs: 8 in b.txt:1 (lspci -vmm), but 4 in c.txt:2 (nvidia-smi topo)"
    ]


def test_levels_and_bridges() -> None:
    """nvidia-smi puts GPU 0 beside the HCAs of GPU 2; the bridges say otherwise."""
    gpus = list(A100.gpus)
    gpus[0] = structs.replace(gpus[0], switch="pex1")
    wrong = structs.replace(A100, gpus=tuple(gpus))
    lines = refused(a=captured.hwloc(A100), b=captured.topo_m(wrong))
    assert (
        "contradiction: distance of GPU0 and mlx5_0: NODE in b.txt:2 (nvidia-smi topo), but by their bridges"
        in (lines[0])
    )


def test_distances_and_rates() -> None:
    lines = refused(
        a=captured.lscpu(A100),
        b=captured.numactl(A100),
        c=captured.numactl(A100).replace("  12  12  32", "  11  12  32", 1),
    )
    assert [line for line in lines if "distance of NUMA nodes" in line]
    slow = structs.replace(A100, hcas=(structs.replace(A100.hcas[0], rate_gbps=100), *A100.hcas[1:]))
    lines = refused(a=captured.hwloc(A100), b=captured.ibstat(slow), c=captured.ibstat(A100))
    assert lines == [
        "contradiction: rate of mlx5_0 (0000:0c:00.0) in Gb/s: 100 in b.txt:4 (ibstat), "
        "but 200 in c.txt:4 (ibstat)"
    ]
    # NCCL only computes it.
    found = merged(a=captured.hwloc(A100), b=captured.ibstat(slow), c=captured.nccl(A100))
    assert found.node_type.hcas[0].rate_gbps == 100
    assert any("200 in c.txt" in line and "100 in b.txt" in line for line in found.warnings)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ((captured.topo_m,), "the CPUs of each NUMA node: no capture tells them; add `lscpu -e`"),
        ((captured.numactl,), "which CPUs share a core: no capture tells how many threads a core has"),
        ((captured.lscpu, captured.lspci_tv), "the NUMA node of GPU 0 (0000:07:00.0), GPU 1"),
    ],
    ids=["no CPUs", "no threads", "no NUMA nodes of GPUs"],
)
def test_what_a_node_type_cannot_be_without(texts: tuple[Callable[[NodeType], str], ...], says: str) -> None:
    lines = refused(**{f"file{index}": text(A100) for index, text in enumerate(texts)})
    assert any(line.startswith("missing: ") and says in line for line in lines)


def test_even_and_odd_numbers_are_not_taken_for_the_usual() -> None:
    """Dell numbers sockets in turn: the summary does not tell which CPUs share a core."""
    dell = catalogue.load("dell-dss8440-8").value
    assert any("are not numbered as usual" in line for line in refused(a=captured.lscpu(dell)))
    found = merged(a=captured.lscpu_e(dell)).node_type
    assert found.numa == tuple(structs.replace(node, memory_gib=None) for node in dell.numa)


def test_the_usual_numbering_is_said_to_be_concluded() -> None:
    found = merged(a=captured.lscpu(A100))
    assert any(line.startswith("CPU n and CPU n+128 share a core: a.txt (lscpu)") for line in found.assumed)
    assert any(
        line.startswith("4 NUMA nodes in a row make a socket: a.txt (lscpu)") for line in found.assumed
    )
    low = [source.of for source in found.node_type.sources if source.confidence == "low"]
    assert low == ["numa (sockets, by the usual numbering)"]
    text = nodetypetext.dump(found)
    assert "# Concluded, not told: CPU n and CPU n+128 share a core" in text


def test_distances_that_speak_against_the_usual_sockets() -> None:
    """Nodes of a socket that are numbered in turn."""
    turned = structs.replace(
        A100,
        distances=tuple(
            tuple(10 if a == b else 12 if a % 2 == b % 2 else 32 for b in range(8)) for a in range(8)
        ),
    )
    lines = refused(a=captured.lscpu(turned), b=captured.numactl(turned))
    assert any("by the distances nodes in a row are not on one socket" in line for line in lines)


def test_hwloc_in_a_cgroup_shows_fewer_cpus() -> None:
    part = structs.replace(
        H100,
        numa=tuple(
            structs.replace(
                node, threads=tuple(text.replace("55", "3").replace("167", "115") for text in node.threads)
            )
            if node.node == 0
            else node
            for node in H100.numa
        ),
    )
    found = merged(a=captured.hwloc(part), b=captured.lscpu_e(H100))
    assert found.node_type.numa[0].threads == ("0-55", "112-167")
    assert "shows 8 of the 112 CPUs of NUMA node 0: those of b.txt" in "\n".join(found.warnings)
    alone = merged(a=captured.hwloc(part))
    assert "104 of the CPU numbers 0-223 are in no NUMA node" in "\n".join(alone.warnings)


def test_a_dump_of_a_small_job_tells_nothing_of_the_gpus() -> None:
    half = structs.replace(A100, gpus=A100.gpus[:4])
    found = merged(a=captured.lscpu(A100), b=captured.nccl(half), c=captured.topo_m(A100))
    assert len(found.node_type.gpus) == 8
    assert all(gpu.pci == "" for gpu in found.node_type.gpus)
    assert "(NCCL topology) shows 4 of the 8 GPUs, those of its job" in "\n".join(found.warnings)


def test_the_user_says_what_an_hca_is_for() -> None:
    seen = read(a=captured.hwloc(H100))
    found = merge(seen, "made", said={"mlx5_0": "storage", "0000:29:00.0": "management"})
    uses = {hca.pci: hca.use for hca in found.node_type.hcas}
    assert uses["0000:18:00.0"] == "storage"
    assert uses["0000:29:00.0"] == "management"
    asked = [line for line in merge(seen, "made").ask if line.startswith("mlx5_1 ")]
    assert asked[0].startswith("mlx5_1 is written as storage: InfiniBand, but on no PCI switch with a GPU")
    assert not [line for line in found.ask if line.startswith("mlx5_1 ")]
    with pytest.raises(InputError, match="no HCA is named mlx5_99; the captures show: mlx5_0, "):
        merge(seen, "made", said={"mlx5_99": "storage"})


def test_an_hca_whose_place_is_open_is_left_out_and_named() -> None:
    """SYS to all GPUs of a DGX A100: four NUMA nodes are left for its storage cards."""
    named_only = captured.lscpu(A100), captured.topo_m(A100), captured.ibdev2netdev(A100)
    found = merged(a=named_only[0], b=named_only[1], c=named_only[2])
    assert [hca.pci for hca in found.node_type.hcas] == [
        f"0000:{bus}:00.0" for bus in ("0c", "12", "4b", "54", "8d", "94", "ba", "cc")
    ]
    assert any(line.startswith("the NUMA node of mlx5_4 (0000:61:00.0)") for line in found.unknown)


def test_an_interface_named_after_its_address_joins_name_and_address() -> None:
    plain = "".join(
        f"{captured.names(H100)[hca.pci]} port 1 ==> ibp{int(hca.pci[5:7], 16)}s0 (Up)\n"
        for hca in H100.hcas
        if hca.use == "compute"
    )
    found = merged(a=captured.lscpu(H100), b=plain, c=captured.lspci_vmm(H100))
    names = found.node_type.variants["captured"].names
    assert names["0000:18:00.0"] == "mlx5_0"
    assert names["0000:9a:00.0"] == "mlx5_6"
    assert any("mlx5_0 is at 0000:18:00.0: b.txt:1" in line for line in found.assumed)


def test_an_hca_on_the_switch_of_a_gpu_is_on_its_numa_node() -> None:
    """Where the firmware lets all devices look as if they were on one NUMA node, only a switch tells."""
    cpus = (
        "CPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 1\nSocket(s): 2\nNUMA node0 CPU(s): 0-1\n"
    )
    matrix = (
        "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tNODE\tPIX\tNODE\t0-1\t0\n"
        "GPU1\tNODE\t X \tNODE\tNODE\t2-3\t1\n"
        "mlx5_0\tPIX\tNODE\t X \tNODE\n"
        "mlx5_1\tNODE\tNODE\tNODE\t X \n"
    )
    ports = "".join(
        f"0000:{bus}:00.0 mlx5_{number} (MT4129 - X) ConnectX-7 fw 28 port 1 (ACTIVE) ==> ib{number} (Up)\n"
        for number, bus in enumerate(("19", "5f"))
    )
    found = merged(cpus=cpus + "NUMA node1 CPU(s): 2-3\n", topo=matrix, ports=ports)
    assert [(hca.pci, hca.numa) for hca in found.node_type.hcas] == [("0000:19:00.0", 0)]
    assert any(line.startswith("the NUMA node of mlx5_1 (0000:5f:00.0)") for line in found.unknown)


def test_nodes_without_cpus_are_nearest_only_where_distances_are_told() -> None:
    cpus = (
        "CPU(s): 2\nOn-line CPU(s) list: 0-1\nThread(s) per core: 1\nSocket(s): 1\nNUMA node0 CPU(s): 0-1\n"
    )
    empty = "".join(f"NUMA node{node} CPU(s):\n" for node in (1, 2, 3))
    found = merged(cpus=cpus + empty)
    assert "NUMA nodes 1-3 have no CPUs: put on socket 0, the first, as no capture tells the distances" in (
        found.assumed
    )
    two = "CPU(s): 2\nOn-line CPU(s) list: 0-1\nThread(s) per core: 1\nSocket(s): 2\n"
    lists = "NUMA node0 CPU(s): 0\nNUMA node1 CPU(s): 1\nNUMA node2 CPU(s):\n"
    memory = "".join(
        f"node {node} cpus:{cpu}\nnode {node} size: 9 MB\nnode {node} free: 9 MB\n"
        for node, cpu in enumerate((" 0", " 1", ""))
    )
    distances = "node distances:\nnode 0 1 2\n 0: 10 20 40\n 1: 20 10 30\n 2: 40 30 10\n"
    found = merged(cpus=two + lists, numactl=f"available: 3 nodes (0-2)\n{memory}{distances}")
    assert "NUMA node 2 has no CPUs: put on socket 1, the nearest" in found.assumed


def test_a_name_that_no_node_type_can_have() -> None:
    with pytest.raises(InputError, match=r"^name: 'two words'"):
        merge(read(a=captured.lscpu(A100)), "two words")


def test_cpus_near_a_gpu_that_no_other_capture_has() -> None:
    """A matrix of another machine shows by its CPUs, also where the NUMA nodes have the same numbers."""
    matrix = "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-63\t0\n"
    cpus = (
        "CPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 1\nSocket(s): 1\nNUMA node0 CPU(s): 0-3\n"
    )
    (line,) = refused(topo=matrix, cpus=cpus)
    assert "0-63 in topo.txt:2" in line
    assert "has 0-3 in cpus.txt" in line


def matrix_of(near: str) -> str:
    return f"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t{near}\nGPU1\tSYS\t X \t2-3,6-7\n"


FOUR_CORES = (
    "CPU(s): 8\nOn-line CPU(s) list: 0-7\nThread(s) per core: 2\nSocket(s): 2\n"
    "NUMA node0 CPU(s): 0-1,4-5\nNUMA node1 CPU(s): 2-3,6-7\n"
)


def test_two_matrices_with_other_cpus_near_a_gpu() -> None:
    """Each fits the CPUs of the machine, but not the other. One made in a cgroup may show fewer."""
    lines = refused(cpus=FOUR_CORES, a=matrix_of("0-1,4-5"), b=matrix_of("0-2"))
    assert lines == [
        "contradiction: CPUs near GPU 0: 0-2 in b.txt:2 (nvidia-smi topo), "
        "but 0-1,4-5 in a.txt:2 (nvidia-smi topo)"
    ]
    assert [
        gpu.numa for gpu in merged(cpus=FOUR_CORES, a=matrix_of("0-1,4-5"), b=matrix_of("1")).node_type.gpus
    ] == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("near", "says"),
    [
        ("0-2", "the CPUs near GPUs are not those of one NUMA node (0-2 in topo.txt:2 (nvidia-smi topo))"),
        ("N/A", "nvidia-smi saw no CPUs or NUMA node near them"),
    ],
)
def test_a_matrix_that_tells_no_numa_node_is_not_asked_for_again(near: str, says: str) -> None:
    (line,) = refused(cpus=FOUR_CORES, topo=matrix_of(near))
    assert line == f"missing: the NUMA node of GPU 0: {says}; add `lspci -D -vmm`, or `lstopo out.xml`"
