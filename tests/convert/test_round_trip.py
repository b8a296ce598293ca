"""What a launcher and the job that it became do otherwise is found, and explained."""

import os
from pathlib import Path

import pytest
import script_cases

from hpclaunch.cli.convert import _renderer
from hpclaunch.convert import conversion, inputs, sources
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.options import Options
from hpclaunch.convert.roundtrip import differences
from hpclaunch.report.conversion import markdown
from hpclaunch.report.conversion import text as as_text
from hpclaunch.spec.read import read_site
from hpclaunch.values.launch import Difference

ROOT = Path(__file__).resolve().parents[2]
SITE = read_site(str(ROOT / "site-configs" / "superpod-a100.yaml"))
SCRIPT = """#!/bin/bash
#SBATCH --job-name=train --nodes=2 --gpus-per-node=8 --time=30
export LR=0.1
srun --ntasks-per-node=8 --mpi=pmix --container-image=nvcr.io#nvidia/mxnet:21.09-py3 \\
  --container-mounts=/raid/sets:/data:ro --container-workdir=/work --kill-on-bad-exit=1 python train.py
"""


def options(environment: dict[str, str]) -> Options:
    return Options(environment, None, SITE.value.name, _renderer(SITE))


@pytest.mark.parametrize("case", script_cases.cases("pyxis"))
def test_each_difference_is_explained(case: str) -> None:
    told = script_cases.expected("pyxis", case)
    names = [os.path.join(script_cases.folder("pyxis", case), name) for name in told["inputs"]]
    found = conversion.convert(inputs.read_inputs(names), options(told.get("env", {})))
    if "not_compared" in told:
        assert found.differences is None
        assert told["not_compared"] in found.not_compared
    elif found.is_complete:
        assert found.differences is not None
        assert [each for each in found.differences if not each.why] == []


def changed(old: str, new: str) -> tuple[set[str], tuple[Difference, ...]]:
    """What is otherwise when somebody changes the job that the script became."""
    given = inputs.classified({"run.sub": SCRIPT})
    found = conversion.convert(given, options({}))
    assert old in found.job
    reading = sources.read(given, {}, Draft())
    after = differences(reading, found.job.replace(old, new), found.findings, options({}))
    assert after is not None
    assert found.differences is not None
    return {each.what for each in after} - {each.what for each in found.differences}, after


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("nodes: 2", "nodes: 3", "nodes"),
        ("ranks_per_node: 8", "ranks_per_node: 4", "ranks on a node"),
        ("gpus_per_node: 8", "gpus_per_node: 4", "GPUs on a node"),
        ("mxnet:21.09-py3", "mxnet:21.10-py3", "image"),
        ("train.py", "test.py", "command, word 1"),
        (":/data:ro", ":/data", "mount /data: access"),
        ("workdir: /work", "workdir: /works", "working folder"),
        ('LR: "0.1"', 'LR: "0.2"', "environment LR"),
        ('time: "00:30:00"', "time: 31", "time limit"),
    ],
)
def test_a_job_that_was_changed_shows(old: str, new: str, what: str) -> None:
    more, after = changed(old, new)
    assert what in more, after


@pytest.mark.parametrize(
    ("option", "told"),
    [("", "beside the GPU"), ("--cpu-bind=none", "cpus none, memory none"), ("--wait=60", "beside the GPU")],
)
def test_where_ranks_sit_in_the_job_is_told_as_the_job_has_it(option: str, told: str) -> None:
    given = inputs.classified({"run.sub": SCRIPT.replace("srun ", f"srun {option} ")})
    found = conversion.convert(given, options({}))
    assert found.differences is not None
    assert [each.b for each in found.differences if each.what == "binding of ranks"] == [told]
    assert not any("trial" in each.why for each in found.findings)


def test_what_the_site_refuses_is_said() -> None:
    _, after = changed("gpus_per_node: 8", "gpus_per_node: 80")
    assert [(each.what, each.kind) for each in after] == [("the job at superpod-a100", "unbridged")]
    assert "80" in after[0].why


def test_a_script_in_the_container_that_sbatch_is_asked_for_is_compared_too() -> None:
    """No srun: the whole script is one process in the container, on the first node."""
    script = "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:8 -t 10 --container-image=a/b:1\npython t.py\n"
    given = inputs.classified({"run.sub": script})
    found = conversion.convert(given, options({}))
    assert found.differences is not None
    assert {"image", "nodes", "ranks on a node"}.isdisjoint(each.what for each in found.differences)
    reading = sources.read(given, {}, Draft())
    for old, new, what in (
        ("a/b:1", "a/b:2", "image"),
        ("t.py", "u.py", "command, word 1"),
        ("ranks_per_node: 1", "ranks_per_node: 8", "ranks on a node"),
    ):
        after = differences(reading, found.job.replace(old, new), found.findings, options({}))
        assert after is not None
        assert what in {each.what for each in after}


SBATCH = "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:8 -t 10\n"
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: a/b:1
    command: [python, t.py]
    resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(
    ("name", "text", "site", "words"),
    [
        ("run.sub", SCRIPT, False, "--site"),
        ("run.sub", SCRIPT.replace(" --mpi=pmix", ""), True, "questions are open"),
        ("run.sub", SBATCH + "mpirun -np 8 ./x\n", True, "in a container of Pyxis"),
        ("run.sub", SBATCH + "srun docker run --gpus 8 -v /d:/d a/b:1 python t.py\n", True, "of Pyxis"),
        ("pod.yaml", POD, True, "in a container of Pyxis"),
    ],
)
def test_what_is_not_compared_is_said_with_the_reason(name: str, text: str, site: bool, words: str) -> None:
    found = conversion.convert(inputs.classified({name: text}), options({}) if site else Options({}))
    assert found.job
    assert found.differences is None
    assert words in found.not_compared
    for report in (as_text(found), markdown(found)):
        (line,) = (line for line in report.splitlines() if "ot compared: " in line)
        assert " ".join(found.not_compared.split()[:5]) in line


def test_a_launcher_that_is_refused_has_nothing_to_compare() -> None:
    found = conversion.convert(inputs.classified({"run.sub": "#!/bin/bash\necho a\n"}), options({}))
    assert (found.job, found.differences, found.not_compared) == ("", None, "")
