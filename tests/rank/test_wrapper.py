"""The rank wrapper alone, under every shell that an image may have for /bin/sh, on a made-up machine."""

import os
import resource
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import RECORD, SLURM, Runner, recorded
from variables import ENVIRONMENTS, TEXT


def test_torch_names_follow_from_the_step(run: Runner) -> None:
    result = run("from=slurm", "rendezvous=torch", "--", "--", sys.executable, "-c", RECORD)
    _, env = recorded(result)
    assert {name: env[name.encode()].decode() for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")} == {
        "RANK": "11",
        "LOCAL_RANK": "3",
        "WORLD_SIZE": "16",
    }
    assert (env[b"LOCAL_WORLD_SIZE"], env[b"NODE_RANK"], env[b"MASTER_ADDR"]) == (b"8", b"1", b"dgx003")
    assert 61000 <= int(env[b"MASTER_PORT"]) < 65536


def test_port_differs_by_job_and_by_step(run: Runner) -> None:
    ports = set()
    for job, step in (("1", "0"), ("1", "1"), ("2", "0")):
        env = {"SLURM_JOB_ID": job, "SLURM_STEP_ID": step}
        result = run("from=slurm", "rendezvous=torch", "--", "--", sys.executable, "-c", RECORD, env=env)
        ports.add(recorded(result)[1][b"MASTER_PORT"])
    assert len(ports) == 3


@pytest.mark.parametrize(
    ("nodelist", "first"),
    [
        ("dgx1", "dgx1"),
        ("dgx[003-140]", "dgx003"),
        ("dgx[7,9-12],login", "dgx7"),
        ("a1,b2", "a1"),
        ("su[01-02]-n[05,07]", "su01-n05"),
        ("rack1-[2-3]x,other[1-2]", "rack1-2x"),
        ("node-9-a[10]", "node-9-a10"),
    ],
)
def test_first_host_of_a_node_list(run: Runner, nodelist: str, first: str) -> None:
    env = {"SLURM_STEP_NODELIST": nodelist}
    result = run("from=slurm", "rendezvous=torch", "--", "--", sys.executable, "-c", RECORD, env=env)
    assert recorded(result)[1][b"MASTER_ADDR"].decode() == first


def test_rank_0_elsewhere_than_master_addr_is_an_error(run: Runner) -> None:
    env = {"SLURM_PROCID": "0", "SLURM_NODEID": "1"}
    result = run("from=slurm", "rendezvous=torch", "--", "--", "true", env=env)
    assert result.returncode == 121
    assert b"rank 0 is on node 1" in result.stderr


def test_the_jobs_value_replaces_a_computed_one(run: Runner) -> None:
    result = run(
        "from=slurm", "rendezvous=torch", "--", "MASTER_PORT=7", "RANK=x", "--", sys.executable, "-c", RECORD
    )
    _, env = recorded(result)
    assert (env[b"MASTER_PORT"], env[b"RANK"], env[b"LOCAL_RANK"]) == (b"7", b"x", b"3")


def test_only_the_named_variables_are_added(run: Runner) -> None:
    """The wrapper leaves nothing of its own behind, and none of the image's variables is touched."""
    image = {"rank": "image", "entry": "image", "hosts": "a b", "OLDPWD": "/gone", "IFS": "x"}
    arguments = ("from=slurm", "cwd=/", "--", "A=1", "--", sys.executable, "-c", RECORD)
    _, env = recorded(run(*arguments, env=image))
    shells_own = {b"PWD", b"SHLVL", b"_", b"IFS", b"OLDPWD", b"LC_CTYPE"}
    expected = {b"A", b"PATH", b"rank", b"entry", b"hosts"} | {name.encode() for name in SLURM}
    assert set(env) - shells_own == expected
    assert (env[b"rank"], env[b"entry"]) == (b"image", b"image")


def test_a_low_memlock_limit_is_named_before_the_command_runs(run: Runner, tmp_path: Path) -> None:
    devices = tmp_path / "dev" / "infiniband"
    devices.mkdir(parents=True)
    (devices / "uverbs3").touch()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))

    arguments = ("from=slurm", f"root={tmp_path}", "memlock=1048576", "--", "--", "echo", "ran")
    result = run(*arguments, preexec_fn=limited)
    assert (result.returncode, result.stdout) == (121, b"")
    assert b"memlock limit is 64 KiB" in result.stderr
    (devices / "uverbs3").unlink()
    assert run(*arguments, preexec_fn=limited).stdout == b"ran\n"


