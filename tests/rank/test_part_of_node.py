"""Parts of a node: which GPUs and cores the job has there, and how its ranks divide them.

taskset and numactl are stand-ins that write down what they were asked for: this machine has not the cores.
"""

import pytest
from made_up_node import Node
from running import Runner, environment

from hpclaunch.values.cpulist import format_list, parse

# DGX A100: GPUs and HCAs by PCI address with their NUMA nodes; nodes 0, 2, 4 and 6 have neither.
GPUS = {
    "0000:07:00.0": 3,
    "0000:0f:00.0": 3,
    "0000:47:00.0": 1,
    "0000:4e:00.0": 1,
    "0000:87:00.0": 7,
    "0000:90:00.0": 7,
    "0000:b7:00.0": 5,
    "0000:bd:00.0": 5,
}
NEAREST = {3: "3,2,1,0", 1: "1,0,3,2", 7: "7,6,5,4", 5: "5,4,7,6"}
CORES = "cores=" + " ".join(
    f"{node}.{node}:{16 * node}-{16 * node + 15}/{16 * node + 128}-{16 * node + 143}" for node in range(8)
)
TABLE = "gpus=" + " ".join(
    f"{pci}|{NEAREST[numa]}|{index},{index ^ 1},0" for index, (pci, numa) in enumerate(GPUS.items())
)
HCAS = "hcas=" + " ".join(f"mlx5_{index}/0000:0{index}:0c.0/1/InfiniBand" for index in range(8))
BOTH = "part=cpus,membind"


@pytest.fixture
def dgx(node: Node) -> Node:
    """All of its GPUs open: what the job has is told by Slurm."""
    for minor, (pci, numa) in enumerate(GPUS.items()):
        node.gpu(pci, minor, numa=numa)
    return node


class Job:
    """Ranks of a job on a part of a node: who has what."""

    def __init__(self, on_node: Runner, node: Node, allowed: str, cpus: int | None, gpus: str | None):
        self.on_node, self.node = on_node, node
        node.allowed(allowed)
        self.env = {"SLURMD_NODENAME": "dgx004"}
        if cpus is not None:
            self.env["SLURM_CPUS_ON_NODE"] = str(cpus)
        if gpus is not None:
            self.env["SLURM_STEP_GPUS"] = gpus

    def rank(self, local: int, of: int, *settings: str) -> tuple[str | None, str | None, str]:
        """The cores and the memory policy that local rank asked for, and what it wrote."""
        env = {"SLURM_LOCALID": str(local), "SLURM_STEP_NUM_TASKS": str(of), "SLURM_STEP_NUM_NODES": "1"}
        result = self.on_node("from=slurm", *settings, "--", "--", "echo", "ran", env=self.env | env)
        assert (result.returncode, result.stdout) == (0, b"ran\n"), result.stderr.decode()
        asked = self.node.cores()
        return (
            asked if asked is None else format_list(parse(asked)),
            self.node.policy(),
            result.stderr.decode(),
        )

    def ranks(self, of: int, *settings: str) -> list[tuple[str | None, str | None]]:
        found = [self.rank(local, of, *settings) for local in range(of)]
        assert {said for _, _, said in found} == {""}
        return [(cores, policy) for cores, policy, _ in found]


@pytest.mark.parametrize("told_by", ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "devices"])
def test_two_gpus_of_eight_have_their_own_cores_memory_and_hcas(
    on_node: Runner, dgx: Node, told_by: str
) -> None:
    if told_by == "devices":
        for minor in (0, 1, 3, 4, 6, 7):
            (dgx.root / f"dev/nvidia{minor}").unlink()
    job = Job(on_node, dgx, "16-31,112-127,144-159,240-255", 64, None)
    if told_by != "devices":
        job.env[told_by] = "2,5"
    seats = (CORES, TABLE, "seats=0;1", BOTH)
    assert job.ranks(2, *seats) == [("16-31,144-159", "--membind=1"), ("112-127,240-255", "--membind=7")]
    for index in range(8):
        dgx.hca(f"mlx5_{index}", f"0000:0{index}:0c.0", index)
    for local, own in ((0, "mlx5_2:1"), (1, "mlx5_5:1")):
        env = job.env | {"SLURM_LOCALID": str(local)}
        got = environment(on_node("from=slurm", HCAS, *seats, "--", "--", "env", "-0", env=env))
        assert got["UCX_NET_DEVICES"] == own
        assert got["NCCL_IB_HCA"] == "=" + ",".join(f"mlx5_{index}:1" for index in range(8))
        assert "CUDA_VISIBLE_DEVICES" not in got


