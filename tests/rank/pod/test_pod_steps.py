"""The launcher's text with steps and trials: in pods, over a real sshd and real mpiruns."""

import itertools
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from job_pods import Pods
from running import SHELLS
from step_launching import Ran, launch, launcher_words, ran, record, said, step

MPIS = ("openmpi", "mpich")
_numbers = itertools.count()


@pytest.fixture
def folder(pods: Pods) -> Path:
    made = pods.folder / f"steps-{next(_numbers)}"
    made.mkdir()
    made.chmod(0o777)
    return made


def in_order(seen: list[Ran]) -> list[tuple[str, int]]:
    """What ran one after the other, and how many processes each time."""
    groups = itertools.groupby(seen, lambda each: (each.what, each.value("HPCLAUNCH_TRIAL")))
    return [(what, len(list(group))) for (what, _), group in groups]


def every_kind(folder: Path) -> list[list[str]]:
    return [
        step("setup", "node", record(folder, "install", "two  words", "$x", "a\nb", "--", "", "title=x")),
        step("setup", "job", record(folder, "once"), "setup 2: 'only' \"once\" $(id)"),
        step("before_each", "node", record(folder, "drop caches")),
        step("before_each", "rank", record(folder, "warm up")),
        step("after", "job", record(folder, "collect")),
        step("after", "node", record(folder, "tidy")),
    ]


EXPECTED = [
    *[("install", 2), ("once", 1)],
    *[("drop caches", 2), ("warm up", 4), ("train", 4)] * 2,
    *[("collect", 1), ("tidy", 2)],
]


@pytest.mark.parametrize(("shell", "mpi"), [("dash", "openmpi"), ("busybox", "mpich")])
def test_steps_and_trials_on_two_workers(pods: Pods, folder: Path, shell: str, mpi: str) -> None:
    env = {"NASTY": "'\"`\\ $(id) $$ \n;", "EMPTY": ""}
    trials = ("trials=2", "seed=SEED", "first_seed=41")
    command = record(folder, "train", "=", "--", "setup=node")
    result = launch(pods, mpi, command, every_kind(folder), *trials, shell=shell, env=env)
    assert result.returncode == 0, result.stderr.decode()
    seen = ran(folder)
    assert in_order(seen) == EXPECTED
    assert said(result) == [
        *("a step", "setup 2: 'only' \"once\" $(id)"),
        *("trial 1 of 2, SEED=41", "a step", "a step", "trial 2 of 2, SEED=42", "a step", "a step"),
        *("a step", "a step"),
    ]
    assert [each.argv[1:] for each in seen[:2]] == [["two  words", "$x", "a\nb", "--", "", "title=x"]] * 2
    for each in seen:
        assert each.cwd == "/usr/share"
        assert {name: each.value(name) for name in (*env, "JOB")} == {**env, "JOB": "its own\n'value'"}
        if each.what in ("install", "drop caches", "tidy"):
            assert each.value("WORLD_SIZE") == "2"
            assert each.host == f"job-worker-{each.value('NODE_RANK')}"
        if each.what in ("once", "collect"):
            assert (each.host, each.value("WORLD_SIZE")) == ("job-worker-0", "1")
        if each.what in ("warm up", "train"):
            assert (each.value("WORLD_SIZE"), each.value("LOCAL_WORLD_SIZE")) == ("4", "2")
    hosts = {what: {each.host for each in seen if each.what == what} for what in ("install", "tidy")}
    assert hosts == {what: {"job-worker-0", "job-worker-1"} for what in hosts}
    of_trials: dict[str, list[tuple[str | None, str | None]]] = {}
    for each in seen:
        of_trials.setdefault(each.what, []).append((each.value("HPCLAUNCH_TRIAL"), each.value("SEED")))
    assert of_trials["train"] == of_trials["warm up"] == [("1", "41")] * 4 + [("2", "42")] * 4
    assert of_trials["drop caches"] == [("1", "41")] * 2 + [("2", "42")] * 2
    assert {*of_trials["install"], *of_trials["once"], *of_trials["collect"], *of_trials["tidy"]} == {
        (None, None)
    }


