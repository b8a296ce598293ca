"""Launchers with docker over SSH, and of other kinds: each script has the job beside it that it becomes."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Conversion

SCRIPTS = Path(__file__).parent / "scripts"
SEED = Path(__file__).parents[3] / "shared" / "seeds" / "003_417160b4ac453ac4.txt"
ASKED = "?"


class Loader(yaml.SafeLoader):
    """YAML whose open questions are `?`."""


Loader.add_constructor(
    "tag:yaml.org,2002:str", lambda loader, node: ASKED if node.value.startswith("<ask: ") else node.value
)


def converted(files: dict[str, str], environment: dict[str, str] | None = None) -> Conversion:
    return convert(classified(files), Options(environment or {}))


def cases(folder: str) -> list[Any]:
    found = sorted((SCRIPTS / folder).glob("*.yaml"))
    assert found
    return [pytest.param(path, id=path.stem) for path in found]


def read_case(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    expected = yaml.safe_load(path.read_text())
    return expected, {name: (path.parent / name).read_text() for name in expected["files"]}


def job_of(found: Conversion) -> dict[str, Any]:
    assert not found.refused, found.refused
    job = yaml.load(found.job, Loader)  # noqa: S506 - a loader of ours, made of the safe one
    assert job.pop("version") == 1
    return job


def report_of(found: Conversion) -> str:
    rows = ((each.kind, *each.places, each.what, each.became, each.why, each.todo) for each in found.findings)
    return "\n".join("; ".join(map(str, row)) for row in rows)


@pytest.mark.parametrize("path", cases("docker_ssh"))
def test_a_launcher_with_docker_becomes_this_job(path: Path) -> None:
    expected, files = read_case(path)
    found = converted(files, expected.get("env"))
    assert job_of(found) == expected["job"]
    report = report_of(found)
    for told in expected.get("told", ()):
        assert any(
            each.kind == told["kind"]
            and told["words"] in f"{each.what} {each.why}"
            and told.get("line", "") in " ".join(map(str, each.places))
            for each in found.findings
        ), f"{told}\n{report}"
    for words in expected.get("not_told", ()):
        assert words not in report
    if "secret" in expected:
        assert expected["secret"] not in found.job + report


@pytest.mark.parametrize("path", cases("docker_ssh"))
def test_the_job_is_read_when_its_questions_are_answered(path: Path) -> None:
    expected, files = read_case(path)
    text = converted(files, expected.get("env")).job
    questions = re.findall(r'^[^#]*"<ask: [^"]*"', text, re.MULTILINE)
    assert len(questions) == str(expected["job"]).count(repr(ASKED))
    answers = {"mounts": "/x:/y", "image": "x/y:z"}
    lines = [
        re.sub(r'"<ask: [^"]*"', answers.get(key(line), "1" if key(line) else answers["mounts"]), line)
        for line in text.splitlines()
    ]
    job = parse_job("\n".join(lines) + "\n", "job.yaml", "/").value
    assert job.image_name == expected["job"]["image"].replace(ASKED, answers["image"])


def key(line: str) -> str:
    """The key at the begin of a line of the job file, "" for an entry of a list."""
    found = re.match(r"(\w+):", line)
    return found[1] if found else ""


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ('-e "A=x y" c mpirun -np 16', True),  # the remote shell starts `c mpirun` in the container y
        ("-e A=x c mpirun -np 16", False),
        ("c python run.py --launcher mpirun", False),
    ],
)
def test_what_starts_ranks_behind_an_unknown_program_is_asked_about(words: str, asked: bool) -> None:
    head = "#!/bin/bash\n#SBATCH -N2 -t 30\nsrun docker run -d --gpus 8 a/b:1 sleep infinity\n"
    text = f"{head}ssh h docker exec {words} ./t\n"
    job = job_of(converted({"run.sub": text}))
    assert [job["ranks_per_node"] == ASKED, job.get("bind") == {"cpus": ASKED, "memory": ASKED}] == [
        asked
    ] * 2


@pytest.mark.parametrize("path", cases("others"))
def test_other_launchers_are_refused_with_what_could_be_told(path: Path) -> None:
    expected, files = read_case(path)
    found = converted(files)
    assert found.job == ""
    assert expected["refused"] in found.refused
    told = {each.key: each.became.removeprefix(f"{each.key}: ") for each in found.findings if each.key}
    for key, value in expected["facts"].items():
        shown = " ".join(value) if isinstance(value, list) else str(value)
        assert told.get(key) == shown, f"{key}\n{report_of(found)}"
    assert told.keys().isdisjoint(expected.get("absent", ()))
    assert found.hints == {**found.hints, **expected.get("hints", {})}


def test_every_fact_has_a_line_and_every_line_a_finding() -> None:
    for folder in ("docker_ssh", "others"):
        for path in sorted((SCRIPTS / folder).glob("*.yaml")):
            _, files = read_case(path)
            found = converted(files)
            for each in found.findings:
                assert each.places, each
                for place in each.places:
                    if place.file in files:
                        assert place.line <= files[place.file].count("\n") + 1, each
            named = {
                (place.file, line)
                for each in found.findings
                for place in each.places
                for line in range(place.line, max(place.last, place.line) + 1)
            }
            for name, text in files.items():
                for number, line in enumerate(text.splitlines(), 1):
                    if re.match(r"\s*(srun|docker|ssh|mpirun|nvidia-docker|singularity)\b", line):
                        assert (name, number) in named, f"{name}:{number}: {line}"


def seed_script() -> str:
    """The excerpt of the seed, a launcher of MLPerf v0.5 as a slide has it."""
    found = re.search(r"SLURM\+Docker\+MPI is hard.*?```\n(.*?)```", SEED.read_text(), re.DOTALL)
    assert found
    return found[1]


if SEED.exists():

    def test_the_seeds_script_alone_asks_for_what_it_does_not_tell() -> None:
        found = converted({"run.sub": seed_script()})
        job = job_of(found)
        assert {key for key, value in job.items() if value == ASKED} == {
            "image",
            "nodes",
            "gpus_per_node",
            "ranks_per_node",
        }
        assert job["mounts"] == [ASKED, ASKED]
        assert job["command"] == ["./run_and_time.sh"]
        assert job["mpi"] == "pmix"
        assert job["bind"] == {"cpus": "none", "memory": "none"}
        assert {"GPUS", "BATCHSIZE", "KVSTORE", "LR", "WARMUP_EPOCHS", "EVAL_OFFSET", "DGXSYSTEM"} <= set(
            job["inherit"]
        )
        report = report_of(found)
        for words in (
            "authorized_keys",
            "sshentry",
            "mca_params.conf",
            "slots",
            "sleep infinity",
            "sleep 30",
            "docker pull",
        ):
            assert words in report
        questions = {each.key for each in found.findings if each.kind == "question"}
        assert {"image", "nodes", "gpus_per_node", "ranks_per_node", "mounts.0", "mounts.1"} <= questions

    def test_the_seeds_report_says_each_thing_once_and_by_its_own_words() -> None:
        found = [each for each in converted({"run.sub": seed_script()}).findings if each.kind == "replaced"]
        assert [each.what for each in found].count("mca_params.conf") == 1
        chmod = next(
            each for each in found if each.what.startswith("chmod 755") and "mca_params" in each.what
        )
        assert "in env" not in chmod.why
        assert any("ssh-keygen" in each.what and "-n ''" in each.what for each in found)

    def test_the_seeds_script_is_whole_when_its_variables_are_given() -> None:
        given = {
            "CONT": "nvcr.io/nvidia/mxnet:18.11-py3",
            "DATADIR": "/raid/imagenet",
            "LOGDIR": "/raid/results",
            "DGXNNODES": "2",
            "DGXNGPU": "8",
            "WALLTIME": "04:00:00",
            "KVSTORE": "horovod",
        }
        job = job_of(converted({"run.sub": seed_script()}, given))
        assert ASKED not in str(job)
        assert (job["nodes"], job["gpus_per_node"], job["ranks_per_node"]) == (2, 8, 8)
        assert job["image"] == given["CONT"]
        assert job["mounts"] == ["/raid/imagenet:/data", "/raid/results:/results"]
        assert job["time"] == "04:00:00"
        assert job["env"]["KVSTORE"] == "horovod"


@pytest.mark.parametrize(
    ("command", "made", "said"),
    [
        ("docker exec -i box ./a b < f", "b\n", "left"),
        ("cat f | docker exec -i box ./a b", "b\n", "left"),
        ("echo x | tee f | docker exec -i box ./a b", "b\n", "left"),
        ("docker exec -i box ./a b <<< x", "b\nx\n", ""),
        ("docker exec -i box sh -c './a b' <<< x", "b\nx\n", ""),
        ("docker exec box ./a b < f", "b\n", "without effect"),
        ("docker exec -i box mpirun -np 4 ./a b <<< x", "b\n", "left"),
        ("docker exec -i box ./a b < /dev/null", "b\n", ""),
    ],
)
@pytest.mark.parametrize("is_run", [True, False])
def test_what_docker_gives_a_command_to_read_is_carried_or_said(
    command: str, made: str, said: str, is_run: bool, tmp_path: Path
) -> None:
    """The command of the job, or of a step before it, is executed: the program shows what it gets."""
    train = "" if is_run or "mpirun" in command else "docker exec box torchrun --nproc_per_node=4 train.py\n"
    head = "#!/bin/bash\n#SBATCH -N 1\ndocker run -d --name=box reg/x:1 sleep infinity\n"
    found = converted({"a.sub": f"{head}{command}\n{train}"})
    job = job_of(found)
    given = job["setup"][0]["run"] if train else job["command"]
    program = tmp_path / "a"
    program.write_text('#!/bin/sh\necho "$@"\ncat\n')
    program.chmod(0o755)
    words = given if isinstance(given, list) else ["sh", "-c", given]
    ran = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.stdout == made
    kinds = [each.kind for each in found.findings if each.what.startswith("its input")]
    assert kinds == ([said] if said else [])


_IN_FRONT = ["env A=1", "nice -n 5", "setsid", "ionice -c2", "unbuffer", "numactl -N0"]


@pytest.mark.parametrize("program", _IN_FRONT)
def test_what_stands_in_front_of_the_containers_command_is_not_lost(program: str) -> None:
    run = f"srun -N2 docker run a/b:1 {program} python t.py"
    text = f"#!/bin/bash\n#SBATCH -N2 --gpus-per-node=8 -t 5\n{run}\n"
    job = parse_job(convert(classified({"run.sub": text}), Options({})).job, "job.yaml", "/").value
    assert job.command == (*program.split(), "python", "t.py")


_EITHER = ["case $1 in a) {};; b) {};; esac", 'if [ "$1" = a ]; then\n{}\nelse\n{}\nfi']


@pytest.mark.parametrize("ways", _EITHER)
def test_of_two_containers_in_different_ways_of_the_script_none_is_taken_unasked(ways: str) -> None:
    runs = (f"srun docker run -v /data/{each}:/d reg/x:1 bash {each}.sh" for each in ("one", "two"))
    text = f"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=4 -t 60\n{ways.format(*runs)}\n"
    found = converted({"run.sub": text})
    job = job_of(found)
    assert job["command"] == ASKED
    assert not {"setup", "after"} & set(job)
    assert "decides it, which is not told" in report_of(found)


@pytest.mark.parametrize("folder", ["", "/home/me/jobs/"])
def test_a_container_that_may_not_be_started_is_no_step(folder: str) -> None:
    once = "if grep -q new state; then docker run reg/x:1 ./prepare; fi\nsync && docker run reg/x:1 ./look"
    run = "srun docker run reg/x:1 python train.py"
    text = f"#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=4 -t 60\n{once}\n{run}\n"
    found = converted({f"{folder}run.sub": text})
    assert [each["run"] for each in job_of(found)["setup"]] == [["./look"]]
    left = [each.why for each in found.findings if each.kind == "left" and "prepare" in each.what]
    assert left == ["whether it runs depends on something that is not told (run.sub:3: if grep -q new state)"]


def test_names_that_podman_looks_for_by_their_beginning_are_handed_on() -> None:
    """podman-run(1), --env; docker takes the star for a part of the name."""
    head = "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=4 --ntasks-per-node=1 -t 60\nexport NCCL_A=1 OTHER=2\n"
    for program, env in (("podman-hpc", {"NCCL_A": "1"}), ("docker", None)):
        found = converted({"run.sub": f"{head}srun {program} run --env 'NCCL*' reg/x:1 python train.py\n"})
        assert job_of(found).get("env") == env
        (never,) = (each.what for each in found.findings if "never reached the ranks" in each.why)
        assert never == ("OTHER" if env else "NCCL_A, OTHER")


def test_what_only_looks_at_the_nodes_is_not_the_run_though_mpirun_starts_it() -> None:
    lines = (
        "srun podman run --rm alpine\n"
        'mpirun sh -c "sh prolog.sh; podman run --rm -e A=1 -v /d:/d a.io/b/hpcg:1 /w/hpcg.sh --rt 60"\n'
        "mpirun sh -c 'hostname'\nmpirun nvidia-smi -L\n"
    )
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 4 --gres=gpu:4 -t 5\n{lines}"
    job = job_of(converted({"run.sub": text}))
    assert (job["image"], job["command"]) == ("a.io/b/hpcg:1", ["/w/hpcg.sh", "--rt", "60"])
    assert job["env"] == {"A": "1"}


def test_the_container_whose_identifier_is_a_value_is_the_jobs() -> None:
    line = "ID=$(docker run -d --gpus all -v /d:/d -e A=1 a.io/b:1 python train.py)\ndocker logs -f $ID\n"
    text = f"#!/bin/bash\n#SBATCH -N 1 --gres=gpu:4 -t 5\n{line}"
    job = job_of(converted({"run.sub": text}))
    assert (job["image"], job["command"]) == ("a.io/b:1", ["python", "train.py"])
    assert (job["env"], job["mounts"]) == ({"A": "1"}, ["/d:/d"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-e PORT=5432 -v /scratch/w:/w", "-e PORT, -v /scratch/w:/w"),
        ("-v /home/x:/x", ""),
        ("-e CUDA_VISIBLE_DEVICES=1 -v /home/x:/x", ""),
    ],
)
def test_what_another_sleeping_container_has_of_its_own_is_told(options: str, said: str) -> None:
    lines = (
        f"docker run -d {options} --name b reg/x:1 sleep infinity\n"
        "docker run -d -v /home/x:/x --name a reg/x:1 sleep infinity\n"
        "docker exec a mpirun --hostfile /x/hosts -N 2 ./t\n"
    )
    found = converted({"run.sub": f"#!/bin/bash\n{lines}"})
    (why,) = (each.why for each in found.findings if each.places and each.places[0].line == 2)
    assert why.partition(" has of its own ")[2] == said


@pytest.mark.parametrize(
    ("line", "ranks"),
    [
        ("sudo docker run reg/x:1 mpirun -n 4 ./t", "4"),
        ("podman run reg/x:1 mpirun -np 4 ./t", "4"),
        ("docker run reg/x:1 mpirun -n 4 --hostfile /h ./t", "does not tell it"),
        ("ssh $H docker run reg/x:1 mpirun -n 4 ./t", "does not tell it"),
        ("docker run reg/x:1 mpirun -n $N ./t", "does not tell it"),
    ],
)
def test_ranks_of_an_mpirun_in_a_container_that_is_told_of_no_hosts_are_all_there(
    line: str, ranks: str
) -> None:
    found = converted({"run.sh": f"#!/bin/sh\n{line}\n"})
    report = " ".join(report_of(found).split())
    assert ("ranks_per_node: 4" in report) is (ranks == "4")
    assert ("does not tell it" in report) is (ranks != "4")
