"""Sweeps and jobs that wait for each other, under a real Slurm."""

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm
from waiting import until

# What reaches a rank, as bytes, and a metric; fails where it is told to.
RANK = """\
import json, os, sys
hexed = lambda words: [os.fsencode(word).hex() for word in words]
point = os.environ["HPCLAUNCH_POINT"]
with open(os.path.join(sys.argv[1], point), "w") as file:
    json.dump([hexed(sys.argv[2:]), os.environb[b"LR"].hex(), os.environ["HPCLAUNCH_SWEEP"]], file)
print("loss=9", flush=True)
print("loss=0.%s" % point, flush=True)
sys.exit(int(os.environ.get("FAIL") == point) * 7)
"""
HOSTILE = ["0.1", "", "a b\t'q' \"d\" $HOME $(id) `id` \\ \n x", "é\u2028 *?[a] {1,2} #;&|", "\r\x1b=--"]

Run = Callable[..., "Any"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # Slurm would replace these in --output.
    folder = tmp_path / "home 5%j %% x"
    folder.mkdir(mode=0o755)
    tmp_path.chmod(0o777)
    return folder


@pytest.fixture
def run(slurm_a100: Slurm, home: Path) -> Run:
    return lambda *words: hpclaunch(*words, env={**slurm_a100.env, "HPCLAUNCH_HOME": str(home)})


def write(folder: Path, name: str, **keys: Any) -> Path:
    job = {
        "version": 1,
        "name": name,
        "command": ["true"],
        "gpus_per_node": 0,
        "ranks_per_node": 1,
        "time": 5,
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**job, **keys}, sort_keys=False), encoding="utf-8")
    return path


