"""The published maps, restated apart from the YAML: what the entries of the catalogue are held against.

DGX A100: mlcommons/training_results_v1.1, NVIDIA's dgxa100_nic_affinity.xml and dgxa100_topology_ht.sh;
hpl.sh of NVIDIA's HPC benchmarks. DGX H100: NVIDIA's DGX H100/H200 User Guide.
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


def address(bus: str) -> str:
    """ "61.1" is 0000:61:00.1, and "07" is 0000:07:00.0."""
    number, _, function = bus.partition(".")
    return f"0000:{number}:00.{function or 0}"
