"""The published maps, restated apart from the YAML: what the entries of the catalogue are held against.

DGX A100: mlcommons/training_results_v1.1, NVIDIA's dgxa100_nic_affinity.xml and dgxa100_topology_ht.sh;
hpl.sh of NVIDIA's HPC benchmarks. DGX H100: NVIDIA's DGX H100/H200 User Guide. DGX-1 and DGX-2:
mlcommons/training_results_v0.6, NVIDIA's ompi_bind_DGX1.sh and ompi_bind_DGX2.sh; nccl-tests issue 78; v1.1,
bind.sh of NVIDIA's unet3d. Dell: mlcommons/training_results_v1.1, *_topology.sh of Dell's maskrcnn. Azure:
azure.sh there, and ndv5-topo.xml of Azure/azhpc-images. GB200: `nvidia-smi topo -m` in sglang issue 11208;
NVIDIA Mission Control's table of network interfaces.
"""

# NUMA node of each rank and its 8 cores with their siblings, from dgxa100_topology_ht.sh.
A100_RANKS = (
    (3, "48-55,176-183"),
    (3, "56-63,184-191"),
    (1, "16-23,144-151"),
    (1, "24-31,152-159"),
    (7, "112-119,240-247"),
    (7, "120-127,248-255"),
    (5, "80-87,208-215"),
    (5, "88-95,216-223"),
)
A100_MEMS = tuple(numa for numa, _ in A100_RANKS)
A100_CPUS = tuple(cpus for _, cpus in A100_RANKS)
# dgxa100_topology.sh of NVIDIA's MLPerf v0.7 Mask R-CNN: over the whole socket, without SMT.
A100_SPREAD = ("0-15", "48-63", "16-31", "32-47", "64-79", "112-127", "80-95", "96-111")
# dgxa100_topolgy_default.sh: strict local without SMT.
A100_NO_SMT = ("48-55", "56-63", "16-23", "24-31", "112-119", "120-127", "80-87", "88-95")
# dgxa100_nic_affinity.xml puts each GPU below one inner switch with the other HCA of its pair.
A100_SAME_SWITCH = ("mlx5_1", "mlx5_0", "mlx5_3", "mlx5_2", "mlx5_7", "mlx5_6", "mlx5_9", "mlx5_8")
# The compute HCA of each GPU with all 12 devices; mlx5_4 and _5, _10 and _11 are the storage cards.
A100_HCAS = tuple(f"mlx5_{number}" for number in (0, 1, 2, 3, 6, 7, 8, 9))
# (GPU pair, HCA pair) that `nvidia-smi topo -m` has as PXB, with their NUMA node.
A100_PAIRS = (
    (("07", "0f"), ("0c", "12"), 3),
    (("47", "4e"), ("4b", "54"), 1),
    (("87", "90"), ("8d", "94"), 7),
    (("b7", "bd"), ("ba", "cc"), 5),
)
A100_NAMES = {
    "12-device": "0c.0 12.0 4b.0 54.0 61.0 61.1 8d.0 94.0 ba.0 cc.0 e1.0 e1.1",
    "10-device": "0c.0 12.0 4b.0 54.0 8d.0 94.0 ba.0 cc.0 e1.0 e1.1",
}
# GPU bus, HCA bus, device name, NUMA node: one row for each GPU in order.
H100_ROWS = (
    ("1b", "18", "mlx5_0", 0),
    ("43", "40", "mlx5_3", 0),
    ("52", "4f", "mlx5_4", 0),
    ("61", "5e", "mlx5_5", 0),
    ("9d", "9a", "mlx5_6", 1),
    ("c3", "c0", "mlx5_9", 1),
    ("d1", "ce", "mlx5_10", 1),
    ("df", "dc", "mlx5_11", 1),
)
H100_STORAGE = {"29.0": "mlx5_1", "29.1": "mlx5_2", "aa.0": "mlx5_7", "aa.1": "mlx5_8"}

