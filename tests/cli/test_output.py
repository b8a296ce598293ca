"""Standard output is for the result alone: whole commands, and their JSON."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch
from published import A100_HCAS, A100_RANKS

TRAIN = "name: train\ncommand: [python, train.py]\nimage: nvcr.io/nvidia/pytorch:24.07-py3\nnodes: 2\n"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """With nothing of the user's own."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HPCLAUNCH_HOME": str(tmp_path / "home")}


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.yaml"
    path.write_text(TRAIN)
    return path


def shown(env: dict[str, str], *words: str | Path) -> Any:
    """What the command prints with --json; it says nothing beside."""
    done = hpclaunch(*words, "--json", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_status_and_list(env: dict[str, str], tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    for command, status in (("true", 0), ("exit 7", 7)):
        job.write_text(f"name: small\ncommand: {command}\n")
        assert hpclaunch("submit", job, "--local", "--wait", env=env).returncode == status
    first, second = shown(env, "status", "1"), shown(env, "status", "local/2")
    ends = [(facts["state"], facts["exit_code"]) for facts in (first, second)]
    assert ends == [("COMPLETED", 0), ("FAILED", 7)]
    assert shown(env, "list") == [second, first]
    rows = [line.split() for line in hpclaunch("list", env=env).stdout.splitlines()]
    assert rows[0] == ["JOB_ID", "SITE", "NAME", "CREATED", "STATE"]
    assert [row[:3] for row in rows[1:]] == [["2", "local", "small"], ["1", "local", "small"]]


@pytest.mark.parametrize("options", [["--wait"], ["--follow"], ["--wait", "--follow"]])
def test_submit_prints_the_id_alone_and_ends_as_the_job_did(
    env: dict[str, str], tmp_path: Path, options: list[str]
) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: small\ncommand: echo written by the job; exit 7\n")
    done = hpclaunch("submit", job, "--local", *options, env=env)
    assert (done.returncode, done.stdout) == (7, "1\n")
    assert done.stderr.count("FAILED with exit code 7") == 1
    assert ("written by the job\n" in done.stderr) == ("--follow" in options)


def test_a_damaged_record_is_said_beside_the_list(env: dict[str, str], tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("name: small\ncommand: 'true'\n")
    for _ in "12":
        hpclaunch("submit", job, "--local", "--wait", env=env)
    damaged = Path(shown(env, "status", "1")["record"])
    (damaged / "intent.json").write_text("{")
    done = hpclaunch("list", "--json", env=env)
    assert [row["job_id"] for row in json.loads(done.stdout)] == ["2"]
    assert str(damaged) in done.stderr


def test_no_jobs_is_an_empty_list(env: dict[str, str]) -> None:
    assert shown(env, "list") == []


def test_explain_has_every_rank_of_every_node(env: dict[str, str], train: Path) -> None:
    explained = shown(env, "explain", train, "--site", "superpod-a100")
    wanted = [
        {
            "rank": 8 * node + local,
            "node": node,
            "local_rank": local,
            "gpus": [local],
            "cpus": cpus,
            "mems": str(numa),
            "hcas": [A100_HCAS[local]],
        }
        for node in range(2)
        for local, (numa, cpus) in enumerate(A100_RANKS)
    ]
    assert [{key: rank[key] for key in wanted[0]} for rank in explained["ranks"]] == wanted


def test_explain_says_where_values_came_from(env: dict[str, str], train: Path) -> None:
    words = ("explain", train, "--site", "superpod-a100", "--set", "env.CUDA_DEVICE_ORDER=FASTEST_FIRST")
    explained = shown(env, *words)
    variables = {variable["name"]: variable for variable in explained["environment"]}
    assert variables["CUDA_DEVICE_ORDER"]["value"] == "FASTEST_FIRST"
    assert variables["NCCL_SOCKET_IFNAME"]["from"] == "hpclaunch"
    assert [text for text in explained["warnings"] if "CUDA_DEVICE_ORDER" in text]
    # To a person the warning is said, and the tables are without it.
    table = hpclaunch(*words, env=env)
    assert explained["warnings"][0] in table.stderr
    assert explained["warnings"][0] not in table.stdout


@pytest.mark.parametrize("words", [("site", "list"), ("topo", "list")])
def test_listings_name_the_same_with_and_without_json(env: dict[str, str], words: tuple[str, str]) -> None:
    found = shown(env, *words)
    names = [entry["name"] if isinstance(entry, dict) else entry for entry in found]
    header, *rows = hpclaunch(*words, env=env).stdout.splitlines()
    assert header.split()[0] == "NAME"
    assert names == [row.split()[0] for row in rows]
    assert names


def test_every_listed_site_is_a_file_that_can_be_shown(env: dict[str, str]) -> None:
    for entry in shown(env, "site", "list"):
        assert f"name: {entry['name']}\n" in hpclaunch("site", "show", entry["file"], env=env).stdout


def test_a_sandbox_that_is_not_there(env: dict[str, str], tmp_path: Path) -> None:
    seen = shown(env, "sandbox", "status", "--dir", tmp_path / "none")
    assert seen["state"] == "down"
    assert {"site", "slurm_conf"} <= set(seen)


def test_json_is_utf_8_whatever_the_terminal_speaks(env: dict[str, str], tmp_path: Path) -> None:
    box = tmp_path / "box.yaml"
    numa = "numa: [{node: 0, socket: 0, threads: ['0-1']}]\n"
    box.write_text(f"version: 1\nname: box\ndescription: für Jörg\n{numa}", "utf-8")
    ascii_only = {**env, "PYTHONIOENCODING": "ascii"}
    done = hpclaunch("topo", "show", box, "--json", env=ascii_only, encoding="utf-8")
    assert json.loads(done.stdout)["description"] == "für Jörg"


def test_check_says_what_is_right_and_leaves_nothing(
    env: dict[str, str], tmp_path: Path, train: Path
) -> None:
    alone = hpclaunch("check", train, env=env)
    assert (alone.returncode, alone.stderr) == (0, "")
    assert "train is a valid job" in alone.stdout
    on_site = hpclaunch("check", train, "--site", "superpod-a100", env=env)
    assert (on_site.returncode, on_site.stderr) == (0, "")
    assert "can run on superpod-a100" in on_site.stdout
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("options", "place", "said"),
    [
        (["--site", "local"], "train.yaml:3:8: ", "runs no containers"),
        (["--site", "superpod-a100", "--set", "nodes=141"], "--set nodes", "140"),
        (["--set", "nodes=none"], "--set nodes", "not a whole number"),
    ],
)
def test_check_says_what_is_wrong_and_where(
    env: dict[str, str], train: Path, options: list[str], place: str, said: str
) -> None:
    done = hpclaunch("check", train.name, *options, env=env, cwd=train.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert [line for line in done.stderr.splitlines() if place in line and said in line]
