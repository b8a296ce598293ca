"""What counts as the same launch: nothing of the job's differs, and what a place adds by itself is said."""

from typing import Any, Literal

import pytest
from msgspec import structs

from hpclaunch.readback.compare import are_same, compare
from hpclaunch.readback.place import Place, Side
from hpclaunch.values.launch import (
    Difference,
    Launch,
    SeenMount,
    SeenSeat,
    SeenTable,
    SeenVariable,
    Unbridged,
)

HCAS = ("mlx5_0/0000:0c:00.0/1/InfiniBand", "mlx5_1/0000:12:00.0/1/InfiniBand")
SEATS = (
    SeenSeat(0, (0, 1), (0,), "membind", HCAS[:1], HCAS[1:]),
    SeenSeat(1, (2, 3), (1,), "membind", HCAS[1:], HCAS[:1]),
)
ON_SLURM = Launch(
    scheduler="slurm",
    name="Job_1",
    nodes=2,
    ranks_per_node=2,
    gpus_per_node=2,
    whole_node=True,
    apart=True,
    numbering="block",
    one_failure_ends_all=True,
    retries=0,
    seconds=60,
    image="nvcr.io/nvidia/x:1",
    argv=("run", "a b"),
    cwd="/work",
    environment=(SeenVariable("A", "1"), SeenVariable("IFNAME", "ib0"), SeenVariable("S", source="secret")),
    before=(SeenVariable("A", "1"),),
    mounts=(SeenMount("/data", "path", "/lustre/data", read_only=True),),
    tables=(SeenTable("", SEATS, HCAS),),
    settings=(("memlock", "1048576"),),
    wrapper="own",
)
IN_PODS = structs.replace(
    ON_SLURM,
    scheduler="kubernetes",
    name="job-1",
    environment=(
        SeenVariable("A", "1"),
        SeenVariable("IFNAME", "eth0"),
        SeenVariable("S", "job-1-env/S", "secret"),
    ),
    before=(),
    mounts=(SeenMount("/data/", "claim", "data-pvc", "one", read_only=True),),
    settings=(("besteffort", "1"), ("memlock", "1048576"), ("port", "29500")),
    rights=("capability IPC_LOCK", "user 0"),
    resources=(("cpu", "4"), ("memory", "9Gi"), ("rdma/a", "2")),
)
SUPERPOD = Place(
    name="superpod",
    volumes={"data": ("path", "/lustre/data/", "")},
    variables={"IFNAME": "ib0"},
    node_types={"": "small"},
    gpus_of_node=2,
)
CLUSTER = Place(
    name="cluster",
    volumes={"data": ("claim", "data-pvc", "/one/")},
    variables={"IFNAME": "eth0"},
    node_types={"": "small"},
    gpus_of_node=2,
    rdma={"mlx5_0": "rdma/a", "0000:12:00.0": "rdma/a"},
)


def differences(a: Side, b: Side) -> dict[str, Difference]:
    both = compare(a, b), compare(b, a)
    mirrored = [structs.replace(each, a=each.b, b=each.a) for each in both[1]]
    assert sorted(both[0], key=str) == sorted(mirrored, key=str)
    return {each.what: each for each in both[0]}


def after(of_pods: dict[str, Any], place: dict[str, Any] | None = None) -> dict[str, Difference]:
    """What is added to or gone from the differences of two launches that are the same."""
    same = differences(Side(ON_SLURM, SUPERPOD), Side(IN_PODS, CLUSTER))
    pods = Side(structs.replace(IN_PODS, **of_pods), structs.replace(CLUSTER, **(place or {})))
    found = differences(Side(ON_SLURM, SUPERPOD), pods)
    return {what: each for what, each in found.items() if each != same.get(what)}


