"""Some ranks run under a profiler, and the others as they are. The profiler here is a stand-in: a script of
a few lines named nsys, which writes the file that it is told to and runs the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from running import RECORD, Runner, recorded

NSYS = """\
#!/bin/sh
# A stand-in for Nsight Systems, not the program.
printf '%s\\0' "$@" >"${0%/*}/words"
[ "$1" = profile ] || exit 99
while :; do
  case $1 in
    --output=*) out=${1#--output=}; shift; break ;;
    *) shift ;;
  esac
done
echo "$SLURM_PROCID" >"$out.nsys-rep"
"$@"
"""
HOSTILE = ["a b", "", "-- ", "-x", "$HOME `id` $(id) 'q' \"d\" \\", "=", "n\nl", "*", "PATH=/nowhere", "é"]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The folder of the stand-in."""
    folder = tmp_path / "a tool's folder"
    folder.mkdir()
    (folder / "nsys").write_text(NSYS)
    (folder / "nsys").chmod(0o700)
    return folder


def settings(out: Path, ranks: str = "0,11", words: tuple[str, ...] = ()) -> list[str]:
    lines = "\n".join(("nsys", "profile", *words, "--output="))
    return ["from=slurm", f"profile={ranks}", f"profile_to={out}/job", f"profiler={lines}"]


def test_a_chosen_rank_s_command_arrives_whole_under_the_profiler(
    run: Runner, tools: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out put" / "deep"
    path = f"PATH={tools}:{os.environ['PATH']}"
    given = ["--trace=cuda,nvtx", "a b", "$HOME '*'"]
    command = [sys.executable, "-c", RECORD, *HOSTILE]
    words = [*settings(out, words=tuple(given)), "--", path, "X=--\n=y", "--", *command]
    argv, environment = recorded(run(*words))
    assert argv == [word.encode() for word in HOSTILE]
    assert environment[b"X"] == b"--\n=y"
    file = out / "job-4711-rank-11.nsys-rep"
    assert file.read_text() == "11\n"
    seen = (tools / "words").read_bytes().decode().split("\0")
    assert seen[: 2 + len(given)] == ["profile", *given, f"--output={out}/job-4711-rank-11"]


@pytest.mark.parametrize("ranks", ["0", "1,1111", "110"])
def test_every_other_rank_runs_as_it_is(run: Runner, tools: Path, tmp_path: Path, ranks: str) -> None:
    path = f"PATH={tools}:{os.environ['PATH']}"
    command = [sys.executable, "-c", RECORD, *HOSTILE]
    argv, _ = recorded(run(*settings(tmp_path / "out", ranks), "--", path, "--", *command))
    assert argv == [word.encode() for word in HOSTILE]
    assert not (tmp_path / "out").exists()
    assert not (tools / "words").exists()


def test_the_command_s_status_is_the_rank_s(run: Runner, tools: Path, tmp_path: Path) -> None:
    path = f"PATH={tools}:{os.environ['PATH']}"
    assert run(*settings(tmp_path), "--", path, "--", "sh", "-c", "exit 7").returncode == 7


def test_a_profiler_that_is_not_there_is_said(run: Runner, tmp_path: Path) -> None:
    done = run(*settings(tmp_path), "--", "PATH=/usr/bin:/bin", "--", "true")
    assert done.returncode == 121
    assert b"nsys is not on the PATH of the ranks (/usr/bin:/bin)" in done.stderr


def test_a_folder_that_cannot_be_made_is_said(run: Runner, tools: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = f"PATH={tools}:{os.environ['PATH']}"
    done = run(*settings(tmp_path / "file"), "--", path, "--", "true")
    assert done.returncode == 121
    assert b"the profile cannot be written" in done.stderr


JOB = {
    "version": 1,
    "name": "profiled",
    "command": ["sh", "-c", '[ "$RANK" = 0 ] || exit 5'],
    "gpus_per_node": 0,
    "ranks_per_node": 2,
    "rendezvous": "torch",
    "profile": {"tool": "nsys", "ranks": [1], "args": ["--trace=cuda"]},
}


def submit(folder: Path, tools: Path, **keys: object) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    (folder / "job.yaml").write_text(yaml.safe_dump({**JOB, "env": env, **keys}))
    around = {**os.environ, "HPCLAUNCH_HOME": str(folder / "home")}
    return hpclaunch("submit", "job.yaml", "--local", "--follow", cwd=folder, env=around)


def test_a_job_on_this_machine_is_profiled(tools: Path, tmp_path: Path) -> None:
    done = submit(tmp_path, tools)
    assert done.returncode == 5, done.stderr
    assert [path.name for path in (tmp_path / "profiles").iterdir()] == ["profiled-rank-1.nsys-rep"]
    assert (tools / "words").read_bytes().split(b"\0")[:3] == [
        b"profile",
        b"--force-overwrite=true",
        b"--trace=cuda",
    ]
    named = {**JOB["profile"], "output": "else where"}  # type: ignore[dict-item]
    assert submit(tmp_path, tools, profile=named).returncode == 5
    assert (tmp_path / "else where" / "profiled-rank-1.nsys-rep").exists()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"profile": {"tool": "nsys", "ranks": [2]}}, "the job has the ranks 0 to 1, and no 2"),
        ({"profile": {"tool": "nsys", "ranks": []}}, "the list is empty"),
        ({"profile": {"tool": "nsys", "ranks": [0, 0]}}, "stands twice"),
        ({"profile": {"tool": "perf"}}, "'perf'"),
        ({"profile": {"tool": "nsys", "args": ["a\nb"]}}, "profile.args[0]"),
        ({"trials": 3}, "a job with `trials` cannot be profiled"),
        ({"groups": {"a": {"nodes": 1, "command": ["x"]}}}, "a job with `groups` cannot be profiled"),
        ({"image": "a/b"}, "output is missing"),
        ({"image": "a/b", "profile": {"tool": "ncu", "output": "here"}}, "a whole path"),
    ],
)
def test_what_cannot_be_is_refused(tools: Path, tmp_path: Path, keys: dict[str, object], said: str) -> None:
    done = submit(tmp_path, tools, **keys)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_slurm_and_pods_launch_the_same_and_a_lost_file_is_warned_of(tmp_path: Path) -> None:
    job = {**JOB, "image": "nvcr.io/nvidia/pytorch:24.07-py3", "mpi": "pmix", "gpus_per_node": 8}
    mounts = ["/scratch:/scratch", "/data:/data:ro"]
    job |= {"ranks_per_node": 8, "mounts": mounts, "profile": {"tool": "nsys", "output": "/scratch/p"}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    sites = ("--site", "superpod-a100", "--site", "k8s-superpod-a100")
    done = hpclaunch("diff", "job.yaml", *sites, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)
    for folder, said in (
        ("/scratch/p", ""),
        ("/data/x", "read only"),
        ("/elsewhere", "ends with the container"),
    ):
        job["profile"] = {"tool": "nsys", "output": folder}
        (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
        done = hpclaunch("render", "job.yaml", "--site", "superpod-a100", cwd=tmp_path)
        assert done.returncode == 0
        assert ("profile.output" in done.stderr) == bool(said)
        assert said in done.stderr
