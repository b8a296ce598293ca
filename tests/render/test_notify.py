"""Who is told of a job's end gets the words of the job file, and JSON, from the rendered script."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waiting import until

from hpclaunch.cli.planning import plan_job
from hpclaunch.render import script

RECORDER = """\
import json, os, sys
words = [os.fsencode(word).hex() for word in sys.argv[2:]]
with open(sys.argv[1], "a") as file:
    file.write(json.dumps([words, os.getcwd(), sys.stdin.read()]) + "\\n")
"""
WORD = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)


def run_script(folder: Path, job: dict[str, object], **programs: str) -> subprocess.CompletedProcess[str]:
    """The job's script in a session of its own, where these programs (POSIX sh) stand for the real ones."""
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    text = script.render(plan_job(str(folder / "job.yaml"), "superpod-a100", ()).plan)
    record = folder / "0b5e"
    record.mkdir(exist_ok=True)
    (record / "claim").unlink(missing_ok=True)
    own = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": "/",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "dgx[001-002]",
        "TZ": "Asia/Tokyo",
    }
    argv = ["bash", "-p", "-c", text, "script", str(record / "claim")]
    return subprocess.run(argv, env=own, capture_output=True, text=True, timeout=60, start_new_session=True)


def run(folder: Path, status: int, **job: object) -> tuple[int, list[list[str]]]:
    """The status of the job's script, and what the recorder noted; a stand-in for srun gives `status`."""
    out = folder / "out"
    out.unlink(missing_ok=True)
    full = {"name": "a", "command": ["run"], "nodes": 1, **job}
    done = run_script(folder, full, srun=f"exit {status}", scontrol="echo ' JobState=RUNNING '")
    return done.returncode, [
        json.loads(line) for line in out.read_text().splitlines()
    ] if out.exists() else []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORD, max_size=4), status=st.sampled_from([0, 7, 137]))
def test_words_arrive_byte_for_byte_and_json_is_json(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], status: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "notify"
    folder.mkdir(exist_ok=True)
    (folder / "recorder.py").write_text(RECORDER)
    command = [sys.executable, str(folder / "recorder.py"), str(folder / "out"), *words]
    ended, ((seen, where, said),) = run(folder, status, notify={"command": command})
    assert ended == status
    assert [bytes.fromhex(word).decode() for word in seen] == words
    assert where == str(folder)
    facts = json.loads(said)
    state = "FAILED" if status else "COMPLETED"
    assert (facts["event"], facts["state"], facts["exit_status"]) == ("end", state, status)
    assert (facts["job_id"], facts["hosts"], facts["tag"]) == ("7", "dgx[001-002]", "0b5e")
    assert (facts["name"], facts["site"], facts["image"], facts["restarts"]) == (
        "a",
        "superpod-a100",
        None,
        0,
    )
    assert facts["time"].endswith("Z")


def test_what_fails_or_is_not_there_changes_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, 7, notify={"command": ["/no/such/program"]}) == (7, [])
    assert run(tmp_path, 0, notify={"command": "exit 9"}) == (0, [])
    assert run(tmp_path, 0, notify={"webhook": "http://127.0.0.1:1/"}) == (0, [])


def test_what_the_command_writes_does_not_fill_the_log(tmp_path: Path) -> None:
    """It runs on to its end, or to that of its time, which is 2 s here."""

    def told_by(text: str) -> str:
        job: dict[str, object] = {"name": "a", "command": ["run"], "nodes": 1, "notify": {"command": text}}
        hasty = f'signal=$1 limit=$(($2 - 8))\nshift 2\nexec {shutil.which("timeout")} "$signal" $limit "$@"'
        done = run_script(tmp_path, job, srun="exit 0", timeout=hasty)
        assert done.returncode == 0
        assert done.stderr.startswith("x\n" * 32768 + "\nhpclaunch: ")
        return done.stderr[65536:]

    rest = told_by(f"yes x | head -c 1000000; echo >{tmp_path}/ended; exit 7")
    assert re.match("\nhpclaunch: more .*\nhpclaunch: .* status 7 .*", rest), rest
    assert (tmp_path / "ended").exists()
    rest = told_by(f"echo $$ >{tmp_path}/pid; exec yes x")
    assert re.match("\nhpclaunch: more .*\nhpclaunch: .* status 137 .*", rest), rest
    command = Path("/proc", (tmp_path / "pid").read_text().strip(), "cmdline")
    until(lambda: not command.exists() or not command.read_bytes())  # a dead one may be there, without words
    # What it leaves behind holds the pipe; who writes next (srun, of the first rank that failed) has a line.
    rest = told_by("trap '' HUP; sleep 30 & yes x | head -c 65537")
    assert re.match("\nhpclaunch: more .*\n$", rest), rest


def test_groups_that_slurm_ends_are_told_of_as_ended_by_it(tmp_path: Path) -> None:
    """As where a node is lost: every process of the script gets SIGTERM, and none says how it ended."""
    groups = {"a": {"nodes": 1}, "b": {"nodes": 1, "command": ["other"]}}
    tell = ["tee", "-a", str(tmp_path / "told")]
    job: dict[str, object] = {"name": "a", "command": ["run"], "world": "separate", "groups": groups}
    job |= {"mpi": "none", "notify": {"command": tell}}
    waits = f"echo >>{tmp_path}/begun; [ $(wc -l <{tmp_path}/begun) = 1 ] || kill -TERM 0; exec sleep 60"
    done = run_script(tmp_path, job, srun=waits, scontrol="echo ' JobState=COMPLETING Reason=NodeDown '")
    assert done.returncode == 143, done.stderr
    assert "not known" not in done.stderr
    told = json.loads((tmp_path / "told").read_text().splitlines()[-1])
    assert (told["event"], told["state"], told["exit_status"]) == ("end", "NODE_FAIL", 143)


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1/"])
def test_a_second_sigterm_ends_neither_the_question_nor_who_is_told(tmp_path: Path, url: str | None) -> None:
    """As slurmd sends it at a time limit, or where another job takes the nodes, to each process."""
    end = "kill -TERM $(ps -o pid= -s $(ps -o sid= -p $$))"
    tell = ["/bin/sh", "-c", f'{end}; cat >>"$0"', str(tmp_path / "told")]
    notify = {"webhook": url} if url else {"command": tell}
    job: dict[str, object] = {"name": "a", "command": ["run"], "nodes": 1, "notify": notify}
    asked = f"{end}\necho ' JobState=COMPLETING Reason=TimeLimit '"
    done = run_script(tmp_path, job, srun=end, scontrol=asked, curl=f"{end}\nexec cat >>{tmp_path}/told")
    assert done.returncode == 143, done.stderr
    assert '"state":"TIMEOUT"' in (tmp_path / "told").read_text().replace("\\", "")
