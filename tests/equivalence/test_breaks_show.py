"""The comparison sees what it is there for: a manifest that was changed gives ranks that differ."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from both_sides import Place, Ran, Submitted, in_pods, submit, under_slurm
from differences import between
from msgspec import structs

VALUES = ["$(KUBERNETES_PORT)", "$$", "a, b\nc"]


@pytest.fixture(scope="module")
def ran(place: Place, tmp_path_factory: pytest.TempPathFactory) -> tuple[Submitted, Ran]:
    """A job that ran under Slurm."""
    path = tmp_path_factory.mktemp("job") / "job.yaml"
    job = {"name": "made-up", "image": "made/up:1", "nodes": 2, "ranks_per_node": 2, "mpi": "pmix"}
    job |= {"command": [str(place.image / "bin" / "recorder"), *VALUES], "rendezvous": "torch"}
    path.write_text(yaml.safe_dump({"version": 1, **job, "env": {"OURS": VALUES[0]}, "secrets": ["TOKEN"]}))
    both = submit(place, path, shell={"TOKEN": "t0ken"})
    return both, under_slurm(place, both)


def words(manifest: Any, change: Callable[[list[str]], list[str]]) -> None:
    container = manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["args"] = change(container["args"])


BREAKS: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "dollars halved": (
        lambda args: [word.replace("$$", "$") if word in _OURS else word for word in args],
        "argv",
    ),
    "a variable dropped": (lambda args: [word for word in args if not word.startswith("OURS=")], "OURS"),
    "ranks swapped": (
        lambda args: ["near=1:1,0;1:0,1" if word.startswith("near=") else word for word in args],
        "UCX_NET_DEVICES",
    ),
    "one HCA fewer": (
        lambda args: [word.rpartition("\n")[0] if word.startswith("hcas=") else word for word in args],
        "NCCL_IB_HCA",
    ),
    "other cores": (
        lambda args: ["cpus=0-3;4-7" if word.startswith("cpus=") else word for word in args],
        "cpus",
    ),
    "another folder": (
        lambda args: [*args[: args.index("--") + 2], "-wdir", "/usr", *args[args.index("--") + 2 :]],
        "cwd",
    ),
}
_OURS = {f"={value.replace('$', '$$')}" for value in VALUES}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_seen(place: Place, ran: tuple[Submitted, Ran], name: str) -> None:
    both, here = ran
    change, what = BREAKS[name]
    manifest = yaml.safe_load(yaml.safe_dump(both.manifest))
    words(manifest, change)
    there = in_pods(place, structs.replace(both, manifest=manifest), here.given)
    assert there.status == 0, there.said
    found = between(here, there, {"OURS", "TOKEN"}, "made-up")
    assert len([each for each in found if f": {what}: " in each]) == 4
