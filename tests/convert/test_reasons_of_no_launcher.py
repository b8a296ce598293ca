"""Why a script of which no line is known to start anything is refused: it is not said that nothing is there
where only its name is not told."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_NOTHING = "nothing in it starts ranks"


def _converted(text: str) -> Conversion:
    return convert(classified({"go.sh": f"#!/bin/bash\n{text}\n"}), Options({}))


@pytest.mark.parametrize(
    ("first", "second"),
    [("torchrun --nproc_per_node 2", "python"), ("podman run", "apptainer exec"), ("mpirun", "sudo ./start")],
)
def test_what_a_condition_makes_the_launcher_is_named(first: str, second: str) -> None:
    text = f'if [ -e /srv/many ]; then BY="{first}"; else BY="{second}"; fi\n$BY lab/t:1 a.py'
    refused = _converted(text).refused
    assert (_NOTHING in refused, f"{first!r} or {second!r}" in refused) == (False, True)
    assert refused.startswith("go.sh:3")


def test_what_nobody_gives_is_named() -> None:
    found = _converted("mkdir -p out\n$BY -np 4 ./solve")
    assert found.refused.startswith("go.sh:3")
    assert "nothing gives BY" in found.refused


@pytest.mark.parametrize(
    ("made", "line", "told"),
    [
        ("if [ -e v ]; then BY=v/py; else BY=$(command -v python3); fi", "-m torch.distributed.run", "v/py"),
        ("BY=$(command -v mpiexec_mpt || command -v mpiexec)", "-n 3", "command -v mpiexec_mpt"),
        ("BY=$2", "-u -m accelerate.commands.launch", "${2}"),
    ],
)
def test_a_launcher_of_which_the_program_is_in_doubt_is_named(made: str, line: str, told: str) -> None:
    found = _converted(f'{made}\nexec "$BY" {line} fit.py')
    assert found.refused.startswith("go.sh:3: what starts there is not determined: ")
    assert (told in found.refused, _NOTHING in found.refused) == (True, False)
    (said,) = [each for each in found.findings if each.why == found.refused or each.what == found.refused]
    assert ("--args" in said.todo) == ("$2" in made)


@pytest.mark.parametrize("line", ["-m pip install torchrun", "fit.py torch.distributed.run", ""])
def test_another_program_in_doubt_is_said_to_start_nothing(line: str) -> None:
    assert _NOTHING in _converted(f"BY=$(command -v python3 || command -v python)\n$BY {line}").refused


@pytest.mark.parametrize(
    "line", ["docker run --rm lab/t:1 ./t", "sudo mpirun -np 2 ./t", "$TOOL run lab/t:1"]
)
def test_what_stands_in_a_function_that_no_line_calls_is_named(line: str) -> None:
    text = f"TOOL=docker\nstart() {{\n  echo now\n  {line}\n}}\n"
    assert _converted(text).refused == (
        "go.sh:5: what starts a launch is in the function start, which no line calls"
    )
    assert _NOTHING not in _converted(f"{text}start\n").refused


@pytest.mark.parametrize(
    ("started", "lines"),
    [("lab ./solve 3", "3"), ("lab <<EOF\n./solve 3\nEOF", "3-5"), ("lab < solve.txt", "3")],
)
def test_a_container_of_enroot_is_named_where_no_line_is_for_slurm(started: str, lines: str) -> None:
    text = f"enroot create -n lab $1\nenroot start --rw {started}"
    found = _converted(text)
    said = f"go.sh:{lines}: enroot starts a container, and no line tells that Slurm"
    assert found.refused.startswith(said)
    assert _NOTHING not in found.refused
    assert not _converted(f"#SBATCH -N 1\n{text}").refused
    for none in ("enroot create -n lab x.sqsh", "enroot start lab"):
        assert _NOTHING in _converted(none).refused


def test_a_script_that_starts_nothing_is_said_to_start_nothing() -> None:
    for text in ("tar -xf a.tar\nrm a.tar", "clean() { rm -f docker; }\nclean", "look() { make mpirun; }"):
        assert _NOTHING in _converted(text).refused


@pytest.mark.parametrize(
    ("first", "second", "taken", "gpus"),
    [
        ("nvidia-docker", "docker", "nvidia-docker", "all of a node's"),
        ("docker", "nvidia-docker", "nvidia-docker", "all of a node's"),
        ("docker run", "docker run --gpus all", "docker run --gpus all", "all of a node's"),
        ("docker", "podman", "docker", "none in"),
    ],
)
def test_an_engine_that_is_found_out_tells_its_container(
    first: str, second: str, taken: str, gpus: str
) -> None:
    """Which of them it is changes no more than whether GPUs are let in, and the assumption is said."""
    run = "" if " " in first else "run "
    head = f'if which {second.split()[0]}; then E="{first}"; else E="{second}"; fi'
    found = _converted(f"{head}\nsudo $E {run}--rm -v /a:/b -e C=1 lab/t:1 ./t\n")
    told = {each.name: each.told for each in found.launch}
    assert (told["image"], told["mounts"], told["environment"]) == ("lab/t:1", "/a:/b", "C")
    (assumed,) = [each for each in found.findings if each.kind == "assumed" and each.what == "E"]
    assert (assumed.became, {each.line for each in assumed.places}) == (taken, {2, 3})
    assert [each.what for each in found.findings if gpus in each.why] == ["GPUs"]


@pytest.mark.parametrize("second", ["docker run -v /d:/e", "docker exec", "apptainer run", "$OTHER"])
def test_an_engine_that_may_do_something_else_is_not_taken(second: str) -> None:
    found = _converted(f'if which x; then E="docker run"; else E="{second}"; fi\n$E lab/t:1 ./t')
    assert not [each for each in found.findings if each.kind == "assumed" and each.what == "E"]
    assert _NOTHING not in found.refused


@pytest.mark.parametrize(
    "line", ["ssh $h uptime", "sshpass -p $P ssh -t $h 'cd /w; make'", "sudo pdsh -w $h make"]
)
def test_what_goes_to_other_hosts_is_said_to_go_there(line: str) -> None:
    assert "starts on other hosts is no launcher" in _converted(f"for h in a b; do {line}; done").refused


@pytest.mark.parametrize(
    ("text", "starter"),
    [
        ("mpiexec -n 6 -hostfile hf ./solve", "mpiexec"),
        ("cd /w && /opt/m/bin/mpirun -np 4 ./solve", "mpirun"),
    ],
)
def test_an_mpirun_in_a_text_for_another_host_is_not_said_to_be_no_launcher(text: str, starter: str) -> None:
    found = _converted(f"ssh login@head '{text}'")
    assert found.refused.endswith(f"{starter} in it is not read")
    assert not [each for each in found.findings if "not part of what is launched" in each.why]


@pytest.mark.parametrize(
    ("word", "todo"),
    [('"${1:-help}"', "--args"), ('"${ACTION:-help}"', "--env")],
)
def test_a_launcher_in_a_way_that_is_not_taken_is_named(word: str, todo: str) -> None:
    ways = "build) docker build . ;;\ntrain)\n  docker run --gpus all lab/t:1 a.py ;;\nhelp) echo ;;"
    text = f"case {word} in\n{ways}\nesac"
    found = _converted(text)
    assert found.refused.startswith("go.sh:5: with what is given the script does not come to")
    assert any(todo in each.todo for each in found.findings if each.kind == "left")
    assert _NOTHING in _converted(text.replace("run --gpus all", "pull")).refused


@pytest.mark.parametrize(("over", "told"), [('"$@"', True), ("$(ls /srv)", False)])
def test_arguments_that_may_decide_what_starts_are_asked_for(over: str, told: bool) -> None:
    loop = f"MORE=1\nfor each in {over}; do\n  if [ $each = -b ]; then MORE=0; fi\ndone"
    text = f"{loop}\nCMD=(torchrun a.py)\nif [ $MORE = 1 ]; then CMD=(python b.py); fi\n" + '"${CMD[@]}"'
    found = _converted(text)
    assert "what starts there is not determined" in found.refused
    assert any("--args" in each.todo for each in found.findings) == told


@pytest.mark.parametrize("line", ["warm.launch -n 2 fit.py", "for host in a b; do warm-start $host; done"])
def test_an_unknown_launcher_is_not_said_to_be_none(line: str) -> None:
    assert "by a launcher that is known here" in _converted(line).refused
