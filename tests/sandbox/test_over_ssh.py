"""From a laptop: whole lives of jobs on the sandbox's Slurm behind a real sshd, whose connections break."""

import os
import pty
import re
import shutil
import subprocess
import sys

import pytest
from laptop import Laptop, twin
from realslurm import Slurm
from waiting import until

from hpclaunch.records.lookup import all_records, find
from hpclaunch.schedulers import resume


def test_a_life_whose_connections_break(laptop: Laptop, slurm_a100: Slurm) -> None:
    submitted = laptop.run("submit", laptop.job, "--site", laptop.site)
    assert submitted.returncode == 0, submitted.stderr
    job = submitted.stdout.strip()
    assert laptop.sshd.logins() == 1
    out = laptop.folder / "followed"
    following = laptop.start("logs", "--follow", job, out=out)
    waiting = laptop.start("wait", job, out=laptop.folder / "waited")
    for lines in (5, 60, 120):
        until(lambda least=lines: out.read_bytes().count(b"\n") > least)
        laptop.sshd.cut()
    running = laptop.run("status", job)
    assert "RUNNING" in running.stdout, running.stderr
    laptop.gate.touch()
    assert following.wait(120) == 0
    assert waiting.wait(120) == 3
    there = (twin(laptop) / "logs" / "output.log").read_bytes()
    assert out.read_bytes() == there
    staged = next((laptop.cluster / "staged").iterdir()).name
    assert there.startswith(f"in {staged}, with words and 6\nline 1\n".encode())
    assert b"the end without a newline" in there
    numbers = re.findall(rb"^line (\d+)$", there, re.MULTILINE)
    assert numbers == [b"%d" % number for number in range(1, len(numbers) + 1)]
    ended = laptop.run("status", job)
    assert "FAILED" in ended.stdout
    assert re.search(r"exit code +3\n", ended.stdout)
    assert "far" in laptop.run("list").stdout
    assert not list((laptop.cluster / "secrets").iterdir())
    shown = slurm_a100.run("scontrol", "show", "job", job).stdout
    assert "geheim" not in shown
    assert str(laptop.folder / "home") not in shown
    for folder in (laptop.cluster, laptop.folder / "home"):
        for path in folder.rglob("*"):
            assert not path.is_file() or b"geheim" not in path.read_bytes(), path


@pytest.mark.parametrize("transport", ["fabric"], indirect=True)
def test_a_second_job_with_the_same_files_sends_none_and_is_cancelled(laptop: Laptop) -> None:
    ids = [laptop.run("submit", laptop.job, "--site", laptop.site).stdout.strip() for _ in range(2)]
    assert len(set(ids)) == 2
    assert len(list((laptop.cluster / "staged").iterdir())) == 1
    checked = laptop.run("site", "check", laptop.site)
    assert checked.stdout == "far: the site file and the cluster agree\n", checked.stderr
    in_container = laptop.work / "container.yaml"
    mounts = "mounts: ['./data:/data:ro', '/cluster/x:/x', '/usr:/y']"
    in_container.write_text(f"name: c\nnodes: 1\nimage: /cluster/x.sqsh\ncommand: x\n{mounts}\n")
    looked = laptop.run("doctor", "--site", laptop.site, "--job", in_container)
    assert looked.returncode == 0, looked.stdout
    for path in ("/cluster/x.sqsh", "/cluster/x", "/usr"):
        assert re.search(rf"^not known +{path} ", looked.stdout, re.MULTILINE)
    assert re.search(r"^ok +/.*/staged/\S+ +it is sent from here", looked.stdout, re.MULTILINE)
    assert re.search(r"^ok +SSH to node, by fabric +it works$", looked.stdout, re.MULTILINE)
    assert re.search(r"^ok +ssh.home +.* can be written$", looked.stdout, re.MULTILINE)
    free = re.search(r"^ok +free space of ssh.home +([0-9.]+) GiB in (.*), as", looked.stdout, re.MULTILINE)
    assert free
    room = shutil.disk_usage(laptop.cluster).free / 2**30
    assert 0.5 * room < float(free[1]) < 2 * room
    assert free[2] == str(laptop.cluster)
    assert re.search(r"^(ok|not known) +quota of ssh.home +.*quota", looked.stdout, re.MULTILINE)
    for job in ids:
        cancelled = laptop.run("cancel", job)
        assert cancelled.returncode == 0, cancelled.stderr
        ended = laptop.run("wait", job)
        assert ended.returncode == 1
        assert "CANCELLED" in ended.stderr
    assert not list((laptop.cluster / "secrets").iterdir())
    on_node = laptop.run("doctor", "--site", laptop.site, "--job", in_container, "--on-node")
    assert on_node.returncode == 1, on_node.stdout
    found = re.findall(r"^(\w+) +(/\S+) on dgx", on_node.stdout, re.MULTILINE)
    home = str(laptop.cluster)
    assert found == [("ok", home), ("bad", "/cluster/x.sqsh"), ("bad", "/cluster/x"), ("ok", "/usr")]


