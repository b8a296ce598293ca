"""Command lines of docker, ssh, mpirun and torch launchers are read layer by layer, unknown words too."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.readback.shell.values import Unknown, Value, shown


def words(text: str) -> list[Value]:
    """Words of a command line; ?NAME is a word of which nothing is known, ~NAME one that is one word."""
    found: list[Value] = []
    for word in shlex.split(text):
        if word.startswith("?"):
            found.append((Unknown("variable", word[1:], splits=True),))
        elif "~" in word:
            before, _, name = word.partition("~")
            found.append(((before,) if before else ()) + (Unknown("variable", name),))
        else:
            found.append((word,))
    return found


def read(text: str) -> list[tuple[str, list[tuple[str, str | None]], list[str]]]:
    return [
        (
            layer.program,
            [(each.name, None if each.value is None else shown(each.value)) for each in layer.options],
            [shown(word) for word in layer.words],
        )
        for layer in layers(words(text))
    ]


def option(layer: Layer, name: str) -> str | None:
    found = layer.option(name)
    return shown(found.value) if found and found.value is not None else None


def test_a_run_with_all_kinds_of_options() -> None:
    line = "nvidia-docker run -itd --rm --net=host --ulimit memlock=-1 -v /a:/b:ro -v=/c:/d --env=K=V -eX "
    assert read(line + "-e Y=1 -u 0:0 --gpus '\"device=0,1\"' repo/image:tag bash -c 'sleep 9'") == [
        (
            "docker run",
            [
                ("runtime", "nvidia"),
                ("interactive", None),
                ("tty", None),
                ("detach", None),
                ("rm", None),
                ("network", "host"),
                ("ulimit", "memlock=-1"),
                ("volume", "/a:/b:ro"),
                ("volume", "/c:/d"),
                ("env", "K=V"),
                ("env", "X"),
                ("env", "Y=1"),
                ("user", "0:0"),
                ("gpus", '"device=0,1"'),
            ],
            ["repo/image:tag"],
        ),
        ("", [], ["bash", "-c", "sleep 9"]),
    ]


@pytest.mark.parametrize(
    ("line", "options", "image", "command"),
    [
        ("docker run ?IBDEVICES ?CONT python a.py", ["${IBDEVICES}"], "${CONT}", ["python", "a.py"]),
        ("docker run ?IBDEVICES repo/i:1 python a.py", ["${IBDEVICES}"], "repo/i:1", ["python", "a.py"]),
        (
            "docker run ?OPTS --name x ?DOCKER_IMAGE ?CMD",
            ["${OPTS}", "--name x"],
            "${DOCKER_IMAGE}",
            ["${CMD}"],
        ),
        ("docker run ?X ./run.sh", [], "${X}", ["./run.sh"]),
        ("docker run ?A ?B python x.py", [], "${A}", ["${B}", "python", "x.py"]),
        # An array of options stands before the container; the container alone before what it executes.
        ("docker exec ?GIVEN box sh a", ["${GIVEN}"], "box", ["sh", "a"]),
        ("docker exec ?GIVEN box ./run.sh", ["${GIVEN}"], "box", ["./run.sh"]),
        ("docker exec ?GIVEN ?CONT ./run.sh", ["${GIVEN}"], "${CONT}", ["./run.sh"]),
        ("docker exec ?GIVEN -e A=1 box ./run.sh", ["${GIVEN}", "-e A=1"], "box", ["./run.sh"]),
        ("docker exec ?CONT train --all", [], "${CONT}", ["train", "--all"]),
        ("docker exec ?BOX ./run.sh a", [], "${BOX}", ["./run.sh", "a"]),
        ("docker exec ?BOX bash a.sh", [], "${BOX}", ["bash", "a.sh"]),
        ("docker exec ?BOX train now", [], "${BOX}", ["train", "now"]),
        ("docker exec ?BOX train --all", [], "${BOX}", ["train", "--all"]),
        ("docker exec ?CONT python a.py", [], "${CONT}", ["python", "a.py"]),
    ],
)
def test_the_image_among_words_of_which_nothing_is_known(
    line: str, options: list[str], image: str, command: list[str]
) -> None:
    run, *inner = layers(words(line))
    assert [each.written for each in run.options] == options
    assert [shown(word) for word in run.words] == [image]
    assert [shown(word) for layer in inner for word in layer.words] == command


@pytest.mark.parametrize(
    ("line", "options", "image"),
    [
        ("docker run --rm ARGUMENTS ~1 -c ?TEXT", ["--rm", "${@}"], "${1}"),
        ("docker run ARGUMENTS -e A=1 reg/i:1 ./run.sh", ["${@}", "-e A=1"], "reg/i:1"),
        ("docker run ARGUMENTS reg/i:1", ["${@}"], "reg/i:1"),
        ("docker run --rm reg/i:1 ARGUMENTS", ["--rm"], "reg/i:1"),
        ("docker run --rm ~1 ARGUMENTS", ["--rm"], "${1}"),
        ("docker run --rm ARGUMENTS", ["--rm"], "${@}"),
        ("docker run --rm ARGUMENTS ./run.sh", ["--rm"], "${@}"),
    ],
)
def test_the_image_behind_all_of_the_scripts_arguments(line: str, options: list[str], image: str) -> None:
    all_of_them: Value = (Unknown("argument", "@"),)
    run = layers([all_of_them if word == ("ARGUMENTS",) else word for word in words(line)])[0]
    assert [each.written for each in run.options] == options
    assert [shown(word) for word in run.words] == [image]


def test_a_launch_through_all_layers() -> None:
    line = "?SRUN ssh -q -o A=b node1 docker exec -e K -w /w C mpirun -np 16 -x A=1 -x B --mca btl tcp ./r a"
    assert read(line) == [
        ("unknown", [], ["${SRUN}"]),
        ("ssh", [("q", None), ("option", "A=b")], ["node1"]),
        ("docker exec", [("env", "K"), ("workdir", "/w")], ["C"]),
        ("mpirun", [("np", "16"), ("x", "A=1"), ("x", "B"), ("mca", "btl=tcp")], []),
        ("", [], ["./r", "a"]),
    ]


def test_one_word_over_ssh_is_read_by_the_remote_shell() -> None:
    assert read("ssh h 'cd /w && docker ps'")[-1] == ("", [], ["sh", "-c", "cd /w && docker ps"])
    assert read("ssh h docker rm -f c")[1] == ("docker rm", [("force", None)], ["c"])


@pytest.mark.parametrize(
    ("line", "program", "expected"),
    [
        ("mpirun -npernode 4 --bind-to none a", "mpirun", {"npernode": "4", "bind-to": "none"}),
        ("mpirun -H a:8,b:8 -bind-to-none -bynode a", "mpirun",
         {"host": "a:8,b:8", "bind-to": "none", "map-by": "node"}),
        ("mpirun -machinefile f -wdir /w a", "mpirun", {"hostfile": "f", "wdir": "/w"}),
        ("mpirun -n 4 -ppn 2 -genv A 1 -hosts x,y a", "mpiexec.hydra",
         {"np": "4", "npernode": "2", "x": "A=1", "host": "x,y"}),
        ("mpiexec.hydra -genv A=1 -f h a", "mpiexec.hydra", {"x": "A=1", "hostfile": "h"}),
        ("mpiexec.hydra -f h -np 3 a", "mpiexec.hydra", {"hostfile": "h", "np": "3"}),
        ("horovodrun -np 8 -H a:4,b:4 -p 12345 a", "horovodrun",
         {"np": "8", "host": "a:4,b:4", "ssh-port": "12345"}),
        ("mpirun --launch-agent 'docker exec c orted' --map-by ppr:2:socket a", "mpirun",
         {"launch-agent": "docker exec c orted", "map-by": "ppr:2:socket"}),
        ("mpirun -np ~N a", "mpirun", {"np": "${N}"}),
    ],
)  # fmt: skip
def test_mpirun_in_its_dialects(line: str, program: str, expected: dict[str, str]) -> None:
    layer, inner = layers(words(line))
    assert layer.program == program
    assert {name: option(layer, name) for name in expected} == expected
    assert [shown(word) for word in inner.words] == ["a"]


@pytest.mark.parametrize(
    ("line", "program", "expected", "command", "local_rank"),
    [
        ("python -u -m torch.distributed.launch --nproc_per_node=8 --nnodes 2 t.py --x 1",
         "torch.distributed.launch", {"nproc_per_node": "8", "nnodes": "2"}, "python -u t.py --x 1", True),
        ("python3 -m torch.distributed.launch --use_env --nproc-per-node 4 t.py", "torch.distributed.launch",
         {"nproc_per_node": "4"}, "python3 -u t.py", False),
        ("torchrun --standalone --nproc-per-node=gpu -m pkg.mod --a-b c", "torchrun",
         {"nproc_per_node": "gpu"}, "python -u -m pkg.mod --a-b c", False),
        ("torchrun --no-python --nproc_per_node 2 ./run.sh", "torchrun",
         {"nproc_per_node": "2"}, "./run.sh", False),
        ("python -m bind_launch --nsockets_per_node 2 --ncores_per_socket 20 --nproc_per_node 8 t.py",
         "bind_launch", {"nproc_per_node": "8", "nsockets_per_node": "2"}, "python -u t.py", True),
        ("python bind_launch.py --nproc_per_node 8 t.py", "bind_launch", {}, "python -u t.py", True),
        ("deepspeed --num_gpus 4 --hostfile h t.py --deepspeed", "deepspeed",
         {"nproc_per_node": "4", "hostfile": "h"}, "python -u t.py --deepspeed", True),
        ("accelerate launch --num_processes 16 --num_machines 2 t.py", "accelerate",
         {"num_processes": "16", "nnodes": "2"}, "python -u t.py", False),
        ("accelerate launch --use_fsdp --fsdp-sharding-strategy FULL_SHARD --zero3_init_flag true t.py --x",
         "accelerate", {"fsdp_sharding_strategy": "FULL_SHARD"}, "python -u t.py --x", False),
    ],
)  # fmt: skip
def test_launchers_of_one_process_for_each_gpu(
    line: str, program: str, expected: dict[str, str], command: str, local_rank: bool
) -> None:
    layer, inner = layers(words(line))
    assert layer.program == program
    assert {name: option(layer, name) for name in expected} == expected
    assert " ".join(shown(word) for word in inner.words) == command
    assert torch.passes_local_rank(layer) is local_rank


@pytest.mark.parametrize(
    "line", ["python -c 'import torch'", "python train.py -m x", "python -m pip install", "accelerate config"]
)
def test_other_commands_are_left_as_they_are(line: str) -> None:
    (only,) = layers(words(line))
    assert only.program == ""
    assert [shown(word) for word in only.words] == shlex.split(line)


_WORD = st.one_of(
    st.sampled_from(
        [
            *(
                "docker",
                "run",
                "exec",
                "-it",
                "-v",
                "/a:/b",
                "-e",
                "K=V",
                "--",
                "--name",
                "ssh",
                "h",
                "mpirun",
            ),
            *("-np", "2", "-x", "srun", "-n", "1", "env", "A=1", "python", "-m", "torch.distributed.launch"),
            *("sh", "-c", "-", "=", "-=", "--=", "-e=", "bash", "sudo", "torchrun", "--nproc_per_node"),
            *("?X", "?CONT", "~Y", "--a=~Z"),
        ]
    ),
    st.text(max_size=6).filter(lambda text: "\0" not in text),
)


@given(st.lists(_WORD, max_size=14))
def test_no_command_line_breaks_it_and_no_word_is_invented(line: list[str]) -> None:
    given_words: list[Value] = [
        word for text in line for word in (words(shlex.quote(text)) if "?" not in text else [(text,)])
    ]
    texts = [shown(word) for word in given_words]
    # What ssh is given becomes one text for the other side's shell, with a space between its words.
    written = "".join(texts) + "-u -m python nvidia sh -c = =" + " ".join(texts)
    for layer in layers(given_words):
        for word in layer.words:
            assert all(piece in written for piece in shown(word).split("="))


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("torchrun ?OPTS t.py", "python -u t.py"),
        ("torchrun ?OPTS --nproc_per_node 2 t.py", "python -u t.py"),
        ("torchrun ?OPTS ?X --lr 1", "python -u ${X} --lr 1"),
        ("torchrun --nproc_per_node 2 ?TRAINING --lr 1", "python -u ${TRAINING} --lr 1"),
        ("torchrun --nproc_per_node 2 ?EVERYTHING", "python -u ${EVERYTHING}"),
        ("torchrun ?SCRIPT config.yaml", "python -u ${SCRIPT} config.yaml"),
        ("mpirun -np 2 ?NAME --minbytes 8G", "${NAME} --minbytes 8G"),
        ("mpirun -np 2 ?TEST_BIN -n 100", "${TEST_BIN} -n 100"),
        ("mpirun -np 2 ?X input.dat", "${X} input.dat"),
        ("mpirun ?MPI_FLAGS -np 2 ./a", "./a"),
        ("mpirun -np 2 ?MPI_FLAGS ./a", "./a"),
    ],
)
def test_a_word_that_is_not_known_is_options_only_where_a_program_follows(line: str, inner: str) -> None:
    found = layers(words(line))[-1].words
    assert " ".join(map(shown, found)) == inner
