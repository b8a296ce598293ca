"""Jobs on Kubernetes that tests of its scheduler share, and their status."""

from collections.abc import Callable

import pytest

from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.values.job import JobStatus, Submission

Make = Callable[..., Record]
Ask = Callable[[], JobStatus]

MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: train
  namespace: adas
  labels: {app.kubernetes.io/managed-by: hpclaunch, hpclaunch/job: train}
spec:
  slotsPerWorker: 8
  runPolicy: {cleanPodPolicy: Running}
  mpiReplicaSpecs: {}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: adas, labels: {hpclaunch/job: train}}
spec: {backoffLimit: 0}
"""


def asking(record: Record) -> Ask:
    """The status of this one, once it is submitted."""
    lifecycle.submit(record, Submission(), pytest.fail)
    return lambda: lifecycle.ask([record], pytest.fail)[record.tag]
