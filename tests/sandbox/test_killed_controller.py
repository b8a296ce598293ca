"""A slurmctld that is killed while submissions lie before it, or just after it took them, and started again:
by every way to Slurm each job is there once, or was never there and is sent again.

HPCLAUNCH_TEST_FAULTS=all: it is killed at more moments."""

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
import waysto
from breaking import ALL
from killing import Slurmctld, before_submissions, process
from laptop import Laptop
from realslurm import Slurm
from realsshd import serving
from trials import Trials
from waiting import until

from hpclaunch.records.lookup import all_records

# Seconds from when it may take them to when it is killed; None: it takes none.
MOMENTS = (None, 0.004, *((0.0, 0.001, 0.002, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.05) if ALL else ()))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_controller_that_is_killed_in_mid_submission(
    trials: Trials, broken: Slurm, tmp_path_factory: pytest.TempPathFactory, moment: float | None
) -> None:
    folder = tmp_path_factory.mktemp("ways")
    posted, go = threading.Event(), threading.Event()

    def hold_back() -> None:
        posted.set()
        go.wait(240)

    url = f"unix:{folder}/restd"
    with (
        waysto.slurmrestd(folder / "restd.log", broken.slurm_conf, url, "rest_auth/local", {}),
        before_submissions(folder / "before", folder / "restd", hold_back) as before,
        serving(tmp_path_factory.mktemp("sshd")) as sshd,
    ):
        rest = folder / "rest.yaml"
        keys = f"slurm:\n  via: rest\n  rest: {{url: '{before}'}}\n"
        rest.write_text(broken.site.read_text().replace("slurm:\n", keys))
        (folder / "laptop").mkdir()
        alone = Path(shutil.copy(trials.job, tmp_path_factory.mktemp("alone")))  # its folder goes with it
        far = Laptop(folder / "laptop", sshd, broken, "fabric").site
        controller = Slurmctld(broken)
        begun = [trials.begin("submit", trials.job, "--site", rest)]
        until(posted.is_set)
        controller.signal(signal.SIGSTOP)
        begun.append(trials.begin("submit", trials.job, "--site", broken.site))
        begun.append(trials.begin("submit", alone, "--site", far))
        until(lambda: controller.waiting() == 2)
        go.set()
        until(lambda: controller.waiting() == 3)
        if moment is not None:
            controller.signal(signal.SIGCONT)
            time.sleep(moment)
        controller.kill()
        controller.start()
        for each in begun:
            out, said = each.communicate(timeout=240)
            assert (each.returncode == 0) == out.strip().isdigit(), said
            assert "Traceback" not in said
        # It may have lost jobs that it had just taken, and have given their ids again.
        trials.settle(*(record.tag for record in all_records()[0]))
        trials.check(3, 3, may_be_killed=True)


def test_munge_that_is_frozen_in_mid_submission(trials: Trials, broken: Slurm) -> None:
    """sbatch has its connection before it asks munge, and slurmctld does not wait for it as long."""
    (socket,) = re.findall(r"^AuthInfo=socket=(\S+)", broken.slurm_conf.read_text(), re.MULTILINE)
    munged = process("/munged", f"--socket={socket}")
    log = broken.folder / "log" / "slurmctld.log"
    before = log.stat().st_size
    os.kill(munged, signal.SIGSTOP)
    try:
        begun = trials.begin("submit", trials.job, "--site", broken.site)
        until(lambda: b"timed out" in log.read_bytes()[before:])
    finally:
        os.kill(munged, signal.SIGCONT)
    out, said = begun.communicate(timeout=240)
    assert out.strip().isdigit(), said
    trials.check(1, 1)