def test_the_same_launch_at_two_places() -> None:
    found = differences(Side(ON_SLURM, SUPERPOD), Side(IN_PODS, CLUSTER))
    assert {what: each.kind for what, each in found.items()} == dict.fromkeys(
        (
            "name",
            "environment IFNAME",
            "mount /data",
            "setting besteffort",
            "setting port",
            "rights: capability IPC_LOCK",
            "rights: user 0",
            "limit memory",
        ),
        "place",
    )
    assert all(each.why for each in found.values())
    assert are_same(tuple(found.values()))


def test_how_slurms_pmix_waits_differs_between_scripts_and_is_no_matter_of_pods() -> None:
    ring, tree = (
        Side(structs.replace(ON_SLURM, before=(*ON_SLURM.before, SeenVariable("SLURM_PMIX_FENCE", value))))
        for value in ("ring", "tree")
    )
    what = "outside the ranks SLURM_PMIX_FENCE"
    assert [(each.what, each.a, each.b) for each in compare(ring, tree)] == [(what, "ring", "tree")]
    assert [each.what for each in compare(Side(ON_SLURM), tree)] == [what]
    assert differences(ring, Side(IN_PODS)) == differences(Side(ON_SLURM), Side(IN_PODS))


def test_without_knowing_the_places_nothing_is_put_down_to_them() -> None:
    found = differences(Side(ON_SLURM), Side(IN_PODS))
    assert {what for what, each in found.items() if each.kind != "place"} == {
        "environment IFNAME",
        "mount /data",
    }


def variables(**values: str) -> dict[str, Any]:
    return {"environment": tuple(SeenVariable(*pair) for pair in values.items()) + IN_PODS.environment[2:]}


def secret(value: str, source: Literal["secret", "submitter"] = "secret") -> dict[str, Any]:
    return {"environment": (*IN_PODS.environment[:2], SeenVariable("S", value, source))}


