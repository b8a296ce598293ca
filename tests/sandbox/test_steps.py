"""Steps, trials and what surrounds them, under the real Slurm."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from beside import Done, Note, Place, noting
from command import hpclaunch
from realslurm import Slurm
from waiting import until

IMAGE = "nvcr.io/nvidia/mxnet:21.09-py3"


@pytest.fixture(scope="module")
def place(start_slurm: Callable[..., Slurm], tmp_path_factory: pytest.TempPathFactory) -> Place:
    slurm = start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "steps")
    return Place(slurm, tmp_path_factory.mktemp("steps"))


def run(place: Place, folder: Path, **job: Any) -> Done:
    return place.wait(place.submit(folder, job), folder / "notes")


def shared(done: Done, what: str) -> list[Note]:
    return sorted((note for note in done.notes if note.what == what), key=lambda note: (note.node, note.rank))


def test_each_step_runs_in_its_turn_and_in_its_place(place: Place, tmp_path: Path) -> None:
    note = noting(tmp_path, "HPCLAUNCH_TRIAL", "SEED", "X", "PATH", "LD_LIBRARY_PATH", "WANDB_API_KEY")
    strange = "a $b `c`\n\t'\"\\ é"
    done = run(
        place,
        tmp_path,
        image=IMAGE,
        command=note("command"),
        env={"X": strange, "LD_LIBRARY_PATH": "/x", "PATH": "/usr/bin:/bin:/mine"},
        trials={"count": 2, "log": "logs/{trial}.log"},
        setup=[
            {"run": note("setup-node")},
            {"run": note("setup-job"), "per": "job"},
            {"run": note("setup-rank"), "per": "rank"},
            {"run": note("host-node"), "where": "host"},
            {"run": note("host-job"), "where": "host", "per": "job"},
            {"run": note("host-rank"), "where": "host", "per": "rank"},
        ],
        before_each=[{"run": note("before")}, {"run": note("before-host"), "where": "host"}],
        after=[{"run": note("after"), "per": "job"}, {"run": note("after-host"), "where": "host"}],
    )
    assert done.status == 0, done.log
    trial = ["before", "before-host", "command"]
    setup = ["setup-node", "setup-job", "setup-rank", "host-node", "host-job", "host-rank"]
    assert done.order() == [*setup, *trial, *trial, "after", "after-host"]
    places = {what: [(n.node, n.rank) for n in shared(done, what)] for what in setup}
    on_each, on_ranks = (
        [("dgx1", "0"), ("dgx2", "1")],
        [("dgx1", "0"), ("dgx1", "1"), ("dgx2", "2"), ("dgx2", "3")],
    )
    assert places["setup-node"] == places["host-node"] == on_each
    assert places["setup-rank"] == places["host-rank"] == on_ranks
    assert places["setup-job"] == [("dgx1", "0")]
    assert [node for node, _ in places["host-job"]] == ["dgx1"]
    for found in done.notes:
        outside = "host" in found.what
        assert found.env["X"] == strange
        assert ("LD_LIBRARY_PATH" in found.env) is not outside
        assert ("/mine" in found.env["PATH"]) is not outside
        named = f"{place.folder}/containers/{found.node}/pyxis_hpclaunch-{done.job}"
        assert found.cwd == (str(tmp_path) if outside else named)
    ranks = [found for found in done.notes if found.what == "command"]
    assert [found.env["HPCLAUNCH_TRIAL"] for found in ranks] == ["1"] * 4 + ["2"] * 4
    seeds = {n.env["HPCLAUNCH_TRIAL"]: n.env["SEED"] for n in done.notes if "SEED" in n.env}
    for found in done.notes:
        turn = found.env.get("HPCLAUNCH_TRIAL", "")
        assert bool(turn) == (found.what in trial)
        assert found.env.get("SEED") == seeds.get(turn)
    assert len(set(seeds.values())) == 2
    assert all(0 <= int(seed) < 2**31 for seed in seeds.values())
    for turn, seed in seeds.items():
        line = f"hpclaunch: trial {turn} of 2, SEED={seed}"
        assert line in done.log.splitlines()
        assert (tmp_path / "logs" / f"{turn}.log").read_text().splitlines()[0] == line
    assert place.containers() == []


def test_output_and_errors_of_a_trial_are_in_its_log_and_in_the_jobs(place: Place, tmp_path: Path) -> None:
    done = run(
        place,
        tmp_path,
        command='echo "out $HPCLAUNCH_TRIAL $N"; echo "err $HPCLAUNCH_TRIAL $N" >&2',
        trials={"count": 3, "seed": "N", "first_seed": 2147483645},
        ranks_per_node=1,
    )
    assert done.status == 0, done.log
    logs = sorted((place.slurm.folder / "home").glob(f"**/steps-{done.job}-trial-*.log"))
    assert [log.name for log in logs] == [f"steps-{done.job}-trial-{trial}.log" for trial in (1, 2, 3)]
    for trial, log in enumerate(logs, 1):
        seed = 2147483644 + trial
        lines = [f"{kind} {trial} {seed}" for kind in ("err", "out") for _ in range(2)]
        text = log.read_text()
        # srun itself says there when it waits for the end of the step before.
        of_ranks = [line for line in text.splitlines()[1:] if not line.startswith("srun: ")]
        assert sorted(of_ranks) == lines
        assert text in done.log


FAILING = [
    ({"setup": [("a", 3), ("b", 0)]}, 3, ["a", "z"]),
    ({"setup": [("a", 3, "optional"), ("b", 0)]}, 0, ["a", "b", "c1", "c2", "z"]),
    ({"before_each": [("a", 4)]}, 4, ["a", "z"]),
    ({"before_each": [("a", 4)], "keep_going": True}, 4, ["a", "z"]),
    ({"command": "[ $HPCLAUNCH_TRIAL != 1 ] || exit 7"}, 7, ["c1", "z"]),
    ({"command": "exit $((6 + HPCLAUNCH_TRIAL))", "keep_going": True}, 7, ["c1", "c2", "z"]),
    ({"after": [("y", 9), ("x", 8)]}, 9, ["c1", "c2", "y", "x", "z"]),
    ({"after": [("y", 9, "optional")]}, 0, ["c1", "c2", "y", "z"]),
    ({"command": "exit 7", "after": [("y", 9)]}, 7, ["c1", "y", "z"]),
]


@pytest.mark.parametrize("where", ["host", "container"])
@pytest.mark.parametrize(("job", "status", "order"), FAILING)
def test_what_fails_ends_the_job_as_it_says(
    place: Place, tmp_path: Path, job: dict[str, Any], status: int, order: list[str], where: str
) -> None:
    note = noting(tmp_path)

    def step(name: str, code: int, *optional: str) -> dict[str, Any]:
        return {"run": note(name, f"exit {code}"), "where": where, "optional": bool(optional), "name": name}

    lists: dict[str, Any] = {
        key: [step(*each) for each in job.get(key, [])] for key in ("setup", "before_each", "after")
    }
    lists["after"].append(step("z", 0))
    command = (
        f"{' '.join(note('c')[0:2])} {_quoted(note('c')[2])} c$HPCLAUNCH_TRIAL; {job.get('command', '')}"
    )
    done = run(
        place,
        tmp_path,
        **({"image": IMAGE} if where == "container" else {}),
        command=command,
        trials={"count": 2, "keep_going": job.get("keep_going", False)},
        **lists,
    )
    assert done.status == status, done.log
    assert done.order() == order
    failed = [(each, key) for key in lists for each in lists[key] if "exit 0" not in str(each)]
    for each, key in failed:
        said = re.search(
            rf"^hpclaunch: {key} \d: {each['name']} failed with status (\d+)(.*)$", done.log, re.M
        )
        assert said is not None
        assert said[2] == ("; it is optional" if each["optional"] else "")
    assert place.containers() == []


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def test_a_cancelled_job_removes_its_containers_and_does_what_is_left_to_do(
    place: Place, tmp_path: Path
) -> None:
    note = noting(tmp_path)
    number = place.submit(
        tmp_path,
        {
            "image": IMAGE,
            "command": note("command", "exec sleep 300"),
            "setup": [{"run": note("setup")}],
            "after": [{"run": note("after"), "where": "host", "per": "job"}],
        },
    )
    until(lambda: (tmp_path / "notes").exists() and (tmp_path / "notes").read_text().count("command") == 4)
    assert len(place.containers()) == 2
    assert hpclaunch("cancel", f"steps/{number}", env=place.env).returncode == 0
    done = place.wait(number, tmp_path / "notes")
    assert "CANCELLED" in done.said
    until(lambda: place.containers() == [])
    until(lambda: '"after"' in (tmp_path / "notes").read_text())


STRANGE = [
    "",
    " ",
    ":",
    "--",
    "=",
    "==x",
    "-n",
    "a\nb\r\t",
    "$HOME `id` $(id) $$ \\",
    "'\"",
    "é\u2028\x01",
    "*",
    "#",
]


def test_words_of_steps_arrive_byte_for_byte(place: Place, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    program = f'printf "%s\\0" "$@" >"{tmp_path}/$0.$SLURMD_NODENAME.${{SLURM_PROCID-}}"'
    kinds = [(where, per) for where in ("container", "host") for per in ("node", "job", "rank")]
    steps = [
        {"run": ["/bin/sh", "-c", program, f"{where}-{per}", *STRANGE], "where": where, "per": per}
        for where, per in kinds
    ]
    done = run(place, tmp_path, image=IMAGE, command="true", setup=steps)
    assert done.status == 0, done.log
    for where, per in kinds:
        files = list(tmp_path.glob(f"{where}-{per}.*"))
        assert len(files) == {"node": 2, "job": 1, "rank": 4}[per]
        for file in files:
            assert file.read_bytes().split(b"\0")[:-1] == [word.encode() for word in STRANGE]


def test_secrets_stay_in_the_container(place: Place, tmp_path: Path) -> None:
    note = noting(tmp_path, "TOKEN", "PROXY", "ENROOT_X", "HPCLAUNCH_TRIAL", "RANK")
    env = place.env | {"TOKEN": "hidden 'x'\n", "PROXY": "a b"}
    number = place.submit(
        tmp_path,
        {
            "image": IMAGE,
            "command": note("command"),
            "rendezvous": "torch",
            "env": {"ENROOT_X": "1"},
            "secrets": ["TOKEN"],
            "inherit": ["PROXY"],
            "setup": [
                {"run": note(f"{where}-{per}"), "where": where, "per": per}
                for where in ("container", "host")
                for per in ("node", "job", "rank")
            ],
        },
        env,
    )
    done = place.wait(number, tmp_path / "notes")
    assert done.status == 0, done.log
    for found in done.notes:
        outside = found.what.startswith("host")
        assert found.env["PROXY"] == "a b"
        assert found.env.get("TOKEN") == (None if outside else "hidden 'x'\n")
        assert found.env.get("ENROOT_X") == (None if outside else "1")
        assert ("RANK" in found.env) == (found.what in ("command", "container-rank", "host-rank"))
    assert "hidden" not in done.log


def test_a_signal_before_the_limit_leaves_the_steps_after_all(place: Place, tmp_path: Path) -> None:
    note = noting(tmp_path)
    job = {
        "image": IMAGE,
        "command": note("command", "sleep 300 & wait"),
        "trials": {"count": 3, "keep_going": True},
        "after": [{"run": note("after")}],
    }
    number = place.submit(tmp_path, job)
    until(lambda: (tmp_path / "notes").exists() and (tmp_path / "notes").read_text().count("command") == 4)
    asked = place.slurm.run("scontrol", "show", "job", number).stdout
    script = place.slurm.run("scontrol", "write", "batch_script", number, "-").stdout
    assert "#SBATCH --signal=TERM@60 " in script, asked
    place.slurm.run("scancel", "--signal=TERM", number)  # as Slurm does it then: to steps, not to the script
    done = place.wait(number, tmp_path / "notes")
    assert done.status == 143, done.log
    assert done.order() == ["command", "after"]
    assert place.containers() == []


@pytest.mark.parametrize("job", [{"gpus_per_node": 3, "ranks_per_node": 3}, {"gpus_per_node": 0}])
def test_steps_on_a_part_of_a_node_have_all_of_its_cpus(
    place: Place, tmp_path: Path, job: dict[str, Any]
) -> None:
    program = tmp_path / "cpus.py"
    program.write_text(
        "import os, sys\n"
        f"with open({str(tmp_path / 'cpus')!r}, 'a') as out:\n"
        "    print(sys.argv[1], os.environ['SLURM_CPUS_ON_NODE'], file=out)\n"
    )
    tmp_path.chmod(0o777)

    def asks(what: str) -> list[str]:
        return ["python3", str(program), what]

    note = noting(tmp_path)
    done = run(
        place,
        tmp_path,
        image=IMAGE,
        command=asks("command"),
        setup=[{"run": asks("setup")}, {"run": asks("setup"), "where": "host"}],
        before_each=[{"run": note("before")}],
        **job,
    )
    assert done.status == 0, done.log
    found: dict[str, set[str]] = {}
    for line in (tmp_path / "cpus").read_text().splitlines():
        found.setdefault(line.split()[0], set()).add(line.split()[1])
    assert found["setup"] == found["command"]
    assert place.containers() == []


def test_steps_on_nodes_of_several_types(
    start_slurm: Callable[..., Slurm], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    kinds = ("--node-type", "dgx-a100:1", "--node-type", "dgx-h100:1")
    place = Place(start_slurm(*kinds, "--name", "mixed"), tmp_path_factory.mktemp("mixed"))
    note = noting(tmp_path, "NCCL_IB_HCA")
    steps = [{"run": note(per), "per": per} for per in ("node", "job", "rank")]
    done = run(place, tmp_path, image=IMAGE, command=note("command"), setup=steps, after=steps)
    assert done.status == 0, done.log
    assert done.order() == ["node", "job", "rank", "command", "node", "job", "rank"]
    for found in done.notes:
        assert ("NCCL_IB_HCA" in found.env) == (found.what in ("rank", "command"))
    assert len({found.node for found in done.notes if found.what == "node"}) == 2
    assert len({found.env["NCCL_IB_HCA"] for found in done.notes if found.what == "rank"}) == 2
    assert place.containers() == []


def test_folders_are_copied_to_each_node_once(place: Place, tmp_path: Path) -> None:
    source, target = place.folder / "data", place.folder / "scratch" / "deep"
    (source / "sub folder").mkdir(parents=True)
    (source / "sub folder" / "x").write_text("one")
    job = {"command": "true", "stage_in": [f"data:{target}"]}
    first = run(place, tmp_path, **job)
    assert first.status == 0, first.log
    assert (target / "sub folder" / "x").read_text() == "one"
    # Both nodes see one folder here, so one of them copies, and the other waits and finds it there.
    assert first.log.count("copying") == 1
    assert first.log.count("is there already") == 1
    (source / "sub folder" / "x").write_text("two")
    again = run(place, tmp_path, **job)
    assert (again.status, again.log.count("is there already")) == (0, 2)
    assert (target / "sub folder" / "x").read_text() == "one"
    (target / ".hpclaunch-staged").unlink()  # as a copy that was cut short leaves it
    (target / "sub folder" / "x").write_text("tw")
    numbers = [place.submit(tmp_path, {**job, "gpus_per_node": 1, "ranks_per_node": 1}) for _ in range(2)]
    both = [place.wait(number, tmp_path / "notes") for number in numbers]
    assert [each.status for each in both] == [0, 0]
    assert sum(each.log.count("copying") for each in both) == 1
    assert (target / "sub folder" / "x").read_text() == "two"


def test_a_source_that_is_not_there_ends_the_job_by_name(place: Place, tmp_path: Path) -> None:
    note = noting(tmp_path)
    done = run(
        place,
        tmp_path,
        command=note("command"),
        stage_in=[f"/no/such/folder:{tmp_path}/to"],
        after=[{"run": note("after"), "per": "job"}],
    )
    assert done.status == 121
    assert re.search(r"stage_in on dgx[12]: there is no folder /no/such/folder", done.log)
    assert done.order() == ["after"]
