"""A site's limits: what is beyond them is refused at its line, before anything is sent."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.plan import limits
from hpclaunch.spec.job import Job
from hpclaunch.spec.limits import LimitsSpec
from hpclaunch.spec.site import NodeGroup, Site

JOB = """\
version: 1
name: large
command: [train]
nodes: 4
gpus_per_node: 8
time: 02:00:00
"""


def site(folder: Path, given_limits: dict[str, Any]) -> Path:
    path = folder / "site.yaml"
    keys = {"version": 1, "name": "s", "scheduler": "slurm", "slurm": {"version": "22.05"}}
    groups = [{"type": "dgx-a100", "count": 20}]
    path.write_text(yaml.safe_dump({**keys, "node_types": groups, "limits": given_limits}))
    return path


def refused(folder: Path, given_limits: dict[str, Any], command: str, job: str = JOB) -> str:
    (folder / "job.yaml").write_text(job)
    env = {**os.environ, "HPCLAUNCH_HOME": str(folder / "home")}
    words = [command, "job.yaml", "--site", site(folder, given_limits)]
    done = hpclaunch(*words, *(["--dry-run"] if command == "submit" else []), cwd=folder, env=env)
    assert not (folder / "home").exists()
    if done.returncode:
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr
    return ""


@pytest.mark.parametrize(
    ("given_limits", "place", "said"),
    [
        ({"nodes": 3}, "job.yaml:4:8", "4 nodes are more than the 3"),
        ({"time": "1h"}, "job.yaml:6:7", "02:00:00 is more than the 01:00:00"),
        ({"gpu_hours": 63}, "job.yaml:4:8", "4 x 8 GPUs for 02:00:00 are 64.0 GPU-hours, more than the 63"),
    ],
)
def test_what_is_beyond_a_limit_is_refused_at_its_line(
    tmp_path: Path, given_limits: dict[str, Any], place: str, said: str
) -> None:
    for command in ("submit", "render", "check"):
        stderr = refused(tmp_path, given_limits, command)
        assert stderr.startswith(f"{place}: "), stderr
        assert said in stderr
    assert refused(tmp_path, {"nodes": 4, "time": "2h", "gpu_hours": 64}, "submit") == ""


@pytest.mark.parametrize(
    ("given_limits", "said"),
    [({"nodes": 5}, "6 nodes are more than the 5"), ({"gpu_hours": 95}, "96.0 GPU-hours, more than the 95")],
)
def test_spare_nodes_count(tmp_path: Path, given_limits: dict[str, Any], said: str) -> None:
    """The job has them, and their GPUs, from its start."""
    job = JOB + "preflight: {spares: 2}\n"
    for command in ("submit", "check"):
        assert said in refused(tmp_path, given_limits, command, job)
    assert refused(tmp_path, {"nodes": 6, "gpu_hours": 96}, "submit", job) == ""
    groups = "groups: {a: {nodes: 2}, b: {nodes: 1, ranks_per_node: 4}}\n"
    unlike = job.replace("nodes: 4\n", "ranks_per_node: 8\n") + groups
    assert "5 nodes are more than the 4" in refused(tmp_path, {"nodes": 4}, "check", unlike)
    assert refused(tmp_path, {"nodes": 5}, "check", unlike) == ""


def test_a_job_without_a_time_limit_cannot_be_within_one(tmp_path: Path) -> None:
    untimed = JOB.replace("time: 02:00:00\n", "")
    assert "the time is not set" in refused(tmp_path, {"time": 60}, "check", untimed)
    assert "at most 5 GPU-hours" in refused(tmp_path, {"gpu_hours": 5}, "check", untimed)
    assert refused(tmp_path, {"nodes": 4}, "check", untimed) == ""
    endless = JOB.replace("02:00:00", "UNLIMITED")
    assert "the time is without limit" in refused(tmp_path, {"time": 60}, "check", endless)


@pytest.mark.parametrize("bad", [{"nodes": 0}, {"gpu_hours": -1}, {"time": "UNLIMITED"}, {"minutes": 3}])
def test_a_wrong_limit_is_the_site_file_s(tmp_path: Path, bad: dict[str, Any]) -> None:
    assert "site.yaml:" in refused(tmp_path, bad, "check")


@given(
    st.integers(1, 40),
    st.integers(0, 16),
    st.none() | st.integers(0, 10_000),
    st.builds(
        LimitsSpec,
        *(st.none() | st.integers(1, most) for most in (2000, 30, 5000)),
    ),
)
def test_a_job_is_let_in_where_it_is_within_every_limit(
    nodes: int, gpus: int, minutes: int | None, most: LimitsSpec
) -> None:
    job = Job("j", ("x",), nodes=nodes, time=minutes)
    here = Site("s", "slurm", (NodeGroup("dgx-a100", count=99),), limits=most)
    endless = not minutes
    asked = nodes * gpus * (minutes or 0) / 60
    within = (
        (most.nodes is None or nodes <= most.nodes)
        and (most.time is None or (not endless and minutes is not None and minutes <= most.time))
        and (most.gpu_hours is None or not gpus or (not endless and asked <= most.gpu_hours))
    )
    assert (not limits.problems(job, here, gpus)) == within
