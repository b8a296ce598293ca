"""A script that another one starts by itself, given beside it or written by it: the job is the one that its
commands would be in their place."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\nexport LR=0.5\n"
_RUN = "srun --ntasks-per-node=8 --mpi=pmix --container-image=a/b:1 ./train --lr $LR\n"
_ENDING = "sync\n"
_WRITES = {
    "a here-document": f"cat > go.sh <<'E'\n#!/bin/bash\n{_RUN}E\n",
    "one that is filled in": f"cat > go.sh <<E\n#!/bin/bash\n{_RUN}E\n",
    "echo": f"echo '#!/bin/bash' > go.sh\necho '{_RUN.strip()}' >> go.sh\n",
    "printf": f"printf '%s\\n' '{_RUN.strip()}' > go.sh\n",
}
_STARTS = ("bash go.sh", "bash -x ./go.sh 1 2", "chmod +x go.sh; ./go.sh", "timeout 60 sh go.sh || exit 1")


def _converted(texts: dict[str, str]) -> Conversion:
    return convert(classified(texts), Options({"PWD": "/data"}))


def _inline(run: str = _RUN) -> dict[str, object]:
    job: dict[str, object] = loaded(_converted({"run.sub": f"{_HEAD}{run}{_ENDING}"}).job)
    return job


@pytest.mark.parametrize("starts", _STARTS)
@pytest.mark.parametrize("writes", _WRITES)
def test_a_script_that_the_launcher_writes_and_starts_is_read(writes: str, starts: str) -> None:
    found = _converted({"run.sub": f"{_HEAD}{_WRITES[writes]}{starts}\n{_ENDING}"})
    job = loaded(found.job)
    assert job == _inline()


def test_a_name_that_is_not_known_is_the_same_file_each_time() -> None:
    lines = f"GO=$(mktemp)\ncat > $GO <<'E'\n{_RUN}E\nbash $GO\nrm $GO\n{_ENDING}"
    assert loaded(_converted({"run.sub": _HEAD + lines}).job)["command"] == _inline()["command"]


@pytest.mark.parametrize("order", [("run.sub", "go.sh"), ("go.sh", "run.sub")])
@pytest.mark.parametrize("starts", _STARTS)
def test_a_script_that_is_given_is_read_where_it_is_started(starts: str, order: tuple[str, ...]) -> None:
    texts = {"run.sub": f"{_HEAD}{starts}\n{_ENDING}", "go.sh": f"#!/bin/bash\nLR=0.5\n{_RUN}exit 0\n"}
    found = _converted({name: texts[name] for name in order})
    job = loaded(found.job)
    assert {key: job[key] for key in job if key != "setup" or "chmod" not in starts} == _inline()
    said = [each for each in found.findings if str(each.places[0]) == "run.sub:4"]
    assert [each.kind for each in said if "go.sh" in each.what] == ["carried"]


def test_the_words_behind_its_name_and_what_is_exported_are_its_own() -> None:
    run = _RUN.replace("$LR", "$1 --seed $SEED --home $HERE")
    lines = "HERE=/x\nSEED=3 ./go.sh 0.1\n"
    found = _converted({"run.sub": f"{_HEAD}{lines}", "go.sh": f"#!/bin/bash\n{run}"})
    command = loaded(found.job)["command"]
    assert "0.1" in str(command)
    assert "/x" not in str(command)
    assert loaded(found.job)["env"]["SEED"] == "3"


def test_a_file_that_another_program_changes_is_not_read() -> None:
    changed = f"cat > go.sh <<'E'\n{_RUN}E\nsed -i s/8/4/ go.sh\nbash go.sh\n"
    assert "image" not in loaded(_converted({"run.sub": f"{_HEAD}{changed}"}).job)


_TWO = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
_ONE = "#!/bin/bash\n#SBATCH -N 1 -t 10 --gpus-per-node=8\n"


@pytest.mark.parametrize(
    "line",
    [
        "bash go.sh",
        "./go.sh 4",
        "timeout 60 sh -e $HOME/go.sh",
        "python -c \"import os; os.system('srun -n16 ./x')\"",
        "python launch.py mpirun -np 16 ./x",
    ],
)
def test_ranks_that_a_command_may_start_itself_are_asked_for(line: str) -> None:
    found = _converted({"run.sub": f"{_TWO}{line}\n"})
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"], job["command"], job["mpi"]) == ("2", ASK, ASK, ASK)
    assert all(
        "on the first node alone" not in each.why and "idle" not in each.why for each in found.findings
    )
    assert all("srun without" not in each.what and "slurm.conf" not in each.why for each in found.findings)


@pytest.mark.parametrize("line", ["python train.py", "./x srun.log", "python t.py --by=mpirun_rsh.txt"])
def test_a_program_on_the_first_node_is_one_rank(line: str) -> None:
    job = loaded(_converted({"run.sub": f"{_TWO}{line}\n"}).job)
    assert (job["nodes"], job["ranks_per_node"]) == ("1", "1")


def test_a_script_that_is_not_given_is_named_where_it_has_one_node() -> None:
    found = _converted({"run.sub": f"{_ONE}bash go.sh\n"})
    assert loaded(found.job)["ranks_per_node"] == "1"
    assert any(each.kind == "question" and "starts ranks itself" in each.what for each in found.findings)
    given = _converted({"run.sub": f"{_ONE}bash go.sh\n", "go.sh": "#!/bin/bash\npython train.py\n"})
    assert all("starts ranks itself" not in each.what for each in given.findings)


@pytest.mark.parametrize(
    "line",
    [
        "strace -f -o out srun -n 16 ./x",
        "su -c 'mpirun -np 16 ./x'",
        "find . -name go -exec srun ./x \\;",
        "newgrp team <<'E'\nsrun -n 16 ./x\nE",
    ],
)
def test_a_way_of_starting_ranks_that_is_not_known_is_named(line: str) -> None:
    text = line
    found = _converted({"run.sub": f"{_TWO}{text}\n"})
    assert loaded(found.job)["command"] == ASK
    line = line.partition("\n")[0]
    assert any(line in each.why and "may start them" in each.why for each in found.findings)
    beside = _converted({"run.sub": f"{_TWO}{text}\nsrun --mpi=pmix --ntasks-per-node=8 ./y\n"})
    assert [each.kind for each in beside.findings if each.what == line] == ["unread"]


@pytest.mark.parametrize("line", ["pip install mpirun deepspeed x", "pkill mpirun x", "module load srun x"])
def test_the_name_of_a_starter_alone_starts_nothing(line: str) -> None:
    found = _converted({"run.sub": f"{_TWO}{line}\n{_RUN}"})
    assert all("may start ranks" not in each.why for each in found.findings)


def test_what_a_file_that_is_not_given_may_start_is_named() -> None:
    found = _converted({"run.sub": f"{_TWO}CMD='srun -n 4'\nsource ~/.bashrc\nsource ./tests.sh\n"})
    (command,) = (each for each in found.findings if each.key == "command")
    assert ("tests.sh" in command.todo, ".bashrc" in command.todo) == (True, False)
    assert [each.kind for each in found.findings if each.what.startswith("CMD=")] == ["unread"]
    given = _converted({"run.sub": f"{_TWO}CMD='srun -n 4'\nsource ./tests.sh\n", "tests.sh": "$CMD ./x\n"})
    assert loaded(given.job)["command"] == ["./x"]


def test_what_srun_starts_a_launcher_with_is_the_launchers() -> None:
    go = "#!/bin/bash\nNEXP=2\nSETS=/sets/two NEXP=5 srun -N 2 -t 30 run.sub small\n"
    loop = f"for i in $(seq ${{NEXP:-1}}); do\n{_RUN.replace('./train', './train $1 $SETS')}done\n"
    run = f"#!/bin/bash\n#SBATCH --gpus-per-node=8\nLR=0.5\nSETS=${{SETS:-/sets/one}}\n{loop}"
    job = loaded(_converted({"go.sh": go, "run.sub": run}).job)
    assert job["command"] == ["./train", "small", "/sets/two", "--lr", "0.5"]
    assert (job["nodes"], job["time"], job["trials"]["count"], "setup" in job) == (
        "2",
        "00:30:00",
        "5",
        False,
    )


@pytest.mark.parametrize("before", ["", "sudo ", "sudo -u lab "])
def test_a_script_that_starts_the_container_is_read_where_it_is_started(before: str) -> None:
    begins = 'docker run -d --name $1 -v "$2":/in --gpus all lab/t:1\n'
    texts = {"go.sh": f"{before}./begin.sh box /srv\ndocker exec box ./t\n", "begin.sh": begins}
    for order in (("go.sh", "begin.sh"), ("begin.sh", "go.sh")):
        found = _converted({name: texts[name] for name in order})
        told = {each.name: each.told for each in found.launch}
        assert (told["image"], told["mounts"], told["ranks"]) == ("lab/t:1", "/srv:/in", "1 on each node")
        its = [each.why for each in found.findings if "./begin.sh" in each.what]
        assert its == ["what that script does is told where its commands stand"]


@pytest.mark.parametrize(("how", "handed_on"), [("", True), ("sudo -E ", True), ("sudo ", False)])
def test_sudo_hands_on_nothing_that_is_exported(how: str, handed_on: bool) -> None:
    texts = {
        "go.sh": f"export SIZE=7\n{how}./begin.sh box\ndocker exec box ./t\n",
        "begin.sh": 'docker run -d --name $1 -e "SIZE=$SIZE" lab/t:1\n',
    }
    carried = [each.became for each in _converted(texts).findings if each.key == "env.SIZE"]
    assert any("7" in each for each in carried) == handed_on
    alone = {
        "one.sh": f"export SIZE=7\n{how}bash go.sh 3\n",
        "go.sh": "docker run -e SIZE=$SIZE lab/t:1 ./t $1\n",
    }
    said = [each.became for each in _converted(alone).findings if each.key in ("env.SIZE", "command")]
    assert ("command: ./t 3" in said, any("7" in each for each in said)) == (True, handed_on)


_HERE = '#!/bin/bash\nHERE="$(cd "$(dirname "$0")" && pwd)"'


@pytest.mark.parametrize("starts", ['bash "$HERE/go.sh"', '"$HERE"/sub/go.sh 2>&1 | tee out.txt'])
def test_a_script_is_found_by_its_name_where_its_folder_is_known_only_there(starts: str) -> None:
    found = _converted({"run.sh": f"{_HERE}\nWAY=mine\nexport LR=0.5\n{starts}\n", "go.sh": _BY_TORCH})
    assert loaded(found.job)["command"] == ["python", "-u", "t.py", "--lr", "0.5", "--way", "its"]
    assert not any("go.sh" in each.what for each in found.findings if each.kind == "left")


def test_a_script_whose_name_is_known_only_there_is_not_taken_for_another() -> None:
    texts = {"run.sh": f'#!/bin/bash\nWAY=mine\nexport LR=0.5\nbash "./$GO.sh"\n{_RUN}', "go.sh": _BY_TORCH}
    assert not [each for each in _converted(texts).findings if "that the job is made of" in each.why]


_BY_TORCH = "#!/bin/bash\ntorchrun --nproc_per_node=4 t.py --lr $LR --way ${WAY:-its}\n"
