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
    convert("bench.yaml", head + textwrap.indent(text, " " * 10), draft, Options({}))
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