def test_slurms_numbers_are_minors_which_may_not_follow_pci_order(on_node: Runner, node: Node) -> None:
    for minor, pci in zip((2, 3, 0, 1, 6, 7, 4, 5), GPUS, strict=True):
        node.gpu(pci, minor)
    job = Job(on_node, node, "16-31,48-63,144-159,176-191", 64, "0,2")
    assert job.ranks(2, CORES, TABLE, "seats=0;1", "part=cpus") == [
        ("48-63,176-191", None),  # 0000:07:00.0 is first in PCI order, and number 2
        ("16-31,144-159", None),
    ]


def test_gpus_of_one_numa_node_divide_what_the_job_has_of_it(on_node: Runner, dgx: Node) -> None:
    """Five cores for two GPUs and one core of another node, which is nobody's."""
    job = Job(on_node, dgx, "50-54,178-182,64,192", 12, "0,1")
    assert job.ranks(2, CORES, TABLE, "seats=0;1", BOTH) == [
        ("50-52,178-180", "--membind=3"),
        ("53-54,181-182", "--membind=3"),
    ]


@pytest.mark.parametrize(
    ("seats", "expected"),
    [
        # One rank with both GPUs; two ranks on the first and one on the second.
        ("0-1", [("16-19,112-114,144-147,240-242", "--membind=1,7")]),
        ("0,1", [("16-19,112-114,144-147,240-242", "--membind=1,7")]),
        (
            "0;0;1",
            [
                ("16-17,144-145", "--membind=1"),
                ("18-19,146-147", "--membind=1"),
                ("112-114,240-242", "--membind=7"),
            ],
        ),
        # Without a GPU: what is no GPU's.
        (
            "0;1;",
            [
                ("16-19,144-147", "--membind=1"),
                ("112-114,240-242", "--membind=7"),
                ("0-1,128-129", "--membind=0"),
            ],
        ),
        # Five on a GPU with three cores: neighbours share one.
        (
            "0;1;1;1;1;1",
            [("16-19,144-147", "--membind=1")]
            + [(f"{cpu},{cpu + 128}", "--membind=7") for cpu in (112, 112, 113, 113, 114)],
        ),
    ],
)
def test_ranks_and_gpus_in_any_number(
    on_node: Runner, dgx: Node, seats: str, expected: list[tuple[str, str]]
) -> None:
    job = Job(on_node, dgx, "0-1,16-19,112-114,128-129,144-147,240-242", 18, "2,5")
    assert job.ranks(len(expected), CORES, TABLE, f"seats={seats}", BOTH) == expected


def test_a_rank_without_a_gpu_gets_a_core_of_each_gpu_that_has_one_to_spare(
    on_node: Runner, dgx: Node
) -> None:
    job = Job(on_node, dgx, "16-19,112,144-147,240", 10, "2,5")
    assert job.ranks(4, CORES, TABLE, "seats=0;0;1;", BOTH) == [
        ("16-17,144-145", "--membind=1"),
        ("18,146", "--membind=1"),
        ("112,240", "--membind=7"),
        ("19,147", "--membind=1"),
    ]
    one_each = Job(on_node, dgx, "16,112,144,240", 4, "2,5")
    assert one_each.rank(2, 3, CORES, TABLE, "seats=0;1;", BOTH) == ("16,112,144,240", "--membind=1,7", "")


