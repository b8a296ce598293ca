"""An srun that outlives its ranks does not keep the job's nodes until the time limit."""

import os
import signal
import time
from pathlib import Path

import yaml
from command import hpclaunch
from realslurm import Slurm
from waiting import until

NOTICED = 'until read -r -t 60 -u "$hl_watched"; do'


def sruns(mark: Path) -> list[int]:
    """The processes of srun that start `mark`, without srun's own child."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if os.path.basename(words[0]) == b"srun" and any(str(mark).encode() in word for word in words):
            found[int(folder.name)] = int(parent)
    return [pid for pid, parent in found.items() if parent not in found]


def test_it_is_killed_when_slurm_knows_no_step_of_it(slurm_a100: Slurm, tmp_path: Path) -> None:
    """srun is frozen: the race that this is about (ticket 16817) is not to be had at will. In both the ranks
    and their step end, and srun does not."""
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    tmp_path.chmod(0o777)
    keys = {
        "name": "stays",
        "mpi": "pmix",
        "time": "10m",
        "command": f"echo >>{begun}; until [ -e {gate} ]; do sleep 0.1; done",
        "groups": {"a": {"nodes": 1, "ranks_per_node": 1}, "b": {"nodes": 1, "ranks_per_node": 2}},
    }
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump(keys))
    text = hpclaunch("render", job, "--site", slurm_a100.site, env=slurm_a100.env).stdout
    assert text.count(NOTICED) == 1
    text = text.replace(NOTICED, NOTICED.replace("60", "1"))
    log = tmp_path / "log"
    number = int(slurm_a100.run("sbatch", "--parsable", f"--output={log}", input=text).stdout)
    until(lambda: begun.exists() and begun.read_text() == "\n" * 3)
    (srun,) = sruns(gate)
    time.sleep(5)  # it looks several times, and finds srun's step
    assert (srun, log.read_text()) == (*sruns(gate), "")
    os.kill(srun, signal.SIGSTOP)
    gate.touch()
    assert slurm_a100.wait(number) == 0
    assert "hpclaunch: the ranks have ended and srun has not, so it was killed" in log.read_text()