@pytest.mark.parametrize(
    ("shell", "mpi", "ranks"),
    [("dash", "openmpi", 2), ("dash", "mpich", 2), *((shell, "none", 1) for shell in SHELLS)],
)
def test_steps_and_trials_in_one_pod(pods: Pods, folder: Path, shell: str, mpi: str, ranks: int) -> None:
    result = launch(
        pods, mpi, record(folder, "train"), every_kind(folder), "trials=2", one_pod=True, shell=shell
    )
    assert result.returncode == 0, result.stderr.decode()
    seen = ran(folder)
    per_rank = {"train", "warm up"}
    assert in_order(seen) == [(what, ranks if what in per_rank else 1) for what, _ in EXPECTED]
    assert [line for line in said(result) if line.startswith("trial")] == ["trial 1 of 2", "trial 2 of 2"]
    for each in seen:
        assert each.cwd == "/usr/share"
        assert each.value("JOB") == "its own\n'value'"
        assert each.value("WORLD_SIZE") == str(ranks if each.what in per_rank else 1)


def test_what_a_step_needs_no_more_is_not_done_for_it(pods: Pods, folder: Path) -> None:
    """Reports for verify, and cores, are the ranks' alone."""
    steps = [step("setup", "node", record(folder, "install"))]
    settings = ("verify=1", "cpus=4000;4001", "besteffort=1")
    result = launch(pods, "openmpi", record(folder, "train"), steps, settings=settings)
    assert in_order(ran(folder)) == [("install", 2), ("train", 4)]
    assert result.stderr.count(b"hpclaunch-verify 1 ") == 4
    assert result.stderr.count(b"neither cores nor memory are bound") == 2


def test_random_seeds_are_those_that_the_log_names(pods: Pods, folder: Path) -> None:
    result = launch(pods, "openmpi", record(folder, "train"), [], "trials=3", "seed=MY_SEED", one_pod=True)
    told = [line.partition("MY_SEED=")[2] for line in said(result)]
    assert len(set(told)) == 3
    assert all(0 <= int(seed) < 2**31 for seed in told)
    assert [each.value("MY_SEED") for each in ran(folder)] == [seed for seed in told for _ in range(2)]


def statuses(folder: Path, ends: dict[str, int]) -> list[list[str]]:
    """Steps of each kind, with the statuses that they end with."""
    setup, before, after = (
        record(folder, what, status=ends.get(what, 0)) for what in ("setup", "before", "after")
    )
    return [
        step("setup", "job", setup, "setup 1: s"),
        step("setup", "job", record(folder, "setup 2"), "setup 2: t"),
        step("before_each", "node", before, "before_each 1: b"),
        step("after", "job", after, "after 1: a"),
        step("after", "job", record(folder, "after 2"), "after 2: z"),
    ]


AFTER = ["after", "after 2"]
ALL = ["setup", "setup 2", "before", "train", "before", "train", *AFTER]


@pytest.mark.parametrize(
    ("ends", "train", "more", "status", "expected"),
    [
        ({}, 0, (), 0, ALL),
        ({"setup": 3}, 0, (), 3, ["setup", *AFTER]),
        ({"setup": 3, "after": 4}, 0, (), 3, ["setup", *AFTER]),
        ({"before": 5}, 0, (), 5, ["setup", "setup 2", "before", *AFTER]),
        ({"before": 5}, 0, ("keep_going=1",), 5, ["setup", "setup 2", "before", "before", *AFTER]),
        ({}, 7, (), 7, ["setup", "setup 2", "before", "train", *AFTER]),
        ({}, 7, ("keep_going=1",), 7, ALL),
        ({"after": 6}, 0, (), 6, ALL),
        ({"after": 6}, 7, ("keep_going=1",), 7, ALL),
    ],
)
def test_what_runs_after_a_failure_and_whose_status_is_the_jobs(
    pods: Pods,
    folder: Path,
    ends: dict[str, int],
    train: int,
    more: tuple[str, ...],
    status: int,
    expected: list[str],
) -> None:
    command = record(folder, "train", status=train)
    steps = statuses(folder, ends)
    result = launch(pods, "none", command, steps, "trials=2", *more, one_pod=True)
    assert result.returncode == status, result.stderr.decode()
    assert [what for what, _ in in_order(ran(folder))] == expected
    titles = {"setup": "setup 1: s", "before": "before_each 1: b", "after": "after 1: a"}
    for what, code in ends.items():
        assert f"{titles[what]} failed with status {code}" in said(result)