def test_a_job_without_gpus_divides_its_cores_in_runs(on_node: Runner, node: Node) -> None:
    job = Job(on_node, node, "12-18,140-146", 14, None)
    assert job.ranks(3, CORES, "seats=;;", BOTH) == [
        ("12-14,140-142", "--membind=0"),
        ("15-16,143-144", "--membind=0,1"),
        ("17-18,145-146", "--membind=1"),
    ]
    assert job.ranks(1, CORES, "seats=", BOTH) == [("12-18,140-146", "--membind=0,1")]


def test_cores_far_from_the_gpu_are_used_where_the_job_has_no_near_ones(on_node: Runner, dgx: Node) -> None:
    """GPU 0 is nearest to NUMA node 3; the job has cores of node 2, its second nearest, and of node 7."""
    job = Job(on_node, dgx, "32-33,120,160-161,248", 6, "0")
    assert job.ranks(1, CORES, TABLE, "seats=0", BOTH) == [("32-33,160-161", "--membind=2")]


def test_one_thread_of_a_core_is_that_core(on_node: Runner, dgx: Node) -> None:
    job = Job(on_node, dgx, "48,177-178", 3, "0,1")
    assert job.ranks(2, CORES, TABLE, "seats=0;1", "part=cpus") == [("48,177", None), ("178", None)]


@pytest.mark.parametrize(
    ("part", "asked"),
    [
        ("cpus", ("48-63,176-191", None)),
        ("membind", (None, "--membind=3")),
        ("preferred", (None, "--preferred=3")),
        ("cpus,preferred", ("48-63,176-191", "--preferred=3")),
    ],
)
def test_only_what_the_job_wants_is_bound(
    on_node: Runner, dgx: Node, part: str, asked: tuple[str | None, str | None]
) -> None:
    job = Job(on_node, dgx, "48-63,176-191", 32, "0")
    assert job.ranks(1, CORES, TABLE, "seats=0", f"part={part}") == [asked]


def test_preferred_memory_is_one_node_that_of_the_first_gpu(on_node: Runner, dgx: Node) -> None:
    job = Job(on_node, dgx, "16-31,48-63", 32, "1,2")
    assert job.ranks(1, CORES, TABLE, "seats=0-1", "part=preferred") == [(None, "--preferred=3")]


def test_a_pool_of_several_numa_nodes_is_divided_as_one(on_node: Runner, dgx: Node) -> None:
    """Cores spread over a socket: pools are sockets, and two GPUs stand on one."""
    cores = "cores=0.0:0-3/128-131 0.3:48-49/176-177 0.3:50/178 1.4:64-79/192-207"
    table = "gpus=" + " ".join(f"{pci}|{numa // 4}|0" for pci, numa in GPUS.items())
    job = Job(on_node, dgx, "0-3,48-50,128-131,176-178", 14, "0,1")
    assert job.ranks(2, cores, table, "seats=0;1", BOTH) == [
        ("0-3,128-131", "--membind=0"),
        ("48-50,176-178", "--membind=3"),
    ]


@pytest.mark.parametrize("smt", [True, False])
def test_even_and_odd_cpu_numbers(on_node: Runner, node: Node, smt: bool) -> None:
    """DSS8440: even CPUs on socket 0, odd ones on socket 1; 24 cores each, siblings 48 apart."""
    for minor in range(8):
        node.gpu(f"0000:{minor + 1}b:00.0", minor)
    columns = [
        [",".join(str(cpu) for cpu in range(first, first + 48, 2)) for first in (odd, odd + 48)[: smt + 1]]
        for odd in (0, 1)
    ]
    cores = f"cores=0.0:{'/'.join(columns[0])} 1.1:{'/'.join(columns[1])}"
    table = "gpus=" + " ".join(f"0000:{minor + 1}b:00.0|{minor // 4},{1 - minor // 4}|" for minor in range(8))
    allowed = [0, 2, 4, 6, 1, 3, 5]
    job = Job(
        on_node, node, format_list(allowed + [cpu + 48 for cpu in allowed] * smt), 7 * (smt + 1), "1,2,4"
    )
    firsts = [[0, 2], [4, 6], [1, 3, 5]]
    assert job.ranks(3, cores, table, "seats=0;1;2", BOTH) == [
        (format_list(first + [cpu + 48 for cpu in first] * smt), f"--membind={node}")
        for first, node in zip(firsts, (0, 0, 1), strict=True)
    ]


