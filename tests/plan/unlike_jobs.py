"""A job whose groups are on unlike nodes, its site, and what they are planned and read back as."""

import tempfile
from typing import Any

import yaml

from hpclaunch.plan.planner import Planner
from hpclaunch.readback import script as reader
from hpclaunch.render import script
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.launch import Launch
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

TYPES = ("dgx-a100", "dgx-h100")
SITE = {
    "version": 1,
    "name": "mixed",
    "scheduler": "slurm",
    "container": "pyxis",
    "node_types": [{"type": "dgx-a100", "hosts": "dgx[1-8]"}, {"type": "dgx-h100", "hosts": "hgx[1-4]"}],
    "slurm": {"version": "22.05", "pyxis": "0.20.0", "mpi_plugin": {"pmix": "pmix"}},
}
JOB = """\
name: unlike
image: a/b:1
mpi: pmix
rendezvous: torch
time: 1h
env: {LR: "0.1"}
command: [./run, "it's $HOME", ":"]
groups:
  train: {nodes: 3, gpu_type: a100, env: {LR: "0.2"}}
  evaluate: {nodes: 4, gpu_type: h100, ranks_per_node: 2, command: ./evaluate && true}
"""
ALIKE = ("groups.evaluate.gpu_type=a100",)  # then only the ranks differ
CHECKED = ("groups.evaluate.nodes=2", "preflight={nccl: true, spares: 1}")


def documents(sets: tuple[str, ...], **site: Any) -> tuple[Document[Job], Document[Site], Planner]:
    job = parse_job(JOB, "job.yaml", "/home/ada", sets)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump({**SITE, **site}, file)
        file.flush()
        read = read_site(file.name)
    return job, read, Planner(read.value, {name: catalogue.load(name).value for name in TYPES})


def planned(*sets: str, **site: Any) -> LaunchPlan:
    job, _, planner = documents(sets, **site)
    return planner.plan(job.value)


def target(plan: LaunchPlan) -> SlurmTarget:
    assert isinstance(plan.target, SlurmTarget)
    return plan.target


def read(*sets: str) -> Launch:
    return reader.read(script.render(planned(*sets)))
