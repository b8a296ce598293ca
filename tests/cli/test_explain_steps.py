"""`hpclaunch explain` of a job with steps and trials: the line of each."""

from pathlib import Path

from command import origins

JOB = """\
name: a
image:
  ref: b:1
  import: shared
command: [run]
mounts: [scratch:/s]
stage_in:
  - /a:/scratch/a
  - bert:scratch
trials:
  count: 3
  seed: S
setup:
  - {run: make}
  - {run: true, where: host, optional: true}
after:
  - run: [tidy, up]
    per: rank
"""


def test_each_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    rows = origins(path, "--site", "superpod-a100")
    lines = {
        "image.import": ("/lustre/images/b+1-34340f0e82d75a34.sqsh", 4),
        "stage_in[0]": ("/a to /scratch/a", 8),
        "stage_in[1]": ("/lustre/datasets/bert to /scratch", 9),
        "trials": ("3", 11),
        "trials.seed": ("S: random", 12),
        "trials.log": ("NAME-JOBID-trial-{trial}.log beside the job's own", None),
        "trials.keep_going": ("false", None),
        "setup[0]": ("make (once on each node, in the container)", 14),
        "setup[1]": ("true (once on each node, on the host, optional)", 15),
        "after[0]": ("tidy up (by all ranks, in the container)", 17),
    }
    assert {what: rows[what][0] for what in lines} == {what: value for what, (value, _) in lines.items()}
    for what, (_, line) in lines.items():
        said = rows[what][1]
        assert said.split(";")[0] == (f"{path}:{line}" if line else "default")
    folder = rows["image.import"][1].split("; ")[1]
    assert "superpod-a100.yaml:" in folder
