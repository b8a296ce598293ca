"""Heterogeneous jobs that lose a node and are put back."""

import json
from pathlib import Path

from groupranks import Run
from realslurm import Slurm
from waiting import until


def starts_of_the_controller(slurm: Slurm) -> int:
    return (slurm.folder / "log" / "slurmctld.log").read_text().count("Running as primary controller")


def put_back(slurm: Slurm, run: Run, job: Path, here: Path) -> str | None:
    """The id of the job, submitted, which has lost a node in its first run and is about to start again; None
    where slurmctld has crashed meanwhile.

    Of a heterogeneous job that is put back 22.05.8 may be asked for nodes that it has no more, and writes
    through a null pointer then (build_job_info_resp, seen in a handful of runs). Started again it knows one
    part of the job as cancelled.
    """
    before = starts_of_the_controller(slurm)
    sent = run("submit", job, "--site", slurm.site)
    assert sent.returncode == 0, sent.stderr
    job_id: str = sent.stdout.strip()
    until(lambda: len(list(here.glob("*.0"))) == 4)
    (row,) = json.loads(run("results", job_id, "--json").stdout)
    assert (row["job_id"], row["state"], row["metrics"]) == (job_id, "RUNNING", {"start": "0"})
    # The node stays out: what it still has of the first run is killed, and the next run there would be too.
    nodes = slurm.run("squeue", "--noheader", f"--jobs={job_id}", "--format=%N").stdout.split()
    (lost,) = set(nodes) & {"dgx1", "dgx2"}
    for state in ("DRAIN", "DOWN"):
        slurm.run("scontrol", "update", f"NodeName={lost}", f"State={state}", "Reason=lost")
    slurm.start_again(job_id)
    if starts_of_the_controller(slurm) == before:
        return job_id
    slurm.run("scancel", job_id)
    return None