@pytest.mark.parametrize("transport", ["fabric"], indirect=True)
def test_a_submission_whose_node_and_sender_die_is_found_and_runs_once(
    laptop: Laptop, slurm_a100: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sbatch outlives both: until it has ended nobody can tell, and after that the job is there."""
    started, go, ran = (laptop.folder / name for name in ("started", "go", "ran"))
    sbatch = laptop.tools / "sbatch"
    sbatch.write_text(
        '#!/bin/sh\ncase $1 in --version) exec /usr/bin/sbatch "$@" ;; esac\n'
        f'echo x >>{started}\nuntil [ -e {go} ]; do sleep 0.1; done\nexec /usr/bin/sbatch "$@"\n'
    )
    sbatch.chmod(0o755)
    (laptop.work / "run.sh").write_text(f"#!/bin/sh\necho x >>{ran}\n")
    sender = laptop.start("submit", laptop.job, "--site", laptop.site, out=laptop.folder / "sent")
    until(started.exists)
    laptop.sshd.stop()
    sender.kill()
    sender.wait()
    laptop.sshd.start()
    for name, value in laptop.env.items():
        monkeypatch.setenv(name, value)
    (record,), _ = all_records()
    (outcome,) = resume.resume([record], None, lambda _: None, lambda _: None)
    assert outcome.found == "unknown"
    assert "has not ended" in outcome.why
    assert record.state().job_id is None
    go.touch()
    until(
        lambda: (
            record.tag
            in slurm_a100.run("squeue", "--noheader", "--states=all", "--Format=comment:200").stdout
        )
    )
    resumed = laptop.run("submit", "--resume", record.tag)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.strip() == find(record.tag).state().job_id
    assert laptop.run("wait", resumed.stdout.strip()).returncode == 0
    assert ran.read_text() == "x\n"
    assert started.read_text() == "x\n"


@pytest.mark.parametrize("transport", ["fabric"], indirect=True)
def test_a_submission_whose_connection_breaks_learns_its_id_by_itself(laptop: Laptop) -> None:
    sent = laptop.folder / "sent"
    sbatch = laptop.tools / "sbatch"
    sbatch.write_text(
        '#!/bin/sh\ncase $1 in --version) exec /usr/bin/sbatch "$@" ;; esac\n'
        f'/usr/bin/sbatch "$@"\necho x >>{sent}\nexec sleep 3\n'
    )
    sbatch.chmod(0o755)
    (laptop.work / "run.sh").write_text("#!/bin/sh\n")
    sender = laptop.start("submit", laptop.job, "--site", laptop.site, out=laptop.folder / "id")
    until(sent.exists)
    laptop.sshd.cut()
    assert sender.wait(120) == 0, (laptop.folder / "id.err").read_text()
    job = (laptop.folder / "id").read_text().strip()
    assert laptop.run("wait", job).returncode == 0
    assert sent.read_text() == "x\n"


@pytest.mark.parametrize("transport", ["openssh"], indirect=True)
def test_a_sweep_over_ssh_is_one_array_and_its_logs_come_here(laptop: Laptop) -> None:
    text = laptop.job.read_text().replace(f"[./run.sh, {laptop.gate}]", "[printenv, POINT]")
    laptop.job.write_text(text.replace("secrets: [TOKEN]\n", "") + "sweep: {grid: {env.POINT: [a, b, c]}}\n")
    submitted = laptop.run("submit", laptop.job, "--site", laptop.site)
    assert submitted.returncode == 0, submitted.stderr
    job = submitted.stdout.strip()
    assert laptop.run("wait", job).returncode == 0
    logs = [laptop.run("logs", f"{job}_{task}").stdout for task in range(3)]
    assert logs == ["a\n", "b\n", "c\n"]


def test_a_command_runs_beside_a_rank(laptop: Laptop) -> None:
    job = laptop.run("submit", laptop.job, "--site", laptop.site).stdout.strip()
    until(lambda: laptop.run("exec", job, "--", "true").returncode == 0)
    words = ["a b", "$c", "it's\n", "", ":", "é"]
    script = 'cat; echo ${#TOKEN} ${PWD##*/}; shift; printf "%s|" "$@"; exit 7'
    argv = [sys.executable, "-m", "hpclaunch", "exec", job, "--", "sh", "-c", script, "x", "y", *words]
    done = subprocess.run(argv, env=laptop.env, input="in\n", capture_output=True, text=True, timeout=120)
    staged = next((laptop.cluster / "staged").iterdir()).name
    assert (done.returncode, done.stdout) == (7, f"in\n6 {staged}\n{'|'.join(words)}|"), done.stderr
    assert not list(twin(laptop).glob("inside-*"))
    seen = b""

    def read(descriptor: int) -> bytes:
        nonlocal seen
        data = os.read(descriptor, 1024)
        seen += data
        return data

    with pytest.MonkeyPatch.context() as patch:
        for name, value in laptop.env.items():
            patch.setenv(name, value)
        words = ["sh", "-c", "test -t 0 && test -t 1 && echo tty-$((40 + 2)); exit 9"]
        status = pty.spawn([*argv[:5], "--", *words], read, lambda descriptor: b"")
    assert os.waitstatus_to_exitcode(status) == 9, seen
    assert b"tty-42" in seen
    laptop.gate.touch()


def test_a_host_that_nobody_trusts_is_told_at_once(laptop: Laptop) -> None:
    job = laptop.run("submit", laptop.job, "--site", laptop.site).stdout.strip()
    known = laptop.sshd.known_hosts.read_text()
    laptop.sshd.known_hosts.write_text("")
    waited = laptop.run("wait", job)
    assert (waited.returncode, "hpclaunch adds no host key" in waited.stderr) == (125, True), waited.stderr
    logs = laptop.run("logs", job)
    assert (logs.returncode, logs.stdout) == (3, ""), logs.stderr
    laptop.sshd.known_hosts.write_text(known)
    laptop.gate.touch()
    assert laptop.run("wait", job).returncode == 3
    assert "the end without a newline" in laptop.run("logs", job).stdout
