"""Files that the text of an MPIJob's launcher sources before mpirun hands variables on to ranks elsewhere."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_JOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: tide}
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: l
            image: reg.io/tide:1
            env: [{name: GIVEN, value: own}]
            command: [bash, -c]
            args:
            - |
              BEFORE
              mpirun -np 4 -x PORT -x SIDE -x GIVEN ./tide
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - {name: w, image: "reg.io/tide:1", resources: {limits: {nvidia.com/gpu: 2}}}
"""
_IMAGE = "it is the image's, which each rank has"


def _of(before: str, **scripts: str) -> tuple[Conversion, dict[str, Any]]:
    files = {"job.yaml": _JOB.replace("BEFORE", before)}
    files |= {f"{name}.sh": text for name, text in scripts.items()}
    found = convert(classified(files), Options({}))
    return found, script_cases.loaded(found.job).get("env", {})


def test_the_ranks_have_what_a_given_file_makes_of_the_names_that_mpirun_hands_on() -> None:
    text = "export PORT=7\nexport SIDE=${SIDE:-west}\nexport GIVEN=${GIVEN:-other}\nexport INNER=1\n"
    found, env = _of("source /opt/tide/net.sh", net=text)
    assert env == {"GIVEN": "own", "PORT": "7", "SIDE": "west"}
    assumed = [(each.what, each.became) for each in found.findings if each.kind == "assumed"]
    assert ("the default of SIDE", "west") in assumed
    assert not any(_IMAGE in each.why for each in found.findings)


@pytest.mark.parametrize("line", ["export PORT=$(free_port)", "if [ -e /x ]; then export PORT=7; fi"])
def test_what_a_given_file_makes_where_it_runs_is_asked_for(line: str) -> None:
    _, env = _of(". /opt/tide/net.sh", net=f"{line}\nexport SIDE=east\n")
    assert (env["PORT"], env["SIDE"]) == (script_cases.ASK, "east")


@pytest.mark.parametrize("before", ["source /opt/tide/net.sh", "module load tide"])
def test_of_a_text_that_is_not_there_it_is_said_that_it_may_give_the_value(before: str) -> None:
    found, env = _of(before)
    asked = {each.what for each in found.findings if each.kind == "question" and before in each.why}
    assert (asked, env) == ({"-x PORT", "-x SIDE"}, {"GIVEN": "own"})
    assert not any(_IMAGE in each.why for each in found.findings)


def test_without_such_a_text_the_value_is_the_images() -> None:
    found, _ = _of("echo begins")
    assert sum(_IMAGE in each.why for each in found.findings) == 2
