"""A submit description for HTCondor is refused by its name, and what it asks for is told."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_TEXT = r'''# of a made-up pool
Universe       = docker
docker_image   = docker://made/up:1
Executable     = /opt/warm/run.sh
arguments      = "--steps $(steps) --name ""a b"""
steps          = 20
environment    = "LEVEL=3 WHERE='/data/x y'"
getenv         = True
request_GPUs   = 2
request_memory = 8GB
requirements   = (Arch == "X86_64") && \
                 (Memory > 4)
+JobFlavour    = "longlunch"
allowed_execute_duration = 5400
output         = out.$(Process)
queue
'''


def _of(text: str, name: str = "warm.sub") -> Conversion:
    return convert(classified({name: text}), Options({}))


def _told(found: Conversion) -> dict[str, str]:
    return {each.name: each.told for each in found.launch}


@pytest.mark.parametrize("name", ["warm.sub", "warm.condor", "warm"])
def test_its_commands_tell_the_launch(name: str) -> None:
    found = _of(_TEXT, name)
    assert "a submit description for HTCondor" in found.refused
    told = _told(found)
    assert (told["nodes"], told["ranks"], told["GPUs"]) == ("1", "1 on each node", "2 on each node")
    assert (told["time limit"], told["environment"]) == ("90 minutes", "LEVEL, WHERE")
    assert told["image"] == "made/up:1"
    became = {each.became for each in found.findings}
    assert {"env.WHERE: /data/x y", 'command: /opt/warm/run.sh --steps 20 --name "a b"'} <= became


def test_each_of_its_lines_is_accounted_for() -> None:
    places = [place for each in _of(_TEXT).findings for place in each.places]
    assert {line for at in places for line in range(at.line, max(at.line, at.last) + 1)} >= set(range(2, 16))


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("queue 8", "it sends several jobs"),
        ("Queue file from list.txt", "it sends several jobs"),
        ("queue\nsteps = 40\nqueue", "a further job"),
    ],
)
def test_several_jobs_are_said(queue: str, said: str) -> None:
    found = _of(_TEXT.replace("queue\n", f"{queue}\n"))
    assert any(said in each.why for each in found.findings)


def test_what_each_of_its_jobs_has_of_its_own_is_no_command() -> None:
    found = _of("executable = run.sh\narguments = $(Process)\nqueue 3\n")
    assert not any(each.became.startswith("command") for each in found.findings)
    assert any("$(process) is another one" in each.why for each in found.findings)


def test_a_list_of_one_item_tells_what_its_job_has() -> None:
    text = "executable = fit.sh\narguments = -n $(n) $(data)\n{}\nlog = x\n"
    found = _of(text.format("queue n, data from (\n  # 3 /d/other\n  4, /d/a b\n)"))
    assert "a submit description for HTCondor" in found.refused
    assert "command: fit.sh -n 4 /d/a b" in {each.became for each in found.findings}
    assert not any("several jobs" in each.why for each in found.findings)
    several = _of(text.format("queue 1 n, data from (\n 3 /d/c\n 4 /d/a\n)"))
    assert "a submit description for HTCondor" in several.refused
    assert any("several jobs" in each.why for each in several.findings)


@pytest.mark.parametrize("queue", ["queue arguments from list.txt", "queue 2 arguments in (\n-a\n-b\n)"])
def test_arguments_that_queue_gives_each_job_are_not_told(queue: str) -> None:
    found = _of(f"executable = fit.sh\n{queue}\n")
    assert not any(each.became.startswith("command") for each in found.findings)
    assert any("$(arguments) is another one" in each.why for each in found.findings)


def test_a_description_that_names_no_program_is_one() -> None:
    found = _of("log = a.log\nrequest_cpus = 4\nqueue\n")
    assert "a submit description for HTCondor" in found.refused
    assert _told(found)["nodes"] == "not determined"


def test_how_many_a_job_of_another_universe_has_is_not_told() -> None:
    assert _told(_of("universe = grid\nexecutable = x\nqueue\n"))["nodes"] == "not determined"
    its = _told(_of("universe = parallel\nexecutable = x\nmachine_count = 4\nqueue\n"))
    assert (its["nodes"], its["ranks"]) == ("4", "not determined")


@pytest.mark.parametrize(
    "text",
    [
        "executable=run.sh\nqueue=long\nmpirun ./t\n",
        "executable=run.sh\nqueue=long\n",
        "#!/bin/sh\nexecutable=run.sh\nqueue\n",
    ],
)
def test_a_script_with_such_names_is_none(text: str) -> None:
    assert "HTCondor" not in _of(text, "run.sh").refused


def test_values_that_name_one_another_end() -> None:
    assert _of("a = $(b)\nb = $(a)$(a)\nexecutable = x $(a)\nqueue\n").refused
