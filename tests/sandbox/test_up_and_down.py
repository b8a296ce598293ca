"""A sandbox leaves nothing behind, whatever was killed; and says what is the matter with it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from realslurm import Slurm, sandbox

from hpclaunch.sandbox import packages, updown
from hpclaunch.sandbox.layout import at


def processes() -> dict[int, str]:
    """Every process of this machine that is not a zombie, with its command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                live = (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if live:
                found[int(entry.name)] = command
    return found


def inside(folder: Path) -> set[int]:
    """The processes in the sandbox's PID namespace, and the `unshare` above it."""
    above = {pid for pid, command in processes().items() if f"supervisor {folder} " in command}
    spaces = set()
    for pid in above:
        try:
            spaces.add(os.readlink(f"/proc/{pid}/ns/pid_for_children"))
        except OSError:
            continue
    for pid in processes():
        try:
            if os.readlink(f"/proc/{pid}/ns/pid") in spaces:
                above.add(pid)
        except OSError:
            continue
    return above


def victims(folder: Path, name: str) -> list[int]:
    """The processes of a sandbox whose program is `name`; the supervisor's is Python."""
    program = "python" if name == "supervisor" else name
    living = processes()
    return [pid for pid in inside(folder) if program in living.get(pid, "").split(" ")[0]]


def status_when(folder: Path, state: str) -> dict[str, object]:
    """What status says once the state is this one: a kill takes a moment to be seen."""
    end = time.monotonic() + 20
    while True:
        seen = json.loads(sandbox("status", "--json", "--dir", folder).stdout)
        if seen["state"] == state or time.monotonic() > end:
            assert seen["state"] == state
            return dict(seen)


@pytest.fixture
def folder(slurm_possible: None, tmp_path: Path) -> Iterator[Path]:
    """A folder for one sandbox, which is down at the end whatever the test found."""
    yield tmp_path / "it"
    if (tmp_path / "it").exists():
        sandbox("down", "--dir", tmp_path / "it")


@pytest.mark.parametrize("name", ["munged", "slurmctld", "slurmd", "unshare", "supervisor", "mariadbd"])
def test_down_leaves_nothing_after_a_kill(folder: Path, tmp_path: Path, name: str) -> None:
    accounts = name == "mariadbd"
    if accounts and (obstacle := updown.obstacle(accounts=True)):
        pytest.skip(obstacle)
    more = ["--accounting"] if accounts else []
    assert sandbox("up", "--nodes", "1", "--dir", folder, *more).returncode == 0
    env = {**os.environ, "SLURM_CONF": f"{folder}/etc/slurm.conf"}
    script = f"setsid sleep 5431 & srun sh -c 'touch {tmp_path}/runs; exec sleep 5432'"
    job = ["sbatch", "--output=/dev/null", f"--wrap={script}"]
    subprocess.run(job, env=env, check=True, capture_output=True, timeout=60)
    end = time.monotonic() + 30
    while not (tmp_path / "runs").exists():
        assert time.monotonic() < end, "the job did not start"
        time.sleep(0.05)
    everything = inside(folder)
    killed = victims(folder, name)
    assert killed
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):  # a part of what was killed before
            os.kill(pid, signal.SIGKILL)
    whole = name in ("unshare", "supervisor")
    seen = status_when(folder, "down" if whole else "degraded")
    if whole:
        assert everything.isdisjoint(processes())
    else:
        assert seen["ended"] == {"dgx1" if name == "slurmd" else name: -9}
    assert sandbox("down", "--dir", folder).returncode == 0
    assert everything.isdisjoint(processes())
    assert not folder.exists()
    assert not at(folder).run.exists()
    mounts = Path("/proc/self/mountinfo").read_text()
    assert str(folder) not in mounts
    assert str(at(folder).run) not in mounts


def test_up_clears_what_a_crash_left(folder: Path) -> None:
    assert sandbox("up", "--nodes", "1", "--dir", folder).returncode == 0
    for pid in victims(folder, "supervisor"):
        os.kill(pid, signal.SIGKILL)
    status_when(folder, "down")
    (folder / "stale").touch()
    again = sandbox("up", "--nodes", "1", "--dir", folder)
    assert (again.returncode, again.stdout) == (0, f"{folder}/site.yaml\n")
    assert not (folder / "stale").exists()


