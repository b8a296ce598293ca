"""Problems of a Kubernetes site or job are said with the file, line and column that they are about."""

from pathlib import Path

import pytest
from command import hpclaunch

SITE = """\
version: 1
name: s
scheduler: kubernetes
node_types:
  - {type: dgx-a100, hosts: "dgx[1-4]"}
kubernetes:
  mpi_operator: "0.4.0"
  mpijob: {api: v2beta1}
volumes:
  A_b: {claim: one}
  a.b: {claim: two}
"""
JOB = """\
version: 1
name: j
command: [x]
image: a/b
nodes: 2
mounts:
  - A_b:/one
"""


SAME = ("", "")
API = "{api: v2beta1}"


@pytest.mark.parametrize(
    ("more", "site", "said"),
    [
        ("  - a.b:/two\n", SAME, "job.yaml:8:5: the volumes 'A_b' and 'a.b' would"),
        ("container: {entrypoint: true}\n", SAME, "job.yaml:8:25: the image's entrypoint"),
        ("sites:\n  s:\n    nodelist: dgx1\n", SAME, "job.yaml:10:15: the job takes 2 nodes"),
        ("sites:\n  s: {user: 5}\n", SAME, "job.yaml:9:13: sshd of the workers"),
        ("container: {mpi: mpich}\n", SAME, "job.yaml:8:18: mpiImplementation MPICH"),
        ("", (API, "{api: v1}"), "site.yaml:8:11: MPI operator 0.4.0 serves v2beta1; v1 is served by"),
        ("", (API, f"{API}\n  mpi: mpich"), "site.yaml:9:8: mpiImplementation MPICH"),
    ],
)
def test_where_it_is_wrong(tmp_path: Path, more: str, site: tuple[str, str], said: str) -> None:
    (tmp_path / "job.yaml").write_text(JOB + more)
    (tmp_path / "site.yaml").write_text(SITE.replace(*site))
    run = hpclaunch("check", "job.yaml", "--site", "./site.yaml", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert line.removeprefix("./").startswith(said)
