"""Groups on unlike nodes, or with other numbers of ranks on each: one allocation, several, or the reason why
not; and what is told of them."""

import msgspec
import pytest
from unlike_jobs import ALIKE, CHECKED, SITE, TYPES, documents, planned, target

from hpclaunch.plan.origins import Sources, origins
from hpclaunch.plan.sweep import launches
from hpclaunch.readback import script as reader
from hpclaunch.render import script
from hpclaunch.report import picture, ranks
from hpclaunch.report.page import page
from hpclaunch.report.scene import Text
from hpclaunch.topology import catalogue
from hpclaunch.topology.outline import outline
from hpclaunch.values.errors import InputError


def test_unlike_nodes_are_an_allocation_each_and_unlike_ranks_are_in_one() -> None:
    assert len(target(planned()).components) == 1
    assert not target(planned(*ALIKE)).components
    # On a part of a node the CPUs go by the ranks, so that sbatch is asked in other words.
    assert target(planned(*ALIKE, "world=separate", "gpus_per_node=4")).components
    assert target(planned(*ALIKE, "world=separate", "groups.train.sites.mixed.partition=big")).components


REFUSED = [
    (("sites.mixed.node_type=dgx-a100", "groups.train.gpu_type=b200"), "no GPUs of type b200"),
    (("groups.train.nodes=9",), "group train: 9 nodes"),
    (
        ("groups.train.gpu_type=h100", "groups.evaluate.gpu_type=a100"),
        "come after those of group train: write evaluate before train, or take world: separate",
    ),
    ((*ALIKE, "gpus_per_node=4"), "come after those of group train: take world: separate"),
    ((*ALIKE, "groups.train.nodes=5"), "9 nodes of type dgx-a100, and site mixed has 8"),
    (("groups.train.nodes=8", "preflight={gpu: true, spares: 1}"), "group train: 9 nodes, and site mixed"),
    ((*ALIKE, "preflight={gpu: true, spares: 2}"), "9 nodes, and site mixed has 8"),
    (("chain=2",), "chain: not with groups whose nodes are asked for in other words: it is a job array"),
    (("groups.train.env.OMPI_MCA_x=1",), "train has 1 and evaluate unset: set it in the job's env"),
    (("groups.train.sites.mixed.node_type=dgx-2",), "group train: site mixed has no nodes of type dgx-2"),
]


