"""Which HCAs a rank uses on the node that it is on: found by PCI address, checked, and the next nearest where
one cannot be used."""

import shutil
import sys

import pytest
from made_up_node import Node
from running import RECORD, Runner, environment, recorded

A, B, C, D = "0000:0c:00.0", "0000:12:00.0", "0000:4b:00.0", "0000:54:00.0"
TABLE = (
    f"hcas=mlx5_0/{A}/1/InfiniBand mlx5_1/{B}/1/InfiniBand mlx5_2/{C}/1/InfiniBand mlx5_3/{D}/1/InfiniBand"
)
NEAR = "near=1:0,1,2,3;1:1,0,2,3;2:2,3,0,1;4:0,1,2,3;0:"
ALL = "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"


def as_expected(node: Node) -> None:
    for number, pci in enumerate((A, B, C, D)):
        node.hca(f"mlx5_{number}", pci, number)


def chosen(on_node: Runner, local: int, *settings: str) -> tuple[str | None, str | None, str]:
    """NCCL_IB_HCA and UCX_NET_DEVICES of a local rank, and what it wrote."""
    env = {"SLURM_LOCALID": str(local), "SLURMD_NODENAME": "dgx004"}
    result = on_node("from=slurm", *(settings or (TABLE, NEAR)), "--", "--", "env", "-0", env=env)
    got = environment(result)
    return got.get("NCCL_IB_HCA"), got.get("UCX_NET_DEVICES"), result.stderr.decode()


@pytest.mark.parametrize(
    ("local", "ucx"),
    [
        (0, "mlx5_0:1"),
        (1, "mlx5_1:1"),
        (2, "mlx5_2:1,mlx5_3:1"),
        (3, "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"),
        (4, None),
        (9, None),
    ],
)
def test_each_local_rank_has_its_nearest(on_node: Runner, node: Node, local: int, ucx: str | None) -> None:
    as_expected(node)
    assert chosen(on_node, local) == (ALL, ucx, "")


def test_a_device_of_another_name_is_found_by_its_address(on_node: Runner, node: Node) -> None:
    """One card more shifts every later number: mlx5_1 is another card, and mlx5_10 is not mlx5_1."""
    node.hca("mlx5_0", A, 0)
    node.hca("mlx5_1", "0000:0d:00.0", 1)
    node.hca("mlx5_10", B, 10)
    node.hca("mlx5_3", C, 3)
    node.hca("ibp84s0", D, 4)
    assert chosen(on_node, 1) == ("=mlx5_0:1,mlx5_10:1,mlx5_3:1,ibp84s0:1", "mlx5_10:1", "")
    assert chosen(on_node, 2)[1] == "mlx5_3:1,ibp84s0:1"


@pytest.mark.parametrize(("first", "opens"), [("mlx5_1", True), ("rxe0", False)])
def test_of_two_devices_at_one_address_each_has_its_own_verbs(
    on_node: Runner, node: Node, first: str, opens: bool
) -> None:
    """Such as Soft RoCE over the card's interface: uverbs1 has the HCA's number, and may be the other's."""
    as_expected(node)
    numbers = {first: 1, ({"mlx5_1", "rxe0"} - {first}).pop(): 7}
    function = node.root / "sys/bus/pci/devices" / B
    (function / "infiniband/rxe0").mkdir()
    for name, number in numbers.items():
        node.write(f"sys/bus/pci/devices/{B}/infiniband_verbs/uverbs{number}/ibdev", name)
    (node.root / "dev/infiniband/uverbs1").unlink()
    node.device("dev/infiniband/uverbs1", opens)
    node.device("dev/infiniband/uverbs7", not opens)
    assert chosen(on_node, 1) == (ALL, "mlx5_1:1", "")


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"state": "1: DOWN"}, "port 1 is DOWN"),
        ({"state": "2: INIT"}, "port 1 is INIT"),
        ({"link": "Ethernet"}, "port 1 is Ethernet instead of InfiniBand"),
        ({"opens": False}, "/dev/infiniband/uverbs3 does not open"),
        ({"ports": (2,)}, "no port 1"),
        ({"uverbs": None}, "no device for verbs"),
        (None, "absent"),
    ],
)
def test_the_next_nearest_replaces_one_that_cannot_be_used(
    on_node: Runner, node: Node, broken: dict[str, object] | None, why: str
) -> None:
    node.hca("mlx5_0", A, 0)
    if broken is not None:
        node.hca("mlx5_1", B, **{"uverbs": 3, **broken})  # type: ignore[arg-type]
    node.hca("mlx5_2", C, 1)
    node.hca("mlx5_3", D, 2)
    nccl, ucx, said = chosen(on_node, 1)
    assert (nccl, ucx, said) == ("=mlx5_0:1,mlx5_2:1,mlx5_3:1", "mlx5_0:1", "")
    # Local rank 0 says it for the node, in one line.
    nccl, ucx, said = chosen(on_node, 0)
    assert (nccl, ucx) == ("=mlx5_0:1,mlx5_2:1,mlx5_3:1", "mlx5_0:1")
    assert said.count("\n") == 1
    for part in ("dgx004", "mlx5_1", B, why):
        assert part in said
    assert A not in said
    assert C not in said


