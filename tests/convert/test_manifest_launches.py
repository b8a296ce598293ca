"""A launcher of an MPIJob that starts ranks more than once: a job starts them once."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers: [{image: reg/x:1, name: l, command: [/bin/bash, -c], args: ['ARGS']}]
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{image: reg/x:1, name: w, resources: {limits: {nvidia.com/gpu: 4}}}]
"""


@pytest.mark.parametrize("second", ["mpirun -np 8 ./b", "/usr/bin/mpirun -np 4 -H a-worker-1 ./b"])
def test_a_second_mpirun_is_no_step_of_the_launchers_pod(second):
    text = _MPIJOB.replace("ARGS", f"mpirun -np 8 ./a; {second}")
    found = convert(classified({"a.yaml": text}), Options({}))
    its = [each for each in found.findings if each.what.endswith(second)]
    assert [each.kind for each in its] == ["left"]
    assert "ranks of its own" in its[0].why
    assert "after:" not in found.job
    asked = [each for each in found.findings if each.kind == "question" and "ranks" in each.what]
    assert bool(asked) == ("-np 4" in second)  # of another size