def test_sixteen_gpus(on_node: Runner, node: Node) -> None:
    """DGX-2: GPU 0 to 7 on socket 0, three cores each; the job has 15 of 16 and not all cores of socket 1."""
    addresses = [f"0000:{bus:02x}:00.0" for bus in range(0x34, 0x34 + 16)]
    for minor, pci in enumerate(addresses):
        node.gpu(pci, minor, opens=minor != 9)
    table = "gpus=" + " ".join(f"{pci}|{index // 8},{1 - index // 8}|" for index, pci in enumerate(addresses))
    cores = "cores=0.0:0-23/48-71 1.1:24-47/72-95"
    job = Job(on_node, node, "0-23,24-44,48-71,72-92", 90, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15")
    seats = "seats=" + ";".join(map(str, range(15)))
    assert job.ranks(15, cores, table, seats, "part=cpus") == [
        (f"{3 * index}-{3 * index + 2},{3 * index + 48}-{3 * index + 50}", None) for index in range(15)
    ]


def test_without_the_drivers_list_slurms_numbers_are_places_in_pci_order(on_node: Runner, node: Node) -> None:
    job = Job(on_node, node, "16-31,112-127", 32, "5,2")
    assert job.ranks(2, CORES, TABLE, "seats=0;1", "part=cpus") == [("112-127", None), ("16-31", None)]


def test_a_table_without_addresses_goes_by_the_order_of_the_nodes_gpus(on_node: Runner, dgx: Node) -> None:
    table = "gpus=" + " ".join(f"|{NEAREST[numa]}|" for numa in GPUS.values())
    job = Job(on_node, dgx, "16-31,112-127", 32, "2,5")
    assert job.ranks(2, CORES, table, "seats=0;1", "part=cpus") == [("16-31", None), ("112-127", None)]


# What cannot be known leaves ranks as Slurm started them, and one line of the node says so.


def unbound_and_said(job: Job, of: int, *settings: str) -> str:
    found = [job.rank(local, of, *settings) for local in range(of)]
    assert {(cores, policy) for cores, policy, _ in found} == {(None, None)}
    first, *others = [said for _, _, said in found]
    assert set(others) <= {""}
    assert first.count("\n") == 1
    assert first.startswith("hpclaunch: dgx004: ")
    return first


@pytest.mark.parametrize("cpus", [32, 128])  # 128 is how many cores there are
def test_nothing_confines_the_job(on_node: Runner, dgx: Node, cpus: int) -> None:
    dgx.cpus("0-255", {}, {})
    job = Job(on_node, dgx, "0-255", cpus, "2,5")
    said = unbound_and_said(job, 2, CORES, TABLE, "seats=0;1", BOTH)
    for part in (f"{cpus} CPUs", "256", "ConstrainCores=yes", "cgroup.conf"):
        assert part in said
    # The HCAs do not hang on it.
    for index in range(8):
        dgx.hca(f"mlx5_{index}", f"0000:0{index}:0c.0", index)
    env = job.env | {"SLURM_LOCALID": "1"}
    result = on_node("from=slurm", HCAS, CORES, TABLE, "seats=0;1", BOTH, "--", "--", "env", "-0", env=env)
    assert environment(result)["UCX_NET_DEVICES"] == "mlx5_5:1"


def test_half_of_the_node_counted_in_cores_is_no_sign_of_that(on_node: Runner, dgx: Node) -> None:
    """slurm.conf may say CPUs=128 for 128 cores with 256 threads: then a job has two threads for each CPU."""
    dgx.cpus("0-255", {}, {})
    job = Job(on_node, dgx, "16-31,144-159", 16, "2")
    assert job.ranks(1, CORES, TABLE, "seats=0", BOTH) == [("16-31,144-159", "--membind=1")]


def test_of_the_gpus_of_a_table_without_addresses_a_container_shows_some(on_node: Runner, node: Node) -> None:
    """The third of eight would pass for the first."""
    node.gpu("0000:47:00.0", 2, numa=1)
    table = "gpus=" + " ".join(f"|{NEAREST[numa]}|" for numa in GPUS.values())
    said = unbound_and_said(
        Job(on_node, node, "16-31,48-63", 32, "2"), 1, CORES, table, "seats=0", "part=cpus"
    )
    assert "no addresses, and 8 GPUs where 1 are seen: 0000:47:00.0" in said


def test_none_of_the_jobs_cpus_is_in_the_table(on_node: Runner, dgx: Node) -> None:
    job = Job(on_node, dgx, "300-303", 4, "2,5")
    assert "300-303" in unbound_and_said(job, 2, CORES, TABLE, "seats=0;1", BOTH)


def test_a_gpu_that_the_node_type_has_not(on_node: Runner, dgx: Node) -> None:
    """Its rank is not bound, the other is; and both know their places, since the strange one has one too."""
    dgx.gpu("0000:5a:00.0", 8)
    job = Job(on_node, dgx, "16-31,112-127", 32, "2,5,8")
    assert job.rank(0, 3, CORES, TABLE, "seats=0;1;2", BOTH)[:2] == ("16-31", "--membind=1")
    assert "0000:5a:00.0" in job.rank(0, 3, CORES, TABLE, "seats=0;1;2", BOTH)[2]
    assert job.rank(1, 3, CORES, TABLE, "seats=0;1;2", BOTH) == (None, None, "")
    assert job.rank(1, 2, CORES, TABLE, "seats=0;1-2", BOTH) == (None, None, "")
    assert job.rank(2, 3, CORES, TABLE, "seats=0;1;2", BOTH) == ("112-127", "--membind=7", "")


@pytest.mark.parametrize("driver", [True, False])
def test_fewer_gpus_than_the_ranks_need(on_node: Runner, node: Node, driver: bool) -> None:
    if driver:
        node.gpu("0000:47:00.0", 2)
        node.gpu("0000:4e:00.0", 3, opens=False)
    job = Job(on_node, node, "16-31", 16, "2" if driver else None)
    said = unbound_and_said(job, 2, CORES, TABLE, "seats=0;1", BOTH)
    assert f"found here: {int(driver)}, needed: 2" in said


def test_without_taskset_nothing_is_bound(on_node: Runner, dgx: Node) -> None:
    job = Job(on_node, dgx, "16-31", 16, "2")
    (dgx.tools / "taskset").unlink()
    (dgx.tools / "echo").write_text("#!/bin/sh\nprintf 'ran\\n'\n")
    (dgx.tools / "echo").chmod(0o755)
    job.env["PATH"] = str(dgx.tools)
    assert "there is no taskset" in unbound_and_said(job, 1, CORES, TABLE, "seats=0", BOTH)


def test_a_taskset_that_fails_is_an_error(on_node: Runner, dgx: Node) -> None:
    dgx.stand_in("taskset", "exit 1")
    job = Job(on_node, dgx, "16-31", 16, "2")
    env = job.env | {"SLURM_LOCALID": "0"}
    settings = (CORES, TABLE, "seats=0", BOTH)
    result = on_node("from=slurm", *settings, "--", "--", "echo", "ran", env=env)
    assert (result.returncode, result.stdout) == (121, b"")
    assert b"could not bind to the cores 16," in result.stderr
