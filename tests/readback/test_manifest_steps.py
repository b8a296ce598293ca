"""Steps, trials and stage_in of a manifest: what is read is what the job says, and each change shows."""

from typing import Any

import pytest
import rendered
import yaml
from rendered import CLUSTER, JOB, SLURM, Change, container, found

from hpclaunch.cli.planning import plan_job
from hpclaunch.readback.kubernetes.reader import read
from hpclaunch.readback.place import Place, Side
from hpclaunch.readback.script import read as read_script
from hpclaunch.values.steps import StageIn

MORE: dict[str, Any] = {
    "trials": {"count": 3, "first_seed": 7, "seed": "MY_SEED"},
    "stage_in": ["data:/raid/data", "/lustre/more:/raid/more"],
    "setup": [
        {"run": ["pip", "install", "a  b", "$$(HOME) `x`\n", "--", "", "title=x"], "name": "pip"},
        {"run": "echo $$ > /tmp/it's", "per": "job", "optional": True},
    ],
    "before_each": [{"run": "sync", "per": "rank"}],
    "after": [{"run": "nvidia-smi"}, {"run": "dmesg", "per": "job"}],
}
FULL = {**JOB, **MORE}
# The one node of the cluster has one rank and no mpirun.
ONE_RANK = {**FULL, "nodes": 1, "gpus_per_node": 1, "ranks_per_node": 1}
SHAPES: dict[str, dict[str, Any]] = {
    "two nodes": FULL,
    "MPICH": {**FULL, "container": {"mpi": "mpich"}},
    "one node": {**FULL, "nodes": 1},
    "one rank": ONE_RANK,
    "part of nodes": {**FULL, "gpus_per_node": 2, "verify": True},
    "trials alone": {**JOB, "trials": 2},
    "one trial without a seed": {**JOB, "trials": {"count": 1, "seed": None}},
    "no trials": {key: value for key, value in FULL.items() if key != "trials"},
    "stage_in alone": {**JOB, "stage_in": MORE["stage_in"]},
    "steps of ranks alone": {
        **JOB,
        "before_each": MORE["before_each"],
        "trials": {"count": 2, "keep_going": True},
    },
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_read_is_what_the_job_says(name: str, tmp_path: Any) -> None:
    job = rendered.write(tmp_path, "job", SHAPES[name])
    site = rendered.write(tmp_path, "cluster", CLUSTER)
    common = plan_job(str(job), str(site), ()).plan.common
    text, _ = rendered.render(tmp_path, SHAPES[name], CLUSTER)
    launch = read(text)
    assert (launch.unread, launch.unbridged) == ((), ())
    assert launch.steps == common.steps
    assert launch.trials == common.trials
    staged = (
        (
            StageIn("", "/raid/data", "claim data-pvc sets/1"),
            StageIn("/lustre/more", "/raid/more"),
        )
        if "stage_in" in SHAPES[name]
        else ()
    )
    assert launch.stage_in == staged
    plain = read(rendered.render(tmp_path, {**SHAPES[name], **_without()}, CLUSTER)[0])
    assert launch.argv == plain.argv
    assert launch.environment == plain.environment
    assert (launch.nodes, launch.ranks_per_node, launch.tables) == (
        plain.nodes,
        plain.ranks_per_node,
        plain.tables,
    )


def _without() -> dict[str, Any]:
    return {"trials": None, "stage_in": [], "setup": [], "before_each": [], "after": []}


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Place]:
    return rendered.render(tmp_path_factory.mktemp("steps"), FULL, CLUSTER)


def args(manifest: dict[str, Any]) -> list[str]:
    words: list[str] = container(manifest, "Launcher")["args"]
    return words


def word(old: str, *new: str) -> Change:
    def change(manifest: dict[str, Any]) -> None:
        words = args(manifest)
        at = words.index(old)
        words[at : at + 1] = new

    return change


def swap(one: str, other: str) -> Change:
    """Two steps for each other, by the beginnings of their titles; `other` comes right after `one`."""

    def change(manifest: dict[str, Any]) -> None:
        words = args(manifest)
        starts = [at - 1 for at, each in enumerate(words) if each.startswith("title=")] + [len(words)]
        first, second = (
            next(at for at in starts if words[at + 1].startswith(f"title={title}")) for title in (one, other)
        )
        end = starts[starts.index(second) + 1]
        words[first:end] = words[second:end] + words[first:second]

    return change


def init(change: Any) -> Change:
    def on_manifest(manifest: dict[str, Any]) -> None:
        pod = manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        change(pod, pod["initContainers"][0])

    return on_manifest


def more_text(text: list[str]) -> None:
    text[2] += "\n:"


def path(name: str, **fields: str) -> Change:
    def change(pod: dict[str, Any], _: dict[str, Any]) -> None:
        volume = next(each for each in pod["volumes"] if each["name"] == name)
        (source,) = (each for key, each in volume.items() if key != "name")
        source.update(fields)

    return init(change)


