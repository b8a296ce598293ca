"""The launch on one machine, in settings of the wrapper."""

from typing import Any

import msgspec

from hpclaunch.plan.planner import Planner
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology import catalogue
from hpclaunch.values.launchplan import LaunchPlan, LocalTarget


def planned(**job: Any) -> tuple[LaunchPlan, LocalTarget]:
    here = {"name": "here", "scheduler": "local", "node_types": [{"type": "dgx-a100", "count": 1}]}
    machines = {"dgx-a100": catalogue.load("dgx-a100").value}
    full = {"name": "j", "command": ["x"], "directory": "/home/me", **job}
    plan = Planner(msgspec.convert(here, Site), machines).plan(msgspec.convert(full, Job))
    assert isinstance(plan.target, LocalTarget)
    return plan, plan.target


def settings(target: LocalTarget) -> dict[str, str]:
    return dict(option.text.split("=", 1) for option in target.wrapper)


def test_each_rank_has_its_cores_and_memory() -> None:
    _, target = planned(ranks_per_node=8)
    found = settings(target)
    assert found["cpus"].split(";")[:2] == ["48-55,176-183", "56-63,184-191"]
    assert found["membind"] == "3;3;1;1;7;7;5;5"
    assert "preferred" in settings(planned(ranks_per_node=2, bind={"memory": "prefer"})[1])
    unbound = settings(planned(bind={"cpus": "none", "memory": "none"})[1])
    assert not {"cpus", "membind", "preferred"} & set(unbound)


def test_mpirun_sees_its_own_variables_and_no_others() -> None:
    env = {"OMPI_MCA_btl": "self,tcp", "LD_PRELOAD": "/x.so"}
    _, target = planned(mpi="pmix", env=env)
    assert target.launcher[0] == "mpirun"
    assert {variable.name: variable.value for variable in target.host_env} == {"OMPI_MCA_btl": "self,tcp"}
    assert planned(env=env)[1].host_env == ()


def test_hints_for_a_scheduler_are_said_to_mean_nothing() -> None:
    plan, _ = planned(sites={"here": {"partition": "batch", "srun": ["-v"]}, "there": {"qos": "high"}})
    assert [warning.split(" ")[0] for warning in plan.warnings] == ["sites.here.partition", "sites.here.srun"]