def test_every_point_reaches_its_ranks_byte_for_byte_and_has_results(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "rank.py").write_text(RANK)
    (tmp_path / "out").mkdir(mode=0o777)
    job = write(
        tmp_path,
        "search",
        command=[sys.executable, str(tmp_path / "rank.py"), str(tmp_path / "out"), "-x"],
        env={"FAIL": "3"},
        sweep={"max_running": 4, "grid": {"env.LR": HOSTILE, "args": [HOSTILE, ["--one"]]}},
        metrics={"loss": "loss=([0-9.]+)", "most": {"pattern": "loss=([0-9.]+)", "take": "max"}},
    )
    done = run("submit", job, "--site", slurm_a100.site, "--wait")
    assert done.returncode == 7, done.stderr
    job_id = done.stdout.strip()
    assert job_id.isdigit()
    for number in range(10):
        lr, args = HOSTILE[number // 2], [HOSTILE, ["--one"]][number % 2]
        words, variable, total = json.loads((tmp_path / "out" / str(number)).read_text())
        assert [bytes.fromhex(word).decode() for word in words] == ["-x", *args]
        assert bytes.fromhex(variable).decode() == lr
        assert total == "10"
    rows = json.loads(run("results", job_id, "--json").stdout)
    assert [(row["job_id"], row["values"]["env.LR"]) for row in rows] == [
        (f"{job_id}_{number}", HOSTILE[number // 2]) for number in range(10)
    ]
    assert [row["state"] for row in rows].count("COMPLETED") == 9
    assert (rows[3]["state"], rows[3]["exit_code"]) == ("FAILED", 7)
    assert [row["metrics"] for row in rows] == [{"loss": f"0.{number}", "most": "9"} for number in range(10)]
    run("results", job_id, "--csv", tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(row["env.LR"], row["loss"]) for row in table] == [
        (HOSTILE[number // 2], f"0.{number}") for number in range(10)
    ]
    shown = json.loads(run("status", job_id, "--json").stdout)
    assert shown["counts"] == {"COMPLETED": 9, "FAILED": 1}
    assert [each["job_id"] for each in shown["failed"]] == [f"{job_id}_3"]
    assert json.loads(run("status", f"{job_id}_3", "--json").stdout)["exit_code"] == 7
    assert [run("wait", f"{job_id}_{task}").returncode for task in (2, 3)] == [0, 7]
    assert run("logs", f"{job_id}_4").stdout == "loss=9\nloss=0.4\n"
    assert f"{job_id}_0 to {job_id}_9" in run("logs", job_id).stderr


def test_a_sweep_larger_than_an_array_is_several_and_its_tasks_can_be_cancelled(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    raw = {slurm_a100.name: {"sbatch": ["--hold"]}}
    numbers = [str(number) for number in range(10_004)]
    job = write(
        tmp_path, "large", sites=raw, command=["true"], sweep={"max_running": 2, "grid": {"env.N": numbers}}
    )
    done = run("submit", job, "--site", slurm_a100.site)
    assert done.returncode == 0, done.stderr
    assert "2 job arrays: the cluster's MaxArraySize is 10,001" in done.stderr
    first, second = done.stdout.split()
    shown = json.loads(run("status", first, "--json").stdout)
    assert (shown["state"], shown["counts"]) == ("PENDING", {"PENDING": 10_001})
    later = slurm_a100.run("scontrol", "show", "job", second).stdout
    assert f"Dependency=afterany:{first}" in later  # no more than max_running at a time
    assert run("cancel", f"{first}_17").returncode == 0
    until(lambda: json.loads(run("status", first, "--json").stdout)["counts"].get("CANCELLED") == 1)
    by_hand = slurm_a100.run("scancel", f"{first}_[5000-5099]")  # Slurm keeps nothing of these tasks
    assert by_hand.returncode == 0, by_hand.stderr
    counts = {"PENDING": 10_001 - 1 - 100, "CANCELLED": 1 + 100}
    until(lambda: json.loads(run("status", first, "--json").stdout)["counts"] == counts)
    assert run("wait", f"{first}_5003").returncode == 1
    listed = run("list").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [second, first]
    for job_id in (first, second):
        assert run("cancel", job_id).returncode == 0
        assert run("wait", job_id).returncode == 1
    rows = json.loads(run("results", second, "--json").stdout)  # any of its jobs names the sweep
    assert [row["values"]["env.N"] for row in rows] == numbers
    assert {row["state"] for row in rows} == {"CANCELLED"}
    assert rows[-1]["job_id"] == f"{second}_2"


def test_secrets_reach_every_task_and_go_with_the_last(slurm_a100: Slurm, home: Path, tmp_path: Path) -> None:
    job = write(
        tmp_path,
        "secret",
        command="test \"$TOKEN\" = 'ge heim'",
        secrets=["TOKEN"],
        sweep={"grid": {"env.N": ["1", "2", "3"]}, "max_running": 1},
    )
    env = {**slurm_a100.env, "HPCLAUNCH_HOME": str(home), "TOKEN": "ge heim"}
    done = hpclaunch("submit", job, "--site", slurm_a100.site, "--wait", env=env)
    assert done.returncode == 0, done.stderr
    assert not [path for path in (home / "secrets").rglob("*") if path.is_file()]


def test_points_with_other_nodes_and_files_that_wait_are_jobs_in_order(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "order"
    out.touch(mode=0o666)
    out.chmod(0o666)
    note = f"echo $HPCLAUNCH_POINT$NOTE >> '{out}'"
    write(tmp_path, "prep", command=f"sleep 1; {note}", env={"NOTE": "prep"})
    write(
        tmp_path,
        "train",
        command=note,
        env={"NOTE": "train"},
        depends_on=["prep.yaml"],
        sweep={"grid": {"nodes": [1, 2]}},
    )
    eval_ = write(
        tmp_path,
        "eval",
        command=note,
        env={"NOTE": "eval"},
        depends_on=[{"job": "train.yaml", "when": "afterany"}],
    )
    done = run("submit", eval_, tmp_path / "train.yaml", "--site", slurm_a100.site, "--wait")
    assert done.returncode == 0, done.stderr
    ids = [int(line) for line in done.stdout.split()]
    prep = int(re.search(r"prep.yaml is submitted: job (\d+)", done.stderr)[1])
    assert prep < min(ids[1:])
    assert max(ids[1:]) < ids[0]
    lines = out.read_text().splitlines()
    assert lines[0] == "prep"
    assert sorted(lines[1:-1]) == ["0train", "1train", "1train"]
    assert lines[-1] == "eval"


def test_what_waits_for_a_job_that_is_refused_is_not_sent(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    bad = write(tmp_path, "bad", sites={slurm_a100.name: {"partition": "nowhere"}})
    after = write(tmp_path, "after", depends_on=["bad.yaml"])
    good = write(tmp_path, "good")
    done = run("submit", after, good, bad, "--site", slurm_a100.site)
    assert done.returncode == 3
    (job_id,) = done.stdout.split()
    assert "bad.yaml is not submitted: " in done.stderr
    assert "invalid partition" in done.stderr
    assert re.search(r"after.yaml is not submitted, since it waits for \S*bad.yaml", done.stderr)
    assert re.search(rf"good.yaml is submitted: job {job_id}\b", done.stderr)


def test_a_job_whose_dependency_fails_ends_without_a_rank(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    write(tmp_path, "fails", command=["false"])
    after = write(tmp_path, "waits", depends_on=["fails.yaml"])
    done = run("submit", after, "--site", slurm_a100.site, "--wait")
    assert done.returncode == 1
    assert "CANCELLED: the job that it waits for ended otherwise" in done.stderr


def test_an_array_of_jobs_is_converted_to_points_that_have_its_indices(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    """The script itself, and the sweep that is made of it, each under Slurm: the indices are not the points'
    own numbers, which Slurm tells their tasks."""
    script = tmp_path / "tasks.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=2 --time=5\n#SBATCH --array=1,4-6:2%2\n"
        "NAMES=(a b c d e f g)\n"
        f"srun --mpi=none sh {tmp_path}/rank.sh ${{NAMES[$SLURM_ARRAY_TASK_ID]}}\n"
    )
    (tmp_path / "rank.sh").write_text(
        'echo "$1 $SLURM_ARRAY_TASK_ID" > "${0%/*}/$OUT/$1.$SLURM_ARRAY_TASK_ID.$SLURM_PROCID"\n'
    )
    for name in ("before", "after"):
        (tmp_path / name).mkdir(mode=0o777)
    slurm_a100.run("sbatch", "--wait", "--export=ALL,OUT=before", "--output=/dev/null", str(script))
    job = tmp_path / "tasks.yaml"
    converted = run("convert", script, "-o", job)
    assert converted.returncode == 0, converted.stderr
    done = run(
        "submit",
        job,
        "--site",
        slurm_a100.site,
        "--set",
        "gpus_per_node=0",
        "--set",
        "env.OUT=after",
        "--wait",
    )
    assert done.returncode == 0, done.stderr

    def written(name: str) -> dict[str, str]:
        return {each.name: each.read_text() for each in (tmp_path / name).iterdir()}

    assert len(written("before")) == 6
    assert written("after") == written("before")
