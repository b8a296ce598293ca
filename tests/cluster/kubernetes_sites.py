"""Sites of Kubernetes for tests, and what is exported from them and launched on them."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from hpclaunch.cli.planning import plan_job
from hpclaunch.cluster.export import export
from hpclaunch.render import script
from hpclaunch.spec.read import read_site
from hpclaunch.topology import catalogue

ROOT = Path(__file__).parent.parent.parent
ROOTLESS = "profile: rootless, run_as: {user: 1000, group: 1000, home: /home/mpi}"
SHARED = "rdma: {mlx5_0: shared_ib0, mlx5_1: shared_ib1, mlx5_2: shared_ib2, mlx5_3: shared_ib3}"

SITE = """\
version: 1
name: made
scheduler: kubernetes
node_types: [{{type: {node_type}, count: 2, selector: {{gpu: here}}}}]
kubernetes: {{namespace: adas, {keys}}}
network: {{socket_ifname: eth0}}
volumes: {{data: {{{volume}}}}}
"""
JOB = """\
version: 1
name: a-job
image: nvcr.io/nvidia/pytorch:24.01-py3
command: [python, train.py]
nodes: {nodes}
gpus_per_node: 8
mpi: {mpi}
time: 30m
mounts: [data:/data]
{more}
"""


def site_file(
    folder: Path, *keys: str, volume: str = "claim: data, size: 1Ti", node_type: str = "dgx-1v"
) -> Path:
    """A site with these keys of `kubernetes`."""
    file = folder / "site.yaml"
    file.write_text(SITE.format(keys=", ".join(keys), volume=volume, node_type=node_type))
    return file


def exported(form: str, site: str | Path) -> list[dict[str, Any]]:
    """The documents of an export, each one held against the API's own schema where there is one."""
    value = read_site(str(site)).value
    machines = {group.type: catalogue.load(group.type).value for group in value.node_types}
    documents = list(yaml.safe_load_all(export(form, value, machines, None)))
    for document in documents:
        if document["apiVersion"] in ("v1", "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1"):
            kubernetes_validate.validate(document, "1.29", strict=True)
    return documents


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Those of one kind."""
    return [document for document in documents if document["kind"] == kind]


def pods(job: Path, site: str | Path, *sets: str) -> list[dict[str, Any]]:
    """The pod specs of what is rendered for a job."""
    text = script.render(plan_job(str(job), str(site), sets).plan)
    return [pod for document in yaml.safe_load_all(text) for pod in _templates(document)]


def _templates(document: dict[str, Any]) -> list[dict[str, Any]]:
    spec = document["spec"]
    replicas = spec.get("mpiReplicaSpecs")
    if replicas is None:
        return [spec["template"]["spec"]]
    return [replica["template"]["spec"] for replica in replicas.values()]


def job_file(folder: Path, nodes: int = 2, more: str = "") -> Path:
    """A job with a volume, of one node or of several with MPI."""
    file = folder / "job.yaml"
    file.write_text(JOB.format(nodes=nodes, mpi="pmix" if nodes > 1 else "none", more=more))
    return file