PIP, NVIDIA = "step setup 1: pip", "step after 1: nvidia-smi"
BREAKS: dict[str, tuple[Change, set[str]]] = {
    "another command": (word("=install", "=uninstall"), {f"{PIP}: command"}),
    "dollars of a step halved": (word("=$$$$(HOME) `x`\n", "=$$(HOME) `x`\n"), {f"{PIP}: command"}),
    "a word fewer": (word("=a  b"), {f"{PIP}: command"}),
    "an empty word": (word("=install", "=install", "="), {f"{PIP}: command"}),
    "once for the job": (word("setup=node", "setup=job"), {f"{PIP}: per"}),
    "as ranks": (word("after=node", "after=rank"), {f"{NVIDIA}: per"}),
    "once on each node": (word("before_each=rank", "before_each=node"), {"step before_each 1: sync: per"}),
    "at another time": (word("before_each=rank", "after=rank"), {"step before_each 1: sync: when"}),
    "no longer optional": (word("optional=1"), {"step setup 2: echo $$ > /tmp/it's: optional"}),
    "optional": (
        word("title=after 1: nvidia-smi", "title=after 1: nvidia-smi", "optional=1"),
        {f"{NVIDIA}: optional"},
    ),
    "another order": (swap("setup 1", "setup 2"), {"order of steps"}),
    "a trial more": (word("trials=3", "trials=4"), {"trials"}),
    "no trials": (
        lambda manifest: args(manifest).__delitem__(
            slice(args(manifest).index("trials=3"), args(manifest).index("setup=node"))
        ),
        {"trials"},
    ),
    "another seed": (word("first_seed=7", "first_seed=8"), {"seeds of trials"}),
    "random seeds": (word("first_seed=7"), {"seeds of trials"}),
    "another variable": (word("seed=MY_SEED", "seed=SEED"), {"seeds of trials"}),
    "trials go on": (word("trials=3", "trials=3", "keep_going=1"), {"trials go on after a failure"}),
    "another setting": (word("trials=3", "trials=3", "colour=red"), {"not understood"}),
    "a word of its own": (word("=install", "install"), {f"{PIP}: command", "not understood"}),
    "another text beside steps": (
        lambda manifest: args(manifest).__setitem__(args(manifest).index("hpclaunch-step") - 1, "exit 0"),
        {"the text beside steps"},
    ),
    "ranks where the step has none": (
        lambda manifest: args(manifest).insert(args(manifest).index("hpclaunch-step") + 1, "cpus=0;1"),
        {"the text beside steps", "the wrapper of steps has cpus=0;1 from=openmpi"},
    ),
    "another init container": (
        init(lambda _, staging: more_text(staging["command"])),
        {"the init container hpclaunch-stage-in", "stage_in 1", "stage_in 2"},
    ),
    "another image of it": (
        init(lambda _, staging: staging.update(image="busybox")),
        {"the init container hpclaunch-stage-in", "stage_in 1", "stage_in 2", "images of init containers"},
    ),
    "no init container": (
        init(lambda pod, _: pod.pop("initContainers")),
        {"stage_in 1", "stage_in 2", "images of init containers"},
    ),
    "one folder fewer": (
        init(lambda _, staging: staging.update(args=staging["args"][:3])),
        {"stage_in 2"},
    ),
    "another source": (path("stage-in-1-source", path="/lustre/other"), {"stage_in 2: source"}),
    "another target": (path("stage-in-1-target", path="/raid/other"), {"stage_in 2: target"}),
    "both swapped": (
        init(lambda _, staging: staging["args"].__setitem__(slice(3, 5), staging["args"][3:5][::-1])),
        {"stage_in 2: source", "stage_in 2: target"},
    ),
}
# Only seen where pods are compared with pods.
OF_PODS = {"images of init containers"}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found_and_nothing_else(name: str, manifest: tuple[str, Place]) -> None:
    change, expected = BREAKS[name]
    assert rendered.found_both_ways(manifest, change) == (expected, expected)


@pytest.fixture(scope="module")
def on_slurm(tmp_path_factory: pytest.TempPathFactory) -> Side:
    return rendered.on_slurm(tmp_path_factory.mktemp("slurm"), FULL)


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_found_beside_the_script_for_slurm(
    name: str, manifest: tuple[str, Place], on_slurm: Side
) -> None:
    change, expected = BREAKS[name]
    assert rendered.found_beside(on_slurm, manifest, change) == (set(), expected - OF_PODS)


def test_a_step_on_the_host_has_no_counterpart(tmp_path: Any) -> None:
    drop = {"run": "echo 3 > /proc/sys/vm/drop_caches", "where": "host", "optional": True, "name": "caches"}
    job = {**FULL, "before_each": [drop, *FULL["before_each"]]}
    sides = []
    for site, reader in ((SLURM, read_script), (CLUSTER, read)):
        text, where = rendered.render(tmp_path, job, site)
        sides.append(Side(reader(text), where))
    for one, other in (sides, sides[::-1]):
        (difference,) = found(one, other)
        assert difference.what == "step before_each 1: caches"
        assert difference.kind == "unbridged"
        assert "host" in difference.why


def test_what_is_written_again_is_read_the_same(manifest: tuple[str, Place]) -> None:
    text, _ = manifest
    assert read(yaml.safe_dump(yaml.safe_load(text))) == read(text)
