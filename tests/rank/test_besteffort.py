"""In pods: what cannot be bound stays unbound with one warning, HCAs are virtual functions, and a capability
lifts the memlock limit."""

import os

import pytest
from made_up_node import STATUS, Node
from running import Runner, environment

A, B = "0000:0c:00.0", "0000:12:00.0"
REFUSED = 'printf "%s" "$*" >>"${0%/*}/asked"; echo "taskset: failed: Invalid argument" >&2; exit 1'


def rank(on_node: Runner, local: int, *settings: str, **more: object) -> tuple[dict[str, str], str]:
    names = {"OMPI_COMM_WORLD_RANK": str(8 + local), "OMPI_COMM_WORLD_LOCAL_RANK": str(local)}
    env = {"OMPI_COMM_WORLD_SIZE": "16", "OMPI_COMM_WORLD_LOCAL_SIZE": "8", **names}
    result = on_node("from=openmpi", *settings, "--", "--", "env", "-0", env=env, **more)
    return environment(result), result.stderr.decode()


@pytest.mark.parametrize("local", [0, 1])
def test_cores_outside_the_pod(on_node: Runner, node: Node, local: int) -> None:
    """Nor is its memory bound then, which would be far from its cores."""
    node.stand_in("taskset", REFUSED)
    _, said = rank(on_node, local, "cpus=0-7;8-15", "membind=0;1", "besteffort=1")
    assert said.count("\n") == 1 - local
    assert ("dgx004: neither cores nor memory are bound" in said) == (local == 0)
    assert node.policy() is None


def test_a_rank_whose_cores_alone_are_outside_says_so(on_node: Runner, node: Node) -> None:
    node.stand_in(
        "taskset", 'case $* in *8-15*) exit 1 ;; *) [ "$1" = -pc ] || { shift 2; exec "$@"; } ;; esac'
    )
    assert rank(on_node, 0, "cpus=0-7;8-15", "besteffort=1")[1] == ""
    said = rank(on_node, 1, "cpus=0-7;8-15", "besteffort=1")[1]
    assert said.startswith("hpclaunch: dgx004: neither cores nor memory are bound")
    assert "8-15" in said


@pytest.mark.parametrize("policy", ["membind", "preferred"])
@pytest.mark.parametrize("local", [0, 1])
def test_memory_that_seccomp_does_not_let_be_bound(
    on_node: Runner, node: Node, local: int, policy: str
) -> None:
    node.stand_in("numactl", 'echo "set_mempolicy: Operation not permitted" >&2; exit 1')
    _, said = rank(on_node, local, "cpus=0-7;8-15", f"{policy}=0;1", "besteffort=1")
    assert node.cores() == ("8-15" if local else "0-7")
    assert said.count("\n") == 1 - local
    assert ("dgx004: memory is not bound" in said) == (local == 0)


def test_what_can_be_bound_is(on_node: Runner, node: Node) -> None:
    _, said = rank(on_node, 1, "cpus=0-7;8-15", "membind=0;1", "besteffort=1")
    assert (node.cores(), node.policy(), said) == ("8-15", "--membind=1", "")


