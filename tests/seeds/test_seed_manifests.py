"""The manifests that hpclaunch was made for come out of job files: each field of them, or why not."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import seed_tables as tables
from command import hpclaunch
from seed_fields import MISSING, Manifest, Process, Row, complaints

from hpclaunch.cli.planning import plan_job

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"

# The published manifest, which has the name of the example; and the site that it was run at.
SEEDS: dict[str, tuple[str, list[Row]]] = {
    "tf2-a2d2-16x01x02-gpu": ("openshift-dgx1-spectrumscale", tables.A2D2),
    "nv-nccl": ("openshift-dgx1-spectrumscale", tables.NCCL),
    "mofed-test-pod": ("openshift-dgx1-spectrumscale", tables.MOFED),
    "16gpu-tensorflow-benchmark-imagenet": ("openshift-robotic-drive", tables.IMAGENET),
    "tensorflow-benchmarks-gpu-v1a2": ("openshift-robotic-drive", tables.CUT_OFF),
    "horovod-new_test": ("openshift-robotic-drive", tables.HOROVOD),
    "maskrcnn": ("openshift-supermicro", tables.MASKRCNN),
}
ROWS = [(name, number) for name, (_, rows) in SEEDS.items() for number in range(len(rows))]
SLURM = HERE / "sites" / "dgx1-slurm.yaml"


@cache
def rendered(name: str, site: str, *sets: str) -> str:
    words = [word for text in sets for word in ("--set", text)]
    run = hpclaunch("render", EXAMPLES / f"{name}.yaml", "--site", site, *words)
    assert run.returncode == 0, run.stderr
    return run.stdout


def ours(name: str) -> Manifest:
    return Manifest.parsed(rendered(name, SEEDS[name][0]))


def published(name: str) -> Manifest:
    return Manifest.parsed((HERE / "manifests" / f"{name}.yaml").read_text("utf-8"))


def test_each_published_manifest_has_a_table() -> None:
    assert {path.stem for path in (HERE / "manifests").iterdir()} == set(SEEDS)


@pytest.mark.parametrize("name", SEEDS)
def test_every_field_went_where_the_table_says(name: str) -> None:
    assert complaints(published(name), ours(name), SEEDS[name][1]) == []


@pytest.mark.parametrize("name", SEEDS)
def test_a_field_that_no_row_is_about_is_found(name: str) -> None:
    rows = SEEDS[name][1]
    for number in range(len(rows)):
        assert complaints(published(name), ours(name), rows[:number] + rows[number + 1 :])
    more = published(name)
    more.document["spec"]["hostNetwork"] = True
    assert complaints(more, ours(name), rows) == ["spec hostNetwork: no row says what became of True"]


@pytest.mark.parametrize("name", SEEDS)
def test_a_row_about_nothing_is_found(name: str) -> None:
    rows = SEEDS[name][1]
    for path in published(name).leaves():
        if not path.rpartition(" ")[2].isdigit():  # of a list's items the next takes the place
            less = complaints(_removed(published(name), path), ours(name), rows)
            assert any(wrong.endswith("the manifest has no such field") for wrong in less), path


@pytest.mark.parametrize(("name", "number"), ROWS)
def test_every_row_can_fail(name: str, number: int) -> None:
    """For each there is a change of the rendered manifest at which it does not hold."""
    row = SEEDS[name][1][number]
    _, value = row.covers(published(name).leaves())
    assert any(row.check(value, changed) for changed in _changes(name))


@cache
def _changes(name: str) -> tuple[Manifest, ...]:
    """The rendered manifest with each value another; with what the published containers have and its own have
    not; and with a launcher that carries nothing and mounts that are read-only."""
    found = []
    for path, value in ours(name).leaves().items():
        changed = ours(name)
        _set(changed.document, path, f"{value}1" if isinstance(value, str) else int(value) + 1)
        if not path.endswith(" command 0") and _is_readable(changed):
            found.append(changed)
    taken_over, worse = ours(name), ours(name)
    for role in PODS:
        theirs, mine = (_container(manifest, role) for manifest in (published(name), taken_over))
        if theirs is not None and mine is not None:
            _merge(mine, theirs)
    words = Process(worse).container["command"]
    words[2] = words[2].replace("-x ", "-y ")
    for mount, _ in worse.mounts().values():
        mount["readOnly"] = True
    return (*found, taken_over, worse)


# Where containers are in the published manifest and in the rendered one.
PODS = (tables.L_POD, tables.W_POD, tables.POD)


def _container(manifest: Manifest, pod: str) -> Any:
    found = manifest.at(f"{pod} containers 0")
    if found is MISSING and pod == tables.POD:
        found = manifest.at("spec containers 0")  # a Pod
    return None if found is MISSING else found


def _merge(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """What mine has not, but for what it runs."""
    for key, value in theirs.items():
        if key == "env":
            known = {variable["name"] for variable in mine.setdefault("env", [])}
            mine["env"] += [variable for variable in value if variable["name"] not in known]
        elif isinstance(value, dict):
            _merge(mine.setdefault(key, {}), value)
        else:
            mine.setdefault(key, value)


def _is_readable(manifest: Manifest) -> bool:
    """Not where what was changed is a word that keeps the parts of a command apart."""
    try:
        Process(manifest)
    except (ValueError, IndexError):
        return False
    return True


def _set(node: Any, path: str, value: Any) -> None:
    """Another value at a path of `leaves`."""
    *above, last = path.split()
    parent = Manifest(node).at(" ".join(above)) if above else node
    if isinstance(parent, list) and not last.isdigit():
        Manifest(parent).at(last)["value"] = value
    elif isinstance(parent, list):
        parent[int(last)] = value
    else:
        parent[last] = value


def _removed(manifest: Manifest, path: str) -> Manifest:
    """Without the value at a path of `leaves`."""
    *above, last = path.split()
    parent = manifest.at(" ".join(above)) if above else manifest.document
    if isinstance(parent, list):
        parent.remove(Manifest(parent).at(last))
    else:
        del parent[last]
    return manifest


@pytest.mark.parametrize(("sets", "workers", "gpus"), [(["nodes=3"], 3, "1"), (["gpus_per_node=2"], 2, "2")])
def test_the_other_layouts_of_cut_off_resources(sets: list[str], workers: int, gpus: str) -> None:
    """Three GPUs on three nodes, four on two."""
    site = str(HERE / "sites" / "three-dgx1.yaml")
    manifest = Manifest.parsed(rendered("tensorflow-benchmarks-gpu-v1a2", site, *sets))
    pod = manifest.at(tables.W_POD)
    assert manifest.at("spec mpiReplicaSpecs Worker replicas") == workers
    assert manifest.at("spec slotsPerWorker") == int(gpus)
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == gpus
    assert Process(manifest).starter[1:3] == ["-np", str(workers * int(gpus))]
    assert "podAntiAffinity" in pod["affinity"]  # so many workers are so many nodes


def test_sixteen_workers_may_share_two_nodes() -> None:
    spec = ours("tf2-a2d2-16x01x02-gpu").at(tables.W_POD)
    assert "podAntiAffinity" not in spec["affinity"]


@pytest.mark.parametrize("name", SEEDS)
def test_the_same_file_is_a_job_for_slurm(name: str, tmp_path: Path) -> None:
    """The same ranks: as many, with the same command and variables, in the same folder."""
    job = str(EXAMPLES / f"{name}.yaml")
    planned = [plan_job(job, site, ()) for site in (SEEDS[name][0], str(SLURM))]
    here, there = (each.plan.common for each in planned)
    assert (here.nodes, here.ranks_per_node) == (there.nodes, there.ranks_per_node)
    assert (here.argv, here.cwd) == (there.argv, there.cwd)
    for each in planned:
        environment = {variable.name: variable.value for variable in each.plan.common.environment}
        assert environment.items() >= each.job.value.env.items()
    script = tmp_path / "job.sh"
    script.write_text(rendered(name, str(SLURM)))
    assert subprocess.run(["bash", "-n", script]).returncode == 0


# What `hpclaunch diff` finds between the site of a seed and one of Slurm with the same machines, beyond what
# the places differ in: words of each difference. Of a whole node the kubelet keeps some CPUs, and the pods of
# Robotic Drive have no HCAs. Kubernetes before 1.13 (OpenShift 3.11) gives pods variables of each Service.
DIFFERENCES = {
    "tf2-a2d2-16x01x02-gpu": ["on a node of its own"],
    "16gpu-tensorflow-benchmark-imagenet": ["HCAs", "CPUs", "enableServiceLinks"],
    "tensorflow-benchmarks-gpu-v1a2": ["HCAs", "enableServiceLinks"],
    "horovod-new_test": ["HCAs", "CPUs", "enableServiceLinks"],
    "maskrcnn": ["CPUs", "enableServiceLinks"],
    "nv-nccl": ["CPUs"],
    "mofed-test-pod": [],
}


@pytest.mark.parametrize("name", SEEDS)
def test_both_schedulers_are_given_the_same_launch_or_it_is_said(name: str) -> None:
    slurm = SLURM.with_name("supermicro-slurm.yaml") if name == "maskrcnn" else SLURM
    run = hpclaunch("diff", EXAMPLES / f"{name}.yaml", "--site", SEEDS[name][0], "--site", slurm, "--json")
    differences = json.loads(run.stdout)["differences"]
    others = [each["what"] for each in differences if each["kind"] != "place"]
    assert len(others) == len(DIFFERENCES[name])
    assert [words for words, what in zip(DIFFERENCES[name], others, strict=True) if words not in what] == []
    assert run.returncode == (1 if others else 0)