def test_a_missing_directory_stops_the_rank(run: Runner, tmp_path: Path) -> None:
    result = run("from=slurm", f"cwd={tmp_path}/not there", "--", "--", "echo", "ran")
    assert (result.returncode, result.stdout) == (121, b"")
    assert b"not there" in result.stderr


def test_the_commands_status_and_signals_are_its_own(run: Runner) -> None:
    assert run("from=slurm", "--", "--", "sh", "-c", "exit 7").returncode == 7
    assert run("from=slurm", "--", "--", "sh", "-c", "kill -TERM $$").returncode == -15
    assert run("from=slurm", "--", "--", "/no/such/command").returncode in (126, 127)


def test_the_jobs_path_finds_the_command(run: Runner, tmp_path: Path) -> None:
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    assert run("from=slurm", "--", f"PATH={tmp_path}:/usr/bin:/bin", "--", "only-here").stdout == b"found\n"


def test_an_unknown_setting_is_refused(run: Runner) -> None:
    result = run("from=slurm", "hover=1", "--", "--", "true")
    assert result.returncode == 121
    assert b"hover=1" in result.stderr


def test_cores_are_bound_where_no_scheduler_does_it(run: Runner) -> None:
    cpu = str(max(os.sched_getaffinity(0)))
    show = "import os; print(sorted(os.sched_getaffinity(0)))"
    result = run("from=local", "rank=1", "ranks=2", f"cpus=0-1;{cpu}", "--", "--", sys.executable, "-c", show)
    assert result.stdout.decode() == f"[{cpu}]\n"


@pytest.fixture
def stand_in(tmp_path: Path) -> str:
    """A PATH on which a stand-in for numactl comes first: it prints its arguments and binds nothing."""
    numactl = tmp_path / "bin" / "numactl"
    numactl.parent.mkdir()
    numactl.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    numactl.chmod(0o755)
    return f"{numactl.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("setting", "local", "option"),
    [
        ("membind=3;1-2;0,4", 0, "--membind=3"),
        ("membind=3;1-2;0,4", 1, "--membind=1-2"),
        ("membind=3;1-2;0,4", 2, "--membind=0,4"),
        ("preferred=3;1-2;0,4", 0, "--preferred=3"),  # numactl(8): it takes one node
        ("preferred=3;1-2;0,4", 1, "--preferred=1"),
        ("preferred=3;1-2;0,4", 2, "--preferred=0"),
    ],
)
def test_numactl_binds_memory_and_runs_the_command(
    run: Runner, stand_in: str, setting: str, local: int, option: str
) -> None:
    # The job's own PATH has no numactl, and needs none.
    arguments = ("from=slurm", setting, "--", "PATH=/nonexistent", "--", "train", "two  words", ":", "")
    result = run(*arguments, env={"PATH": stand_in, "SLURM_LOCALID": str(local)})
    assert result.stdout.decode() == f"<{option}><--><train><two  words><:><>"
    assert result.stderr == b""


def test_numactl_is_left_alone_where_nothing_is_said_of_memory(run: Runner, stand_in: str) -> None:
    assert run("from=slurm", "--", "--", "echo", "ran", env={"PATH": stand_in}).stdout == b"ran\n"


@pytest.mark.parametrize("policy", ["membind", "preferred"])
def test_without_numactl_the_command_runs_and_one_rank_of_the_node_says_so(
    run: Runner, tmp_path: Path, policy: str
) -> None:
    (tmp_path / "echo").symlink_to(shutil.which("echo") or "")
    said = []
    for rank in ("0", "1"):
        env = {
            "PATH": str(tmp_path),
            "SLURM_PROCID": rank,
            "SLURM_LOCALID": rank,
            "SLURMD_NODENAME": "dgx003",
        }
        result = run("from=slurm", f"{policy}=0;1", "--", "--", "echo", "ran", env=env)
        assert (result.returncode, result.stdout) == (0, b"ran\n")
        said.append(result.stderr)
    assert said == [b"hpclaunch: dgx003: memory is not bound: there is no numactl\n", b""]


@settings(max_examples=25, deadline=None)
@given(env=ENVIRONMENTS, words=st.lists(TEXT, max_size=4))
def test_any_name_and_value_arrive_byte_for_byte(run: Runner, env: dict[str, str], words: list[str]) -> None:
    pairs = [f"{name}={value}" for name, value in env.items()]
    result = run("from=slurm", "--", *pairs, "--", sys.executable, "-c", RECORD, "first", *words)
    argv, got = recorded(result)
    assert argv == [b"first", *map(os.fsencode, words)]
    assert {name: got.get(name.encode()) for name in env} == {name: os.fsencode(env[name]) for name in env}
