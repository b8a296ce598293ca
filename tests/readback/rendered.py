"""A job, two sites of Kubernetes and one of Slurm, and what is rendered for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from hpclaunch.cli.places import place
from hpclaunch.cli.planning import plan_job
from hpclaunch.readback.compare import compare
from hpclaunch.readback.kubernetes.reader import read
from hpclaunch.readback.place import Place, Side
from hpclaunch.readback.script import read as read_script
from hpclaunch.render import script
from hpclaunch.values.launch import Difference

JOB = {
    "name": "train",
    "image": "registry.example.com/team/train:1.2",
    "command": ["python", "train.py", "--note", "$(HOME) costs $$5, `x`\n#"],
    "workdir": "/work",
    "nodes": 2,
    "mpi": "pmix",
    "rendezvous": "torch",
    "time": "30m",
    "env": {"NCCL_DEBUG": "INFO", "PRICE": "$$5 $(NCCL_DEBUG) $x", "NVIDIA_DRIVER_CAPABILITIES": "all"},
    "inherit": ["HTTPS_PROXY"],
    "secrets": ["TOKEN"],
    "mounts": ["data:/data:ro", "scratch:/scratch", "/opt/tools:/tools:ro"],
}
_RDMA = {f"mlx5_{number}": f"ib{number}" for number in (0, 1, 2, 3, 6, 7, 8, 9)}
CLUSTER: dict[str, Any] = {
    "name": "cluster",
    "scheduler": "kubernetes",
    "node_types": [{"type": "dgx-a100", "count": 4, "allocatable": {"cpu": 256, "memory": "900Gi"}}],
    "kubernetes": {"namespace": "team", "mpi_operator": "0.8.0", "rdma": _RDMA},
    "network": {"socket_ifname": "eth0"},
    "volumes": {
        "data": {"claim": "data-pvc", "folder": "sets/1"},
        "scratch": {"nfs": {"server": "nfs1", "path": "/s"}},
    },
}
SLURM: dict[str, Any] = {
    "name": "superpod",
    "scheduler": "slurm",
    "node_types": [{"type": "dgx-a100", "hosts": "dgx[001-004]"}],
    "container": "pyxis",
    "slurm": {"version": "22.05", "pyxis": "0.20.0", "mpi_plugin": {"pmix": "pmix"}},
    "network": {"socket_ifname": "ib0"},
    "volumes": {"data": {"path": "/lustre/sets/1"}, "scratch": {"path": "/scratch"}},
}

Change = Callable[[dict[str, Any]], None]


def write(folder: Path, name: str, value: dict[str, Any]) -> Path:
    """A YAML file."""
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"version": 1, **value}, sort_keys=False), encoding="utf-8")
    return path


def render(folder: Path, job: dict[str, Any], site: dict[str, Any]) -> tuple[str, Place]:
    """The text, and what its site says of itself."""
    found = plan_job(str(write(folder, "job", job)), str(write(folder, site["name"], site)), ())
    return script.render(found.plan), place(found)


def side(text: str, where: Place = Place()) -> Side:  # noqa: B008 - frozen
    """A manifest, read."""
    return Side(read(text), where)


def changed(text: str, change: Change) -> str:
    """The manifest after somebody's hand: its value changed and written again."""
    value = yaml.safe_load(text)
    change(value)
    return yaml.safe_dump(value)


def found(one: Side, other: Side) -> list[Difference]:
    """What makes them two launches."""
    return [each for each in compare(one, other) if each.kind != "place"]


def found_both_ways(manifest: tuple[str, Place], change: Change) -> tuple[set[str], set[str]]:
    """What is told of the manifest and the changed one, and of both the other way round."""
    text, where = manifest
    one, other = side(text, where), side(changed(text, change), where)
    return {each.what for each in found(one, other)}, {each.what for each in found(other, one)}


def found_beside(slurm: Side, manifest: tuple[str, Place], change: Change) -> tuple[set[str], set[str]]:
    """What is told of Slurm's script and the manifest, and of the script and the changed one."""
    text, where = manifest
    sides = (side(text, where), side(changed(text, change), where))
    before, after = ({each.what for each in found(slurm, each)} for each in sides)
    return before, after


def on_slurm(folder: Path, job: dict[str, Any]) -> Side:
    """The job's script for Slurm, read."""
    text, where = render(folder, job, SLURM)
    return Side(read_script(text), where)


def container(manifest: dict[str, Any], role: str) -> dict[str, Any]:
    """The container of the Launcher or the Worker."""
    pod = manifest["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
    first: dict[str, Any] = pod["containers"][0]
    return first


def replaced(words: list[str], old: str, new: str | None) -> None:
    """One word of a list for another, or for none."""
    index = words.index(old)
    words[index : index + 1] = [] if new is None else [new]


def setting(words: list[str], name: str, change: Callable[[list[str]], list[str]], mark: str) -> None:
    """The entries of a table of the rank wrapper, changed."""
    index = next(index for index, word in enumerate(words) if word.startswith(f"{name}="))
    entries = words[index].removeprefix(f"{name}=").split(mark)
    words[index] = f"{name}=" + mark.join(change([" ".join(entry.split()) for entry in entries]))
