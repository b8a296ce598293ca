"""Steps, trials and stage_in on Kubernetes: what the plan of pods makes of them, and what it refuses."""

from typing import Any

import pytest
from pod_plans import limits, planned, refused, target, warned, worker

from hpclaunch.values.pods import PodVolume

STAGED: dict[str, Any] = {
    "volumes": {
        "imagenet": {"claim": "imagenet-pvc", "folder": "sets/1", "access": "ReadOnlyMany"},
        "local": {"empty_dir": {"size": "1Ti"}},
        "disk": {"path": "/raid/sets"},
        "conf": {"config_map": "conf"},
        "key": {"path": "/etc/key", "file": True},
        "dshm": {"claim": "c"},
    }
}
STEP = {"run": "true"}


def volumes(*staged: str, **more: Any) -> dict[str, PodVolume]:
    pod = worker({"stage_in": [*staged], **more}, **STAGED)
    found = {volume.name: volume for volume in pod.volumes}
    assert len(found) == len(pod.volumes)
    assert pod.staging is not None
    assert {mount.name for mount in (*pod.mounts, *pod.staging.mounts)} == {*found}
    return found


def test_both_sides_are_mounted_and_the_source_cannot_be_written() -> None:
    job = {"stage_in": ["imagenet:local", "/lustre/coco:disk"], "mounts": ["local:/data:ro"]}
    pod = worker(job, **STAGED)
    assert pod.staging is not None
    assert [(each.source, each.target, each.name) for each in pod.staging.folders] == [
        ("/hpclaunch-stage-in/0/source", "/hpclaunch-stage-in/0/target", "imagenet"),
        ("/hpclaunch-stage-in/1/source", "/hpclaunch-stage-in/1/target", "/lustre/coco"),
    ]
    mounted = {each.mount_path: each for each in pod.staging.mounts}
    assert mounted["/hpclaunch-stage-in/0/source"].sub_path == "sets/1"
    assert [path for path, mount in mounted.items() if mount.read_only] == [
        "/hpclaunch-stage-in/0/source",
        "/hpclaunch-stage-in/1/source",
    ]
    # The ranks' own mount of what was copied is of the same volume.
    assert mounted["/hpclaunch-stage-in/0/target"].name == pod.mounts[0].name


def test_the_init_container_has_what_the_worker_owns() -> None:
    pod = worker({"stage_in": ["disk:/raid/x"]}, {"hugepages": {"2Mi": "1Gi"}}, **STAGED)
    assert pod.staging is not None
    of_worker = limits(pod)
    assert dict(pod.staging.amounts) == {name: of_worker[name] for name in ("cpu", "memory")}


@pytest.mark.parametrize(
    ("staged", "mounts", "made"),
    [
        ("/a:/raid/x", [], {"stage-in-0-target"}),
        ("/a:disk", [], {"disk"}),
        ("/a:disk", ["disk:/data"], {"disk"}),
        ("/a:disk", ["/raid/sets/train:/data", "/raid:/raid", "/raid/sets2:/y"], {"disk", "path-0"}),
        ("disk:local", ["disk:/data"], set()),
    ],
)
def test_folders_that_the_copying_makes(staged: str, mounts: list[str], made: set[str]) -> None:
    found = volumes(staged, mounts=mounts)
    kinds = {name: dict(volume.fields).get("type") for name, volume in found.items()}
    assert {name for name, kind in kinds.items() if kind == "DirectoryOrCreate"} == made
    assert {name for name, kind in kinds.items() if kind == "Directory"} == {
        name for name, volume in found.items() if volume.kind == "hostPath"
    } - made


@pytest.mark.parametrize(
    ("staged", "words"),
    [
        ("disk:imagenet", "can only be read"),
        ("disk:conf", "config map"),
        ("key:local", "key is a file"),
        ("disk:dshm", "another volume called dshm"),
        ("disk:nothing", "no volume 'nothing'"),
    ],
)
def test_what_cannot_be_copied(staged: str, words: str) -> None:
    (found,) = refused({"stage_in": [staged]}, **STAGED).items()
    assert found[0] == ("job", ("stage_in", 0))
    assert words in found[1]


def test_a_launcher_that_starts_with_its_workers_does_not_wait_for_ever() -> None:
    job = {"stage_in": ["disk:local"]}
    words = "waits for what they copy no longer than 600 s"
    assert warned(planned(job, {"mpi_operator": "0.3.0", "worker_wait": 600}, **STAGED), words)
    assert not warned(planned(job, **STAGED), "waits for what they copy")


def test_one_rank_has_a_launcher_only_where_it_has_steps() -> None:
    one = {"nodes": 1, "gpus_per_node": 1}
    assert target(planned(one)).launch == ()
    assert not target(planned(one)).stays
    stays = target(planned({**one, "setup": [STEP]}))
    assert ([option.text for option in stays.launch], stays.starter, stays.stays) == (["mpi=none"], (), True)
    assert [option.text for option in stays.alone] == ["from=local", "rank=0", "ranks=1"]


@pytest.mark.parametrize(
    ("job", "alone"),
    [
        ({"setup": [STEP]}, ["from=openmpi"]),
        (
            {"setup": [STEP], "container": {"mpi": "mpich"}, "rendezvous": "torch", "verify": True},
            ["from=hydra"],
        ),
        ({"setup": [STEP], "nodes": 1}, ["from=local", "rank=0", "ranks=1"]),
        ({"after": [{**STEP, "per": "job"}]}, ["from=openmpi"]),
        ({"after": [{**STEP, "per": "rank"}]}, []),
        ({"trials": 2}, []),
    ],
)
def test_what_is_alone_on_a_node_has_a_number_and_no_more(job: dict[str, Any], alone: list[str]) -> None:
    found = target(planned(job))
    assert found.stays
    assert [option.text for option in found.alone] == alone


def test_steps_on_the_host() -> None:
    drop = {"run": "sync", "where": "host", "name": "drop"}
    found = refused({"setup": [STEP, drop]})
    assert [path for _, path in found] == [("setup", 1, "where")]
    plan = planned({"setup": [STEP, {**drop, "optional": True}], "after": [{**STEP, "name": "end"}]})
    assert [step.title for step in plan.common.steps] == ["setup 1: true", "after 1: end"]
    assert warned(plan, "setup 2: drop: left out")


def test_a_log_of_trials_is_the_launchers() -> None:
    assert warned(planned({"trials": {"count": 2, "log": "x-{trial}.log"}}), "trials.log has no effect")
    assert not warned(planned({"trials": 2}), "trials.log")


def test_an_image_that_is_imported_once_is_pulled() -> None:
    image = {"ref": "registry.example.com/team/app:1", "import": "shared"}
    assert target(planned({"image": image})) == target(planned())
