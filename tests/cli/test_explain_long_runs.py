"""`hpclaunch explain` of a job that says what becomes of it: the line of each key."""

from pathlib import Path

from command import origins

JOB = """\
name: a
command: [run]
requeue: true
signal:
  name: TERM
  before: 90s
notify:
  command: [tell, us]
  start: true
"""


def test_each_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    rows = origins(path, "--site", "superpod-a100", "--set", "chain=4")
    assert rows["requeue"] == ("true", f"{path}:3")
    assert rows["signal"] == ("TERM, 90 s before the time limit", f"{path}:5")
    assert rows["notify"] == ("tell us (each start too)", f"{path}:8")
    assert rows["chain"] == ("at most 4 jobs, one after the other", "--set chain")
