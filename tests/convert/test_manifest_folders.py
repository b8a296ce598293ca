"""Jobs whose shell makes a folder and goes there: steps and ranks run where the shell was."""

import textwrap

import pytest

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.options import Options

HEAD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: bench}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: reg.io/bench:1
        resources: {limits: {nvidia.com/gpu: 8}}
        command: [/bin/sh, -c]
        args:
        - |
"""
CLONE = "git clone https://git.example/team/bench"


def facts(text: str, head: str = HEAD) -> dict[str, object]:
    draft = Draft()
    convert([("bench.yaml", head + textwrap.indent(text, " " * 10))], draft, Options({}))
    assert not any(fact.is_open for fact in draft.facts.values())
    return {".".join(map(str, key)): fact.value for key, fact in draft.facts.items()}


@pytest.mark.parametrize(
    ("text", "setup", "command"),
    [
        (
            f"{CLONE}\ncd bench\nmake -j\nmpirun -np 8 ./bench -b 8\n",
            [CLONE, "cd bench && make -j"],
            "cd bench && exec ./bench -b 8",
        ),
        (
            f"{CLONE} '/opt/my bench' && cd '/opt/my bench' && mpirun -np 8 ./bench '-b 8'\n",
            [f"{CLONE} '/opt/my bench'"],
            "cd '/opt/my bench' && exec ./bench '-b 8'",
        ),
        (
            f"cd /opt\n{CLONE}\ncd bench\nmake\nmpirun -np 8 -x LD_LIBRARY_PATH=/a:$LD_LIBRARY_PATH ./b\n",
            [f"cd /opt && {CLONE}", "cd /opt/bench && make"],
            'cd /opt/bench || exit; export LD_LIBRARY_PATH=/a:"$LD_LIBRARY_PATH"; exec ./b',
        ),
        ("cd bench\nnvidia-smi\ntorchrun --nproc_per_node=8 t.py\n", [], "cd bench && exec python -u t.py"),
    ],
)
def test_a_folder_that_a_step_makes(text: str, setup: list[str], command: str) -> None:
    found = facts(text)
    assert "workdir" not in found
    assert [value["run"] for key, value in found.items() if key.startswith("setup.")] == setup  # type: ignore[index]
    assert found["command"] == command


@pytest.mark.parametrize(
    ("text", "setup"),
    [
        ("cd /opt/bench\nmake -j\nmpirun -np 8 ./bench\n", ["make -j"]),
        ("pip install x\ncd /opt/bench\nmpirun -np 8 ./bench\n", ["pip install x"]),
    ],
)
def test_a_folder_of_the_image_is_the_jobs(text: str, setup: list[str]) -> None:
    found = facts(text)
    assert (found["workdir"], found["command"]) == ("/opt/bench", ["./bench"])
    assert [value["run"] for key, value in found.items() if key.startswith("setup.")] == setup  # type: ignore[index]


def test_the_containers_own_folder_stays_the_jobs() -> None:
    head = HEAD.replace("        command:", "        workingDir: /srv/w\n        command:")
    found = facts(f"{CLONE}\ncd bench\nmpirun -np 8 ./bench\n", head)
    assert (found["workdir"], found["command"]) == ("/srv/w", "cd bench && exec ./bench")
    assert facts("cd bench\nmpirun -np 8 ./bench\n", head)["workdir"] == "/srv/w/bench"


def _asked(text: str) -> dict[str, str]:
    draft = Draft()
    convert([("bench.yaml", HEAD + textwrap.indent(text, " " * 10))], draft, Options({}))
    assert not any("changes nothing" in each.why for each in draft.findings)
    return {".".join(map(str, key)): fact.question for key, fact in draft.facts.items() if fact.is_open}


@pytest.mark.parametrize(
    "way",
    [
        "cd /opt/bench || exit 1",
        "cd /opt/bench || { echo no bench; exit 1; }",
        "pushd /opt/bench",
        "cd -P /opt/bench",
        "cd -- /opt/bench",
        "BENCH=/opt/bench\ncd $BENCH",
        "if true; then cd /opt/bench; fi",
    ],
)
def test_whichever_way_the_shell_goes_to_a_folder_ranks_start_there(way: str) -> None:
    assert facts(f"{way}\nmpirun -np 8 ./bench\n")["workdir"] == "/opt/bench"


@pytest.mark.parametrize(
    "way",
    [
        "cd /opt/bench-*/bin",
        "cd $SOMEWHERE",
        "cd $(cat /etc/where) || exit 1",
        "cd ~/bench",
        "cd",
        "[ -d /opt/bench ] && cd /opt/bench",
        "cd bench\ncd $(cat where)",
    ],
)
@pytest.mark.parametrize("run", ["mpirun -np 8 ./bench", "torchrun --nproc_per_node=8 t.py"])
def test_a_folder_that_nobody_can_tell_is_asked_for(way: str, run: str) -> None:
    assert list(_asked(f"{way}\n{run}\n")) == ["workdir"]


def test_a_loop_of_trials_starts_where_the_text_went_before_it() -> None:
    rounds = "for i in 1 2 3; do\n  mpirun -np 8 ./bench\ndone\n"
    assert facts(f"nvidia-smi\ncd /opt/bench\n{rounds}")["workdir"] == "/opt/bench"
    assert list(_asked(f"cd $(cat where)\n{rounds}")) == ["workdir"]


def test_a_step_in_a_folder_that_nobody_can_tell_is_left() -> None:
    draft = Draft()
    text = "make\ncd $(cat where)\npip install .\nmpirun -np 8 ./bench\n"
    convert([("bench.yaml", HEAD + textwrap.indent(text, " " * 10))], draft, Options({}))
    steps = {key: fact.value for key, fact in draft.facts.items() if key[0] == "setup"}
    assert [value["run"] for value in steps.values()] == ["make"]
    left = [each for each in draft.findings if each.kind == "left" and each.what == "pip install ."]
    assert [each.why for each in left] == ["the folder that it ran in is not told"]
