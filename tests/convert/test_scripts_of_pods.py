"""Scripts that are given beside the manifest whose pods start them."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: wind}
spec:
  containers:
  - name: wind
    image: reg.io/wind:1
    command: COMMAND
    resources: {limits: {nvidia.com/gpu: 4}}
"""
_RANK = "#!/bin/bash\nexport CARD=$OMPI_COMM_WORLD_LOCAL_RANK\nexec ./wind\n"
_LAUNCHER = "#!/bin/bash\nexport STEPS=9\ntorchrun --nproc-per-node=4 fit.py --steps $STEPS\n"


def _of(command: str, **scripts: str) -> Conversion:
    files = {"job.yaml": _POD.replace("COMMAND", command)}
    files |= {f"{name}.sh": text for name, text in scripts.items()}
    return convert(classified(files), Options({}))


def test_a_script_that_each_rank_executes_is_looked_through_for_what_mpirun_sets() -> None:
    command = "[mpirun, -np, '4', ./rank.sh, --fast]"
    missing = _of(command)
    assert any("convert again with rank.sh" in each.todo for each in missing.findings)
    found = _of(command, rank=_RANK)
    job = script_cases.loaded(found.job)
    assert (job["ranks_per_node"], "OMPI_COMM_WORLD_LOCAL_RANK" in job["command"]) == ("4", True)
    assert not any("convert again with rank.sh" in each.todo for each in found.findings)


@pytest.mark.parametrize("command", ["[bash, /opt/fit.sh]", "[/opt/fit.sh]", "['bash', '-e', fit.sh]"])
def test_a_launcher_in_a_script_that_a_pod_starts_starts_the_ranks(command: str) -> None:
    found = _of(command, fit=_LAUNCHER)
    job = script_cases.loaded(found.job)
    assert (job["ranks_per_node"], job["command"]) == ("4", ["python", "-u", "fit.py", "--steps", "9"])
    assert job["env"]["STEPS"] == "9"


def test_a_script_without_a_launcher_is_started_as_it_stands() -> None:
    script = "#!/bin/bash\nset -e\nexec python fit.py\n"
    missing, found = _of("[bash, /opt/fit.sh]"), _of("[bash, /opt/fit.sh]", fit=script)
    assert script_cases.loaded(found.job)["command"] == ["bash", "/opt/fit.sh"]
    asked = [
        [each.what for each in one.findings if "starts ranks itself" in each.what] for one in (missing, found)
    ]
    assert asked == [["whether /opt/fit.sh starts ranks itself"], []]
    assert any(each.kind == "unread" and each.places[0].file == "fit.sh" for each in found.findings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("send", "#!/bin/bash\nkubectl apply -f job.yaml\n"),
        ("fit", "#!/bin/bash\n# kubectl apply -f job.yaml starts this\ntorchrun --nproc-per-node=4 fit.py\n"),
        ("other", "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4\nsrun ./wind\n"),
    ],
)
def test_a_script_that_submits_the_manifest_or_that_no_pod_starts_is_none_of_its(
    name: str, text: str
) -> None:
    found = _of("[bash, /opt/fit.sh]", **{name: text})
    assert "manifest" not in found.family


_MOUNTED = _POD.replace("    resources", "    volumeMounts: [{name: s, mountPath: /s}]\n    resources") + (
    "  volumes: [{name: s, configMap: {name: scripts}}]\n"
)


@pytest.mark.parametrize(
    ("command", "scripts", "todo"),
    [
        ("[bash, /s/fit.sh]", {}, "write its text as the command"),
        ("[bash, /s/fit.sh]", {"fit.sh": "#!/bin/bash\nexec ./wind\n"}, "see whether it does"),
        ("[python3, /s/fit.py, --fast]", {}, "see whether it does: no shell reads"),
    ],
)
def test_of_a_mounted_script_it_is_said_what_there_is_to_do(
    command: str, scripts: dict[str, str], todo: str
) -> None:
    files = {"job.yaml": _MOUNTED.replace("COMMAND", command), **scripts}
    found = convert(classified(files), Options({}))
    said = [each.todo for each in found.findings if each.what.startswith("what /s/fit")]
    assert [each.startswith(todo) for each in said] == [True]