def test_verbs_of_another_device_on_the_same_card_do_not_count(on_node: Runner, node: Node) -> None:
    as_expected(node)
    node.write("sys/class/infiniband/mlx5_0/device/infiniband_verbs/uverbs9/ibdev", "mlx5_0_rep")
    node.device("dev/infiniband/uverbs9", opens=False)
    assert chosen(on_node, 0) == (ALL, "mlx5_0:1", "")


def test_uverbs_that_is_not_there_is_not_made(on_node: Runner, node: Node) -> None:
    as_expected(node)
    missing = node.root / "dev/infiniband/uverbs0"
    missing.unlink()
    assert chosen(on_node, 0)[1] == "mlx5_1:1"
    assert not missing.exists()


def test_each_of_several_is_named_in_one_line(on_node: Runner, node: Node) -> None:
    node.hca("mlx5_0", A, 0, state="1: DOWN", link="Ethernet")
    node.hca("mlx5_2", C, 2)
    node.hca("mlx5_3", D, 3, opens=False)
    nccl, ucx, said = chosen(on_node, 0)
    assert (nccl, ucx) == ("=mlx5_2:1", "mlx5_2:1")
    assert said.count("\n") == 1
    for part in ("mlx5_0", A, "DOWN", "Ethernet", B, "absent", D, "uverbs3"):
        assert part in said


def test_the_second_port_of_a_card_is_looked_at(on_node: Runner, node: Node) -> None:
    """Port 2 of a card whose port 1 is another network's; and a bond, which is Ethernet."""
    node.hca("mlx5_0", A, 0, ports=(1, 2))
    node.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN")
    node.hca("mlx5_bond_0", B, 1, link="Ethernet")
    table = f"hcas=mlx5_0/{A}/2/InfiniBand mlx5_bond_0/{B}/1/Ethernet"
    assert chosen(on_node, 0, table, "near=2:0,1") == (
        "=mlx5_0:2,mlx5_bond_0:1",
        "mlx5_0:2,mlx5_bond_0:1",
        "",
    )


def test_without_any_infiniband_folder_the_expected_names_are_used(on_node: Runner) -> None:
    nccl, ucx, said = chosen(on_node, 0)
    assert (nccl, ucx) == (ALL, "mlx5_0:1")
    assert said.count("\n") == 1
    assert "dgx004: " in said
    assert "/sys/class/infiniband" in said


@pytest.mark.parametrize("sees_sys", [True, False])
def test_a_pod_without_infiniband_has_no_hca(on_node: Runner, node: Node, sees_sys: bool) -> None:
    """Names of absent devices would keep UCX from reaching other nodes."""
    if sees_sys:
        node.write("sys/class/net/eth0/operstate", "up")
    env = {f"OMPI_COMM_WORLD_{name}": "0" for name in ("RANK", "LOCAL_RANK")}
    env |= {f"OMPI_COMM_WORLD_{name}": "1" for name in ("SIZE", "LOCAL_SIZE")}
    result = on_node("from=openmpi", TABLE, NEAR, "--", "--", "env", "-0", env=env)
    got = environment(result)
    assert got.get("NCCL_IB_HCA") == (None if sees_sys else ALL)
    assert got.get("UCX_NET_DEVICES") == (None if sees_sys else "mlx5_0:1")