@pytest.mark.parametrize(("sets", "message"), REFUSED)
def test_what_cannot_be_is_refused(sets: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(*sets)
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1 or "b200" in message


def test_slurm_must_be_able_to_tell_unlike_nodes() -> None:
    groups = {
        "train": {"nodes": 1, "sites": {"mixed": {"node_type": "dgx-a100"}}},
        "evaluate": {"nodes": 1, "sites": {"mixed": {"node_type": "dgx-h100"}}},
    }
    text = msgspec.json.encode(groups).decode()
    with pytest.raises(InputError, match="group train is for dgx-a100 and group evaluate for dgx-h100, but"):
        planned(f"groups={text}")
    groups["train"]["sites"]["mixed"]["partition"] = "hopper"  # type: ignore[index]
    assert target(planned(f"groups={msgspec.json.encode(groups).decode()}")).components


def test_limits_of_a_site_are_for_all_groups_together() -> None:
    assert planned(limits={"gpu_hours": 56})
    with pytest.raises(InputError, match=r"together they are 56.0 GPU-hours, more than the 50"):
        planned(limits={"gpu_hours": 50})
    with pytest.raises(InputError, match="7 nodes are more than the 6"):
        planned(limits={"nodes": 6})


@pytest.mark.parametrize("world", ["one", "separate"])
def test_each_allocation_has_spare_nodes_of_its_own(world: str) -> None:
    plan = planned(f"world={world}", *CHECKED)
    texts = [[each.text for each in of] for of in (target(plan).sbatch, *target(plan).components)]
    assert [next(text for text in of if text.startswith("--nodes=")) for of in texts] == [
        "--nodes=4",
        "--nodes=3",
    ]
    # Of one world Slurm might end one part alone with a node.
    outlives = world == "separate"
    assert [("--no-kill" in of) for of in texts] == [outlives] * 2
    assert any("a node that fails" in each for each in plan.warnings) == (not outlives)
    plan = planned(f"world={world}", *CHECKED, *ALIKE)
    texts = [[each.text for each in target(plan).sbatch]]
    assert {"--nodes=6", "--ntasks-per-node=8"} <= set(texts[0])
    assert ("--no-kill" in texts[0]) == outlives
    assert any("a node that fails" in each for each in plan.warnings) == (not outlives)
    with pytest.raises(InputError, match="7 nodes are more than the 6"):
        planned(f"world={world}", *CHECKED, limits={"nodes": 6})


def test_a_sweep_is_an_array_in_one_allocation_and_else_a_job_for_each_point() -> None:
    points = "sweep={grid: {env.SEED: ['1', '2']}}"
    (found,) = launches(*documents((points, *ALIKE)))
    assert reader.read(script.render(found.plan)).tasks == "0-1"
    found = launches(*documents((points,)))
    read = [reader.read(script.render(each.plan)) for each in found]
    assert [each.tasks for each in read] == ["", ""]
    seeds = [{each.name: each.value for each in launch.environment}["SEED"] for launch in read]
    assert seeds == ["1", "2"]
    limited = points.replace("}}", "}, max_running: 1}")
    with pytest.raises(InputError, match="the groups have an allocation each, so they are several jobs"):
        launches(*documents((limited,)))


def test_every_rank_is_told_with_its_group_and_each_value_with_its_line() -> None:
    job, site, planner = documents(())
    plan = planner.plan(job.value)
    told = ranks.as_data(plan)["ranks"]
    assert [each["rank"] for each in told] == list(range(32))
    assert [(each["node"], each["group"], each["group_rank"]) for each in told[22:28]] == [
        *((2, "train", number) for number in (22, 23)),
        *((3, "evaluate", number) for number in (0, 1)),
        *((4, "evaluate", number) for number in (2, 3)),
    ]
    assert {len(each["cpus"].split(",")) for each in told[:24]} == {2}
    machines = {name: catalogue.load(name) for name in TYPES}
    rows = {each.what: each for each in origins(Sources(job, site, machines), plan)}
    for name, ranks_of_node in (("train", "8"), ("evaluate", "2")):
        assert rows[f"groups.{name}.ranks_per_node"].value == ranks_of_node
    assert rows["groups.evaluate.ranks_per_node"].places[0].path == ("groups", "evaluate", "ranks_per_node")
    assert rows["groups.train.env.LR"].places[0].path == ("groups", "train", "env", "LR")
    assert rows["groups.evaluate.env.LR"].places[0].path == ("env", "LR")
    assert rows["time"].value == "60 minutes"


@pytest.mark.parametrize("sets", [(), ALIKE], ids=["hetjob", "one allocation"])
def test_each_group_has_a_picture_of_its_nodes(sets: tuple[str, ...]) -> None:
    plan = planned(*sets)
    kinds = [each.common.shape.node_type for each in plan.parts]
    machines = [outline(catalogue.load(kind).value, None) for kind in kinds]
    drawn = picture.of_plan(plan, machines)
    titles = [next(item.text for item in each.items if isinstance(item, Text)) for each in drawn]
    assert titles == ["unlike on mixed, group train", "unlike on mixed, group evaluate"]
    assert drawn[1].frame.y >= drawn[0].bottom
    shown = page(plan, machines, (), script.render(plan))
    assert [f"of group {name}</h2>" in shown for name in ("train", "evaluate", "other")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("what", ["qos=high", "reservation=ours", "exclude=dgx1"])
def test_what_slurm_hands_on_to_a_later_group_is_said_for_both_or_by_the_last(what: str) -> None:
    key = what.partition("=")[0]
    train, evaluate = f"groups.train.sites.mixed.{what}", f"groups.evaluate.sites.mixed.{what}"
    with pytest.raises(InputError, match=f"group evaluate has no {key}, and Slurm would give it that of"):
        planned("world=separate", train)
    for sets in ((train, evaluate), (evaluate,)):
        (later,) = target(planned("world=separate", *sets)).components
        assert [option.text for option in later if option.text.startswith(f"--{key}=")]


def test_the_nodes_of_like_groups_are_told_by_what_the_first_says() -> None:
    """Also where the site names them in two entries, which are one shape."""
    kinds = [{"type": "dgx-a100", "hosts": "dgx[1-4]"}, {"type": "dgx-a100", "hosts": "dgx[5-8]"}]
    sets = (*ALIKE, "groups.evaluate.ranks_per_node=8")
    job, site, planner = documents(sets, node_types=[*kinds, SITE["node_types"][1]])
    plan = planner.plan(job.value)
    assert (plan.parts, len(plan.common.shapes)) == ((), 1)
    machines = {name: catalogue.load(name) for name in TYPES}
    rows = {each.what: each for each in origins(Sources(job, site, machines), plan)}
    assert (rows["gpu_type"].value, rows["gpu_type"].places[0].path) == (
        "a100",
        ("groups", "train", "gpu_type"),
    )
    assert (rows["node type"].value, rows["nodes"].value) == ("dgx-a100", "7")


def test_a_type_of_several_entries_is_named_once() -> None:
    entries = [
        {"type": kind, "hosts": hosts, **more}
        for kind, hosts, more in (
            ("dgx-a100", "dgx[1-4]", {}),
            ("dgx-a100", "dgx[5-8]", {"reserved_cpus": "0-1"}),
            ("dgx-h100", "hgx[1-4]", {}),
        )
    ]
    sets = ("world=separate", "groups.train.gpu_type=null", "groups.evaluate.gpu_type=null")
    sets = (*sets, "groups.evaluate.sites.mixed.node_type=dgx-h100")
    with pytest.raises(InputError, match="train is for dgx-a100 or dgx-h100 and group evaluate for dgx-h100"):
        planned(*sets, node_types=entries)
