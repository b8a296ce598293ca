"""The rank table of `explain` where nodes differ, or are shared: nothing is told that need not come true."""

import re

from hpclaunch.plan.planner import Planner
from hpclaunch.report import ranks
from hpclaunch.spec.job import Bind, Job
from hpclaunch.spec.site import NodeGroup, Site, SlurmSite
from hpclaunch.topology import catalogue
from hpclaunch.values.launchplan import LaunchPlan

MACHINES = {name: catalogue.load(name).value for name in ("dgx-a100", "dgx-h100")}
A100, H100 = NodeGroup("dgx-a100", "dgx[1-9]"), NodeGroup("dgx-h100", "hgx[1-9]")


def planned(*groups: NodeGroup, bind: Bind | None = None, **job: int) -> LaunchPlan:
    site = Site("s", "slurm", groups, slurm=SlurmSite("22.05"))
    return Planner(site, MACHINES).plan(Job("j", ("x",), bind=bind or Bind(), directory="/", **job))


def cells(line: str) -> list[str]:
    return re.split("  +", line)


def test_ranks_have_what_all_types_of_node_give_them() -> None:
    plan = planned(A100, H100, nodes=3)
    data = ranks.as_data(plan)
    assert [(rank["rank"], rank["node"], rank["local_rank"]) for rank in data["ranks"]] == [
        (number, number // 8, number % 8) for number in range(24)
    ]
    first, second, *_, last = data["ranks"]
    assert (first["hcas"], first["cpus"], first["mems"]) == (["mlx5_0"], "", "")
    assert (second["gpus"], second["hcas"], second["hca_pci"]) == ([1], [], [])
    assert last["gpus"] == [7]
    a100, h100 = data["shapes"]
    assert (a100["hosts"], a100["ranks"][1]["hcas"], a100["ranks"][1]["cpus"]) == (
        "dgx[1-9]",
        ["mlx5_1"],
        "56-63,184-191",
    )
    assert (h100["hosts"], h100["ranks"][1]["hcas"]) == ("hgx[1-9]", ["mlx5_3"])
    lines = ranks.as_table(plan).splitlines()
    assert [line for line in lines if line.endswith(":")] == ["dgx-a100, dgx[1-9]:", "dgx-h100, hgx[1-9]:"]


def test_one_type_has_all_of_it_in_its_ranks() -> None:
    data = ranks.as_data(planned(A100, nodes=2))
    (shape,) = data["shapes"]
    for rank in data["ranks"]:
        own = {key: value for key, value in rank.items() if key not in ("rank", "node")}
        assert own == shape["ranks"][rank["local_rank"]]
    assert data["ranks"][12]["gpu_pci"] == ["0000:87:00.0"]
    assert data["ranks"][12]["next_hcas"][0] == "mlx5_7"


def test_a_part_of_a_node_has_no_addresses_but_a_table_of_gpus() -> None:
    plan = planned(A100, gpus_per_node=3, ranks_per_node=2)
    data = ranks.as_data(plan)
    assert not data["whole_node"]
    assert [(rank["gpus"], rank["gpu_pci"], rank["cpus"]) for rank in data["ranks"]] == [
        ([0, 1], [], ""),
        ([2], [], ""),
    ]
    gpus = data["shapes"][0]["gpus"]
    assert (gpus[2]["pci"], gpus[2]["cpus"], gpus[2]["hcas"][:2]) == (
        "0000:47:00.0",
        "16-31,144-159",
        ["mlx5_2", "mlx5_3"],
    )
    of_ranks, of_gpus = ranks.as_table(plan).split("\n\n")
    assert [cells(line)[3] for line in of_ranks.splitlines()[1:]] == ["1-2 of 3", "3 of 3"]
    assert [line.split()[0] for line in of_gpus.splitlines()[1:]] == list("01234567")


def test_what_is_not_bound_is_said_to_be_anywhere() -> None:
    def second_columns(bind: Bind, **job: int) -> set[tuple[str, str]]:
        table = ranks.as_table(planned(A100, bind=bind, ranks_per_node=2, **job)).split("\n\n")[0]
        rows = [
            [cell.strip() for cell in line.split("  ") if cell.strip()] for line in table.splitlines()[1:]
        ]
        return {(row[1], row[2]) for row in rows}

    assert second_columns(Bind(cpus="none", memory="none"), gpus_per_node=2) == {("any", "any")}
    assert second_columns(Bind(cpus="none"), gpus_per_node=2) == {("any", "with its GPU")}
    assert second_columns(Bind(), gpus_per_node=0) == {("of the job's", "of the job's")}