@pytest.mark.parametrize("other", [True, False])
def test_where_none_can_be_used_neither_variable_is_set(on_node: Runner, node: Node, other: bool) -> None:
    (node.root / "sys/class/infiniband").mkdir(parents=True)
    if other:
        node.hca("mlx5_0", "0000:e1:00.0", 0)
    nccl, ucx, said = chosen(on_node, 0)
    assert (nccl, ucx) == (None, None)
    for part in (A, B, C, D, "absent", "NCCL_IB_HCA"):
        assert part in said


@pytest.mark.parametrize("local", ["0", "1"])
def test_strict_ends_the_job_with_the_same_reason(on_node: Runner, node: Node, local: str) -> None:
    as_expected(node)
    env = {"SLURM_LOCALID": local, "SLURMD_NODENAME": "dgx004"}
    arguments = ("from=slurm", "strict=1", TABLE, NEAR, "--", "--", "echo", "ran")
    assert on_node(*arguments, env=env).stdout == b"ran\n"
    node.write("sys/class/infiniband/mlx5_3/ports/1/state", "1: DOWN")
    result = on_node(*arguments, env=env)
    assert (result.returncode, result.stdout) == (121, b"")
    for part in ("dgx004", "mlx5_3", D, "port 1 is DOWN"):
        assert part in result.stderr.decode()
    shutil.rmtree(node.root / "sys/class/infiniband")
    result = on_node(*arguments, env=env)
    assert (result.returncode, result.stdout) == (121, b"")
    assert b"/sys/class/infiniband" in result.stderr


def test_older_open_mpi_gets_the_same_devices(on_node: Runner, node: Node) -> None:
    as_expected(node)
    name = "OMPI_MCA_btl_openib_if_include"
    env = {"SLURM_LOCALID": "2"}
    arguments = (TABLE, NEAR, "--", "--", "env", "-0")
    assert environment(on_node("from=slurm", "openib=1", *arguments, env=env))[name] == "mlx5_2:1,mlx5_3:1"
    assert name not in environment(on_node("from=slurm", *arguments, env=env))


def test_the_jobs_values_replace_the_chosen_ones(on_node: Runner, node: Node) -> None:
    as_expected(node)
    result = on_node("from=slurm", TABLE, NEAR, "--", "NCCL_IB_HCA=^mlx5_9", "--", "env", "-0")
    got = environment(result)
    assert (got["NCCL_IB_HCA"], got["UCX_NET_DEVICES"]) == ("^mlx5_9", "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1")


def test_only_hcas_for_the_node_where_no_rank_has_its_own(on_node: Runner, node: Node) -> None:
    as_expected(node)
    nccl, ucx, said = chosen(on_node, 0, TABLE, "near=;;")
    assert (nccl, ucx, said) == (ALL, None, "")


def test_the_commands_folder_and_variables_stay(on_node: Runner, node: Node) -> None:
    """Looking at devices changes the folder in another process alone, and the root is not handed on."""
    as_expected(node)
    image = {"IFS": "/,:", "CDPATH": "/", "PWD": "/etc"}
    script = f"import os; print(os.getcwd(), file=__import__('sys').stderr); {RECORD}"
    arguments = ("from=slurm", TABLE, NEAR, "--", "--", sys.executable, "-c", script, "*", "[a]")
    result = on_node(*arguments, env=image, cwd="/etc")
    argv, got = recorded(result)
    assert argv == [b"*", b"[a]"]
    assert result.stderr == b"/etc\n"
    assert (got[b"CDPATH"], got[b"PWD"]) == (b"/", b"/etc")
    assert b"HPCLAUNCH_ROOT" not in got
    assert not [name for name in got if name.startswith(b"hl_")]