def test_a_second_up_is_refused_and_changes_nothing(slurm_a100: Slurm) -> None:
    refused = sandbox("up", "--dir", slurm_a100.folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "up already" in refused.stderr
    assert slurm_a100.run("srun", "hostname").stdout == "dgx1\n"


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_folder_of_someone_else_is_left_alone(slurm_possible: None, tmp_path: Path, command: str) -> None:
    (tmp_path / "thesis.tex").touch()
    refused = sandbox(command, "--dir", tmp_path)
    assert refused.returncode == 1
    assert "not empty and not a sandbox" in refused.stderr
    assert (tmp_path / "thesis.tex").exists()


def test_two_at_once_in_one_folder_make_one_sandbox(folder: Path) -> None:
    argv = [sys.executable, "-m", "hpclaunch", "sandbox", "up", "--nodes", "1", "--dir", str(folder)]
    both = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "12"]
    said = [one.communicate(timeout=120) for one in both]
    assert sorted(one.returncode for one in both) == [0, 1]
    assert sorted(out for out, _ in said) == ["", f"{folder}/site.yaml\n"]
    assert json.loads(sandbox("status", "--json", "--dir", folder).stdout)["state"] == "up"


def test_a_path_that_slurm_cannot_hold_is_refused(slurm_possible: None, tmp_path: Path) -> None:
    refused = sandbox("up", "--dir", tmp_path / "my sandbox")
    assert refused.returncode == 1
    assert "blanks" in refused.stderr
    assert not (tmp_path / "my sandbox").exists()


def test_a_start_that_fails_leaves_nothing_and_says_why(folder: Path, tmp_path: Path) -> None:
    # A compiler that fails stands for everything that can go wrong on the way.
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "cc").write_text("#!/bin/sh\necho no room on the device >&2\nexit 1\n")
    (fake / "cc").chmod(0o755)
    failed = sandbox("up", "--dir", folder, env={**os.environ, "PATH": f"{fake}:{os.environ['PATH']}"})
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "no room on the device" in failed.stderr
    assert not folder.exists()
    assert not at(folder).run.exists()
    assert not inside(folder)


def test_status_of_what_is_up_and_of_what_is_not(slurm_a100: Slurm, tmp_path: Path) -> None:
    seen = json.loads(sandbox("status", "--json", "--dir", slurm_a100.folder).stdout)
    assert (seen["name"], seen["state"]) == ("a100", "up")
    assert (seen["site"], seen["slurm_conf"]) == (str(slurm_a100.site), str(slurm_a100.slurm_conf))
    assert set(seen["nodes"]) == {"dgx1", "dgx2"}
    assert any("no image is started" in line for line in seen["stubbed"])
    absent = sandbox("status", "--json", "--dir", tmp_path / "none")
    assert json.loads(absent.stdout)["state"] == "down"
    assert sandbox("down", "--dir", tmp_path / "none").returncode == 0


def test_a_long_path_and_two_side_by_side(start_slurm: Callable[..., Slurm], tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    first = start_slurm("--nodes", "1", "--name", "first")
    assert sandbox("up", "--nodes", "1", "--dir", folder).returncode == 0
    try:
        env = {**os.environ, "SLURM_CONF": f"{folder}/etc/slurm.conf"}
        assert first.run("srun", "--mpi=pmix", "hostname", env=env).stdout == "dgx1\n"
        assert first.run("srun", "--mpi=pmix", "hostname").stdout == "dgx1\n"
    finally:
        assert sandbox("down", "--dir", folder).returncode == 0
    assert first.run("srun", "hostname").stdout == "dgx1\n"


def test_a_group_that_may_write_above_the_folder(slurm_possible: None, tmp_path: Path) -> None:
    """munged holds its files unsafe there, as it does on a machine whose / is so."""
    loose = tmp_path / "run"
    loose.mkdir()
    loose.chmod(0o775)
    script = """
        mount --bind "$1" "$2"; folder=$3; shift 3
        "$@" up --nodes 1 --dir "$folder" >&2
        SLURM_CONF="$folder/etc/slurm.conf" srun hostname
        "$@" down --dir "$folder"
    """
    folder = tmp_path / "it"
    names = (loose, at(folder).run.parent, folder)
    own = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    seen = subprocess.run(
        [*own, "sh", "-ec", script, "sh", *names, sys.executable, "-m", "hpclaunch", "sandbox"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (seen.returncode, seen.stdout) == (0, "dgx1\n"), seen.stderr


def test_missing_packages_are_named_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "apt-get").touch(mode=0o755)
    monkeypatch.setattr(packages, "_PATH", str(tmp_path))
    monkeypatch.setattr(packages, "_PMIX", ())
    monkeypatch.setattr(packages, "_FILES", {str(tmp_path / "none"): "libslurm-dev"})
    command, _, names = updown.obstacle(accounts=True).partition(" install --no-install-recommends ")
    assert command == "the sandbox needs packages: " + ("apt-get" if os.getuid() == 0 else "sudo apt-get")
    wanted = set(names.split(" "))
    assert {"slurmctld", "slurmd", "slurm-client", "munge", "gcc", "libslurm-dev", "libpmix-dev"} <= wanted
    assert wanted - set(updown.obstacle().split(" ")) == {"slurmdbd", "mariadb-server-core"}
    listed = (Path(__file__).parents[2] / ".ci" / "packages").read_text().splitlines()
    assert wanted - {line.split(" ")[0] for line in listed} == {"hostname"}  # which every Debian has