def test_without_it_a_refusal_ends_the_job(on_node: Runner, node: Node) -> None:
    node.stand_in("taskset", REFUSED)
    env = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    env |= {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    assert on_node("from=openmpi", "cpus=0-7", "--", "--", "true", env=env).returncode == 121


def test_the_real_kernel_refuses_cores_that_are_not_there(run: Runner) -> None:
    env = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    env |= {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    result = run("from=openmpi", "cpus=4000", "membind=0", "besteffort=1", "--", "--", "echo", "ran", env=env)
    assert (result.returncode, result.stdout) == (0, b"ran\n")
    assert result.stderr.count(b"\n") == 1
    own = ",".join(map(str, os.sched_getaffinity(0)))
    # A list of which the pod has only some is bound to these.
    result = run("from=openmpi", f"cpus={own},4000", "besteffort=1", "--", "--", "echo", "ran", env=env)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"ran\n", b"")


HCAS = (f"hcas=mlx5_0/{A}/1/InfiniBand mlx5_1/{B}/1/InfiniBand", "near=1:0,1;1:1,0")


def virtual(node: Node, name: str, pci: str, card: str, uverbs: int, **more: object) -> None:
    """A virtual function: a device of its own, whose physfn is the card."""
    node.hca(name, pci, uverbs, **more)  # type: ignore[arg-type]
    (node.root / f"sys/devices/pci0000:00/0000:00:01.0/{pci}/physfn").symlink_to(f"../{card}")


def test_a_virtual_function_that_opens_stands_for_its_card(on_node: Runner, node: Node) -> None:
    """/sys shows all of the node's; the pod was given one of each card."""
    node.hca("mlx5_0", A, 0, opens=False)
    node.hca("mlx5_1", B, 1, opens=False)
    virtual(node, "mlx5_2", "0000:0c:00.1", A, 2, opens=False)
    virtual(node, "mlx5_3", "0000:0c:00.2", A, 3)
    virtual(node, "mlx5_4", "0000:12:00.1", B, 4)
    for local, own in ((0, "mlx5_3:1"), (1, "mlx5_4:1")):
        got, said = rank(on_node, local, *HCAS)
        assert (got["NCCL_IB_HCA"], got["UCX_NET_DEVICES"], said) == ("=mlx5_3:1,mlx5_4:1", own, "")


def test_a_card_that_opens_itself_is_used(on_node: Runner, node: Node) -> None:
    node.hca("mlx5_0", A, 0)
    node.hca("mlx5_1", B, 1)
    virtual(node, "mlx5_2", "0000:0c:00.1", A, 2)
    assert rank(on_node, 0, *HCAS)[0]["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_1:1"


def test_where_the_pod_sees_only_its_own_functions(on_node: Runner, node: Node) -> None:
    """RDMA devices can belong to a network: the cards are in another one."""
    for card in (A, B):
        node.write(f"sys/devices/pci0000:00/0000:00:01.0/{card}/numa_node", "0")
    virtual(node, "mlx5_9", "0000:0c:00.5", A, 9)
    got, said = rank(on_node, 0, *HCAS)
    assert (got["NCCL_IB_HCA"], got["UCX_NET_DEVICES"]) == ("=mlx5_9:1", "mlx5_9:1")
    assert said.count("\n") == 1
    assert f"mlx5_1 ({B}): absent" in said


def test_where_no_function_can_be_used_the_cards_reason_is_said(on_node: Runner, node: Node) -> None:
    node.hca("mlx5_0", A, 0, opens=False)
    node.hca("mlx5_1", B, 1)
    virtual(node, "mlx5_2", "0000:0c:00.1", A, 2, opens=False)
    got, said = rank(on_node, 0, *HCAS)
    assert got["NCCL_IB_HCA"] == "=mlx5_1:1"
    assert f"mlx5_0 ({A}): /dev/infiniband/uverbs0 does not open" in said


LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  65536  65536  bytes"


@pytest.mark.parametrize(
    ("capabilities", "lifted"),
    [("0000000000004000", True), ("00000000a80465fb", True), ("00000000a80425fb", False), ("0", False)],
)
def test_ipc_lock_lifts_the_limit_of_a_pod(
    on_node: Runner, node: Node, capabilities: str, lifted: bool
) -> None:
    """The second is what container runtimes give, with IPC_LOCK; the third without."""
    node.hca("mlx5_0", A, 0)
    node.write("proc/self/limits", LIMITS)
    node.write("proc/self/status", f"{STATUS}CapEff:\t{capabilities}\nCpus_allowed_list:\t0-7")
    env = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    env |= {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    result = on_node("from=openmpi", "memlock=1048576", "verify=1", "--", "--", "echo", "ran", env=env)
    assert result.stdout == (b"ran\n" if lifted else b"")
    assert (b"memlock=unlimited" in result.stderr) == lifted
    assert (b"64 KiB, too low for InfiniBand" in result.stderr) == (not lifted)
    # Of a job of Pyxis it does not tell.
    assert on_node("from=slurm", "memlock=1048576", "--", "--", "echo", "ran").returncode == 121