# CPUs, NUMA node and HCA of each rank, one for each GPU: ompi_bind_DGX1.sh.
DGX1_RANKS = (
    ("0-4,40-44", 0, "mlx5_0"),
    ("5-9,45-49", 0, "mlx5_0"),
    ("10-14,50-54", 0, "mlx5_1"),
    ("15-19,55-59", 0, "mlx5_1"),
    ("20-24,60-64", 1, "mlx5_2"),
    ("25-29,65-69", 1, "mlx5_2"),
    ("30-34,70-74", 1, "mlx5_3"),
    ("35-39,75-79", 1, "mlx5_3"),
)
# The same from ompi_bind_DGX2.sh, with the device names of NVIDIA's cluster circe.
DGX2_RANKS = (
    ("0-2,48-50", 0, "mlx5_1"),
    ("3-5,51-53", 0, "mlx5_1"),
    ("6-8,54-56", 0, "mlx5_2"),
    ("9-11,57-59", 0, "mlx5_2"),
    ("12-14,60-62", 0, "mlx5_3"),
    ("15-17,63-65", 0, "mlx5_3"),
    ("18-20,66-68", 0, "mlx5_4"),
    ("21-23,69-71", 0, "mlx5_4"),
    ("24-26,72-74", 1, "mlx5_7"),
    ("27-29,75-77", 1, "mlx5_7"),
    ("30-32,78-80", 1, "mlx5_8"),
    ("33-35,81-83", 1, "mlx5_8"),
    ("36-38,84-86", 1, "mlx5_9"),
    ("39-41,87-89", 1, "mlx5_9"),
    ("42-44,90-92", 1, "mlx5_10"),
    ("45-47,93-95", 1, "mlx5_10"),
)
# Device names in the order of GPU pairs, for each variant: nccl-tests issue 78, circe, unet3d.
DGX2_NAMES = {
    "from-mlx5_0": (0, 1, 2, 3, 6, 7, 8, 9),
    "from-mlx5_1": (1, 2, 3, 4, 7, 8, 9, 10),
    "from-mlx5_2": (2, 3, 4, 5, 8, 9, 10, 11),
}
EVEN_46 = "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46"
ODD_47 = "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47"
EVEN_94 = (
    "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62,64,66,68,70,72,"
    "74,76,78,80,82,84,86,88,90,92,94"
)
ODD_95 = (
    "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47,49,51,53,55,57,59,61,63,65,67,69,71,73,"
    "75,77,79,81,83,85,87,89,91,93,95"
)
# Launchers that give all ranks of a NUMA node all its CPUs: SMT (or first threads alone), then for each GPU
# its CPUs and its NUMA node.
SHARED = {
    "dell-xe8545": (
        True,
        (("48-63,176-191", 3), ("16-31,144-159", 1), ("112-127,240-255", 7), ("80-95,208-223", 5)),
    ),
    "dell-dss8440-8": (False, ((EVEN_46, 0),) * 4 + ((ODD_47, 1),) * 4),
    "dell-dss8440-10": (True, ((EVEN_94, 0),) * 5 + ((ODD_95, 1),) * 5),
    "dell-r750xa": (
        True,
        ((f"{EVEN_94},96,98,100,102,104,106,108,110,112,114,116,118,120,122,124,126", 0),) * 2
        + ((f"{ODD_95},97,99,101,103,105,107,109,111,113,115,117,119,121,123,125,127", 1),) * 2,
    ),
    "azure-ndm-a100-v4": (
        True,
        (("24-47", 1),) * 2 + (("0-23", 0),) * 2 + (("72-95", 3),) * 2 + (("48-71", 2),) * 2,
    ),
    "gb200-tray": (True, (("0-71", 0),) * 2 + (("72-143", 1),) * 2),
}
# GPU domain, HCA domain, NUMA node, device name.
NDV4_ROWS = (
    ("0001", "0101", 1, "mlx5_ib0"),
    ("0002", "0102", 1, "mlx5_ib1"),
    ("0003", "0103", 0, "mlx5_ib2"),
    ("0004", "0104", 0, "mlx5_ib3"),
    ("000b", "0105", 3, "mlx5_ib4"),
    ("000c", "0106", 3, "mlx5_ib5"),
    ("000d", "0107", 2, "mlx5_ib6"),
    ("000e", "0108", 2, "mlx5_ib7"),
)
NDV5_ROWS = (
    ("0001", "0101", 0, "mlx5_ib0"),
    ("0002", "0102", 0, "mlx5_ib1"),
    ("0003", "0103", 0, "mlx5_ib2"),
    ("0008", "0104", 0, "mlx5_ib3"),
    ("0009", "0105", 1, "mlx5_ib4"),
    ("000a", "0106", 1, "mlx5_ib5"),
    ("000b", "0107", 1, "mlx5_ib6"),
    ("000c", "0108", 1, "mlx5_ib7"),
)
# NCCL_IB_HCA of NVIDIA's own DGX B200, and of OCI BM.GPU.B200.8.
B200_NAMES = {"16-device": (4, 7, 8, 9, 10, 13, 14, 15), "no-management": (0, 3, 4, 5, 6, 9, 10, 11)}
# PCI domain of GPU and HCA of each rank, and the device name.
GB200_ROWS = (
    ("0008", "0000", "mlx5_0"),
    ("0009", "0002", "mlx5_1"),
    ("0018", "0010", "mlx5_4"),
    ("0019", "0012", "mlx5_5"),
)


def address(bus: str) -> str:
    """ "61.1" is 0000:61:00.1, and "07" is 0000:07:00.0."""
    number, _, function = bus.partition(".")
    return f"0000:{number}:00.{function or 0}"
