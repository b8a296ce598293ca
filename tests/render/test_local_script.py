"""The same plan on this machine: the script that `render` gives for the local site, run as it is."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HOSTILE = [
    "",
    " ",
    "it's",
    '"',
    "$HOME `id` $(id) $$",
    "new\nline\r\n",
    "*",
    "--",
    ":",
    "=",
    "\\",
    "Grüße \u2028",
    "\x01",
]
RECORDER = """\
import json, os, sys
found = {"argv": sys.argv[2:], "env": dict(os.environ), "cwd": os.getcwd(),
         "cpus": sorted(os.sched_getaffinity(0))}
number = os.environ.get("RANK") or os.environ["OMPI_COMM_WORLD_RANK"]
with open(os.path.join(sys.argv[1], number), "w") as file:
    json.dump(found, file)
"""


def script(tmp_path: Path, job: dict[str, Any]) -> list[str]:
    """The command that runs the rendered script."""
    (tmp_path / "job.yaml").write_text(json.dumps({"name": "here", **job}))
    command = [sys.executable, "-m", "hpclaunch", "render", str(tmp_path / "job.yaml"), "--site", "local"]
    subprocess.run([*command, "-o", str(tmp_path / "script.sh")], check=True, timeout=60)
    return [str(tmp_path / "script.sh")]


def recorded(
    tmp_path: Path, job: dict[str, Any], words: list[str], env: dict[str, str]
) -> dict[int, dict[str, Any]]:
    (tmp_path / "recorder.py").write_text(RECORDER)
    (tmp_path / "out").mkdir()
    command = [sys.executable, "recorder.py", str(tmp_path / "out"), *words]
    done = subprocess.run(
        script(tmp_path, {"command": command, **job}), env=env, timeout=60, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return {int(file.name): json.loads(file.read_text()) for file in (tmp_path / "out").iterdir()}


def test_every_rank_gets_what_the_job_says(tmp_path: Path) -> None:
    env = {f"HOSTILE_{number}": value for number, value in enumerate(HOSTILE)}
    shell = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": "/x",
        "STRAY": "1",
        "WANTED": "a\nb",
        "BASH_FUNC_wait%%": "() { :; }",
    }
    job = {"ranks_per_node": 3, "rendezvous": "torch", "env": env, "inherit": ["WANTED"]}
    ranks = recorded(tmp_path, job, HOSTILE, shell)
    assert sorted(ranks) == [0, 1, 2]
    for number, rank in ranks.items():
        assert rank["argv"] == HOSTILE
        assert rank["cwd"] == str(tmp_path)
        assert {name: rank["env"].get(name) for name in env} == env
        assert rank["env"]["WANTED"] == "a\nb"
        assert "STRAY" not in rank["env"]
        assert "LD_LIBRARY_PATH" not in rank["env"]
        assert (rank["env"]["RANK"], rank["env"]["WORLD_SIZE"], rank["env"]["LOCAL_RANK"]) == (
            str(number),
            "3",
            str(number),
        )
        assert rank["env"]["MASTER_ADDR"] == "127.0.0.1"
    assert len({rank["env"]["MASTER_PORT"] for rank in ranks.values()}) == 1


def test_ranks_are_bound_to_the_cores_that_the_plan_gave_them(tmp_path: Path) -> None:
    available = sorted(os.sched_getaffinity(0))
    lists = [str(available[0]), str(available[-1])]
    job = {"ranks_per_node": 2, "rendezvous": "torch", "bind": {"cpus": lists}}
    ranks = recorded(tmp_path, job, [], {"PATH": os.environ["PATH"]})
    assert [ranks[number]["cpus"] for number in (0, 1)] == [[available[0]], [available[-1]]]


def test_mpirun_starts_the_ranks_where_the_job_speaks_mpi(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    job = {"ranks_per_node": 3, "mpi": "pmix", "rendezvous": "torch", "env": {"A": HOSTILE[5]}}
    ranks = recorded(tmp_path, job, HOSTILE, {"PATH": os.environ["PATH"]})
    assert sorted(ranks) == [0, 1, 2]
    for number, rank in ranks.items():
        assert rank["argv"] == HOSTILE
        assert rank["env"]["A"] == HOSTILE[5]
        assert (rank["env"]["RANK"], rank["env"]["OMPI_COMM_WORLD_RANK"]) == (str(number), str(number))
        assert rank["env"]["OMPI_COMM_WORLD_SIZE"] == "3"


def test_the_first_failing_rank_ends_the_others_and_gives_its_status(tmp_path: Path) -> None:
    command = 'if [ "$RANK" = 2 ]; then exit 7; fi; exec sleep 60'
    job = {"command": command, "ranks_per_node": 4, "rendezvous": "torch"}
    # The time that it may take is less than the others would sleep.
    done = subprocess.run(script(tmp_path, job), timeout=50, capture_output=True)
    assert done.returncode == 7


def test_ranks_do_not_ignore_interrupts(tmp_path: Path) -> None:
    job = {"command": ["grep", "SigIgn", "/proc/self/status"], "ranks_per_node": 3, "rendezvous": "torch"}
    done = subprocess.run(script(tmp_path, job), capture_output=True, text=True, timeout=60)
    masks = [int(line.split()[1], 16) for line in done.stdout.splitlines()]
    assert [mask & 0b110 for mask in masks] == [0, 0, 0]  # SIGINT is 2, SIGQUIT 3
    assert done.stderr == ""


def test_ctrl_c_on_a_terminal_ends_the_ranks(tmp_path: Path) -> None:
    command = f"touch {tmp_path}/up.$RANK; exec sleep 60"
    job = {"command": command, "ranks_per_node": 2, "rendezvous": "torch"}
    command_line = script(tmp_path, job)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command_line[0], command_line)
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("up.*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.write(terminal, b"\x03")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 143
    os.close(terminal)


def test_sigterm_reaches_the_ranks(tmp_path: Path) -> None:
    noting = f"trap 'echo $RANK >>{tmp_path}/got; exit 0' TERM"
    command = f"{noting}; touch {tmp_path}/up.$RANK; while :; do sleep 0.05; done"
    job = {"command": command, "ranks_per_node": 3, "rendezvous": "torch"}
    running = subprocess.Popen(script(tmp_path, job))
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("up.*"))) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    assert running.wait(30) == 143
    assert sorted((tmp_path / "got").read_text().split()) == ["0", "1", "2"]