@pytest.mark.parametrize("mpi", MPIS)
def test_the_first_failures_status_is_kept(pods: Pods, folder: Path, mpi: str) -> None:
    trial = 'echo "$HPCLAUNCH_TRIAL" >>"$1"; [ "$RANK" != 3 ] || exit $((HPCLAUNCH_TRIAL * 3 % 4))'
    command = ["sh", "-c", trial, "sh", str(folder / "trials")]
    result = launch(pods, mpi, command, [], "trials=3", "keep_going=1")
    assert result.returncode == 3
    assert {*(folder / "trials").read_text().split()} == {"1", "2", "3"}


def test_an_optional_step_may_fail(pods: Pods, folder: Path) -> None:
    steps = [
        step("setup", "node", record(folder, "drop", status=3), "setup 1: drop", optional=True),
        step("setup", "node", ["/no/such/program"], "setup 2: none", optional=True),
        step("before_each", "job", record(folder, "warm", status=4), "before_each 1: warm", optional=True),
        step("after", "job", record(folder, "tidy", status=5), "after 1: tidy", optional=True),
    ]
    result = launch(pods, "mpich", record(folder, "train"), steps)
    assert result.returncode == 0, result.stderr.decode()
    assert {what for what, _ in in_order(ran(folder))} == {"drop", "warm", "train", "tidy"}
    lines = said(result)
    assert "setup 1: drop failed with status 3; it is optional" in lines
    assert any(line.startswith("setup 2: none failed with status ") for line in lines)
    assert "after 1: tidy failed with status 5; it is optional" in lines


@pytest.mark.parametrize(("shell", "mpi"), [("dash", "openmpi"), *((shell, "none") for shell in SHELLS)])
def test_the_end_of_the_pod_ends_the_ranks_and_leaves_time_for_after(
    pods: Pods, folder: Path, shell: str, mpi: str
) -> None:
    command = ["sh", "-c", f": >{folder}/begun; exec sleep 600"]
    steps = [step("after", "job", record(folder, "after"))]
    words = launcher_words(pods, mpi, command, steps, "trials=2", "keep_going=1", one_pod=True, shell=shell)
    process = pods.start("job-launcher", *words, stderr=subprocess.PIPE)
    while not (folder / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(_first_process(process.pid), signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert [each.what for each in ran(folder)] == ["after"]


def _first_process(pid: int) -> int:
    """The process that is the first of the pod that `pid` keeps."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def test_what_runs_in_the_background_can_be_interrupted(pods: Pods, folder: Path) -> None:
    """A shell's background processes would ignore SIGINT, and so would all that a rank starts."""
    text = "import signal, sys; sys.exit(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    result = launch(pods, "none", ["python3", "-c", text], [], "trials=1", one_pod=True)
    assert result.returncode == 0, result.stderr.decode()


def test_a_job_of_many_words(pods: Pods, folder: Path) -> None:
    words = [f"word {number} '\"$x" for number in range(1500)]
    steps = [
        step("setup", "job", record(folder, "many", *words)),
        step("after", "node", record(folder, "end")),
    ]
    result = launch(pods, "openmpi", record(folder, "train", *words[:100]), steps)
    assert result.returncode == 0, result.stderr.decode()
    seen = ran(folder)
    assert seen[0].argv[1:] == words
    assert in_order(seen) == [("many", 1), ("train", 4), ("end", 2)]