@pytest.mark.parametrize(
    ("changes", "place", "expected"),
    [
        # A variable is of the place where each text has what its own site says.
        (variables(A="1", IFNAME="eth1"), {}, {"environment IFNAME"}),
        (variables(A="1"), {}, {"environment IFNAME"}),
        (variables(A="1"), {"variables": {}}, set()),
        (variables(A="1", IFNAME="eth0", NEW="1"), {}, {"environment NEW"}),
        (variables(A="1", IFNAME="eth0", NEW="1"), {"variables": {"IFNAME": "eth0", "NEW": "1"}}, set()),
        (variables(A="2", IFNAME="eth0"), {"variables": {"IFNAME": "eth0", "A": "2"}}, {"environment A"}),
        ({"environment": IN_PODS.environment[:2]}, {}, {"environment S"}),
        (secret("job-1-env/S", "submitter"), {}, {"environment S"}),
        (secret("job-1-env/T"), {}, {"environment S: its key"}),
        (secret("team/s"), {"secrets": {"S": "team/s"}}, set()),
        (secret("job-1-env/S"), {"secrets": {"S": "team/s"}}, {"environment S: its key"}),
        # A volume is the site's own form of it, to the folder and the access.
        ({"mounts": (SeenMount("/data", "claim", "data-pvc", "two", True),)}, {}, {"mount /data"}),
        ({"mounts": (SeenMount("/data", "claim", "data-pvc", "one"),)}, {}, {"mount /data: access"}),
        ({"mounts": (SeenMount("/data", "path", "/lustre/data", "", True),)}, {}, set()),
        ({"mounts": (SeenMount("/data", "path", "/lustre", "data", True),)}, {}, set()),
        ({"mounts": ()}, {}, {"mount /data"}),
        ({"mounts": (*IN_PODS.mounts, SeenMount("/x", "empty", ""))}, {}, {"mount /x"}),
        # Devices of HCAs: one for each that ranks are told of.
        ({"resources": (("cpu", "4"), ("rdma/a", "1"))}, {}, {"devices of rdma/a"}),
        ({}, {"rdma": {"mlx5_0": "rdma/a"}}, {"HCAs without a resource", "devices of rdma/a"}),
        ({}, {"rdma": None}, set()),
        ({"resources": (("cpu", "4"), ("x/y", "1"))}, {"rdma": None}, {"devices of HCAs"}),
        # Nodes.
        ({"apart": False}, {}, {"each part of the job on a node of its own", "no other job on the nodes"}),
        ({}, {"gpus_of_node": 4}, {"no other job on the nodes"}),
        ({"gpu_kind": "1g.5gb"}, {}, {"kind of GPU"}),
        # Rights.
        ({"rights": ("privileged",)}, {}, {"rights: privileged"}),
        ({"rights": ("capability SYS_ADMIN",)}, {}, {"rights: capability SYS_ADMIN"}),
        ({"rights": ("the node's network",)}, {}, set()),
        # Ends.
        ({"seconds": 61}, {}, {"time limit"}),
        ({"seconds": None}, {}, {"time limit"}),
        ({"retries": -1}, {}, {"retries after a failure"}),
        # What nobody can compare.
        ({"unread": ("spec.x: 1",)}, {}, {"not understood"}),
        ({"unbridged": (Unbridged("suspend", "w"),)}, {}, {"suspend"}),
        ({"wrapper": "another text"}, {}, {"text beside each rank"}),
        ({"settings": (("memlock", "1"),)}, {}, {"setting memlock"}),
        ({"image": "nvcr.io/nvidia/x:2"}, {}, {"image"}),
        ({"cwd": ""}, {}, {"working folder"}),
        ({"argv": ("run",)}, {}, {"command from word 1 on"}),
    ],
)
def test_what_makes_two_launches(changes: dict[str, Any], place: dict[str, Any], expected: set[str]) -> None:
    assert {what for what, each in after(changes, place).items() if each.kind != "place"} == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ubuntu", "docker.io/library/ubuntu:latest", True),
        ("docker://ubuntu:22.04", "ubuntu:22.04", True),
        ("team/x", "docker.io/team/x:latest", True),
        ("localhost:5000/x:1", "localhost:5000/x", False),
        ("x@sha256:ab", "x", False),
        ("/images/x.sqsh", "x", False),
    ],
)
def test_names_of_images(one: str, other: str, same: bool) -> None:
    sides = (Side(structs.replace(ON_SLURM, image=image)) for image in (one, other))
    assert are_same(compare(*sides)) is same


def seats(**changes: Any) -> dict[str, Any]:
    first = structs.replace(SEATS[0], **changes)
    return {"tables": (SeenTable("", (first, SEATS[1]), HCAS),)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (seats(cpus=(0,)), "local rank 0: cores"),
        (seats(mems=(1,)), "local rank 0: memory"),
        (seats(memory="preferred"), "local rank 0: memory"),
        (seats(hcas=HCAS[1:]), "local rank 0: HCAs"),
        (seats(next_hcas=()), "local rank 0: HCAs in reserve"),
        (seats(gpus=(1,)), "local rank 0: GPUs"),
        ({"tables": (SeenTable("", SEATS, (HCAS[0], "mlx5_1/0000:12:00.0/2/InfiniBand")),)}, "HCA 1"),
        ({"tables": (SeenTable("", SEATS, HCAS, (("cores", "0.0:0-1"),)),)}, "on a part of a node: cores"),
    ],
)
def test_places_of_ranks_on_one_type_of_node(changes: dict[str, Any], expected: str) -> None:
    assert expected in {what for what, each in after(changes).items() if each.kind == "difference"}


def test_other_names_of_hcas_at_the_same_addresses_are_of_the_place() -> None:
    renamed = tuple(hca.replace("mlx5_", "mlx5_bond") for hca in HCAS)
    table = SeenTable(
        "",
        tuple(
            structs.replace(seat, hcas=(renamed[rank],), next_hcas=(renamed[1 - rank],))
            for rank, seat in enumerate(SEATS)
        ),
        renamed,
    )
    found = after({"tables": (table,)}, {"rdma": None})
    assert {what: each.kind for what, each in found.items()} == {"compute HCAs of a node": "place"}


def test_another_type_of_node_is_compared_by_numbers_in_one_line_each() -> None:
    elsewhere = tuple(structs.replace(seat, cpus=(8, 9), mems=(5,)) for seat in SEATS)
    large = {"node_types": {"": "large"}}
    found = after({"tables": (SeenTable("", elsewhere, tuple(f"{hca}x" for hca in HCAS)),)}, large)
    assert {each.kind for each in found.values()} == {"place"}
    more = tuple(structs.replace(seat, cpus=(8, 9, 10), mems=(5, 6), hcas=()) for seat in SEATS)
    found = after({"tables": (SeenTable("", more, HCAS[:1]),), "resources": (("rdma/a", "2"),)}, large)
    assert {what: (each.a, each.b) for what, each in found.items() if each.kind == "difference"} == {
        "cores of each rank": ("2 CPUs", "3 CPUs"),
        "memory of each rank": ("membind of 1 NUMA nodes", "membind of 2 NUMA nodes"),
        "HCAs of each rank": ("1", "0"),
        "compute HCAs of a node": ("2: mlx5_0/0000:0c:00.0 mlx5_1/0000:12:00.0", "1: mlx5_0/0000:0c:00.0"),
        "devices of rdma/a": ("all", "2 for 1"),
    }
    assert found["cores of each rank"].why == "large and small differ"


def test_a_pod_with_fewer_cores_than_its_ranks_are_bound_to() -> None:
    found = after({"resources": (("cpu", "3"), ("memory", "9Gi"), ("rdma/a", "2"))})
    assert {what: (each.kind, each.a, each.b) for what, each in found.items()} == {
        "the 4 CPUs that ranks are bound to": ("difference", "all", "3 of them")
    }


def test_the_one_gpu_of_a_node_is_seen_whoever_binds_it() -> None:
    bound = structs.replace(ON_SLURM, unbridged=(Unbridged("--gpu-bind=per_task:1", "w"),))
    assert "--gpu-bind=per_task:1" in differences(Side(bound), Side(IN_PODS))
    one, other = (structs.replace(each, gpus_per_node=1) for each in (bound, IN_PODS))
    assert "--gpu-bind=per_task:1" not in differences(Side(one), Side(other))


def test_tables_of_several_types_are_held_against_their_own() -> None:
    types = {"a[1-9]": "small", "b[1-9]": "large"}
    one = structs.replace(
        ON_SLURM, tables=(SeenTable("a[1-9]", SEATS, HCAS), SeenTable("b[1-9]", SEATS[::-1], HCAS))
    )
    turned = structs.replace(one, tables=one.tables[::-1])
    place = structs.replace(SUPERPOD, node_types=types)
    assert differences(Side(one, place), Side(turned, place)) == {}
    fewer = structs.replace(one, tables=one.tables[:1])
    found = differences(Side(one, place), Side(fewer, structs.replace(place, node_types={"a[1-9]": "small"})))
    assert found["large: places of ranks"].kind == "difference"


def test_a_secret_that_the_cluster_keeps_is_said() -> None:
    pods = structs.replace(IN_PODS, **secret("team/s"))
    place = structs.replace(CLUSTER, secrets={"S": "team/s"})
    found = differences(Side(ON_SLURM, SUPERPOD), Side(pods, place))["environment S"]
    assert (found.kind, found.b) == ("place", "a secret's team/s")


def test_no_limit_of_time_is_the_partitions_on_slurm() -> None:
    sides = (
        Side(structs.replace(ON_SLURM, seconds=None), SUPERPOD),
        Side(structs.replace(IN_PODS, seconds=None), CLUSTER),
    )
    assert differences(*sides)["time limit"].kind == "place"
