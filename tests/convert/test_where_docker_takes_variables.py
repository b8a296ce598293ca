"""Where docker's client takes a variable from that an option names alone: stand-ins for docker and ssh say
what the container had, since no docker is on a machine that runs the tests."""

import os
import subprocess
from pathlib import Path

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

# -e NAME is the caller's, and counts more than --env-file (docker/cli's opts/env.go and opts/file.go).
_DOCKER = """\
#!/usr/bin/env python3
import os, sys
named, files = [], []
for flag, word in zip(sys.argv, sys.argv[1:]):
    named += [word] if flag == "-e" else []
    files += open(word).read().split() if flag == "--env-file" else []
found = {}
for each in files + named:
    name, equals, value = each.partition("=")
    if equals or name in os.environ:
        found[name] = value if equals else os.environ[name]
if "run" in sys.argv:
    print(found.get("GRAIN", ""))
"""
_SSH = '#!/bin/sh\nshift\nexec env -i PATH="$PATH" sh -c "$*"\n'
_RUN = "docker run -d --name mill --gpus all {} lab/t:1 sleep infinity"
_LAUNCH = "docker exec mill mpirun -np 16 -H a:8,b:8 -x GRAIN ./till\n"


def _there(lines: str, folder: Path) -> str:
    for name, text in {"docker": _DOCKER, "ssh": _SSH}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "mill.env").write_text("GRAIN=rye\n")
    env = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-c", lines], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()[0]


@pytest.mark.parametrize(
    "lines",
    [
        f"export GRAIN=oat\n{_RUN.format('-e GRAIN=rye -e GRAIN')}",
        f"export GRAIN=oat\n{_RUN.format('-e GRAIN -e GRAIN=rye')}",
        f"export GRAIN=oat\n{_RUN.format('-e GRAIN --env-file mill.env')}",
        f"{_RUN.format('-e GRAIN --env-file mill.env')}",
        f"export GRAIN=oat\nGRAIN=bran {_RUN.format('-e GRAIN')}",
        f"ssh a 'export GRAIN=oat; {_RUN.format('-e GRAIN')}'",
        f"export GRAIN=oat\nssh a 'GRAIN=bran {_RUN.format('-e GRAIN')}'",
    ],
)
def test_the_container_has_the_value_of_who_calls_docker(lines: str, tmp_path: Path) -> None:
    text = f"#!/bin/bash\n{lines}\n{_LAUNCH}"
    found = convert(classified({"go.sh": text, "mill.env": "GRAIN=rye\n"}), Options({}))
    assert loaded(found.job)["env"] == {"GRAIN": _there(lines, tmp_path)}
    assert not any("ssh hands on" in each.why for each in found.findings)


@pytest.mark.parametrize("line", ["ssh a {}", "ssh a '{}'"])
def test_what_ssh_hands_on_to_nobody_is_said(line: str, tmp_path: Path) -> None:
    lines = f"export GRAIN=oat\n{line.format(_RUN.format('-e GRAIN'))}"
    assert _there(lines, tmp_path) == ""
    found = convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n{_LAUNCH}"}), Options({}))
    (said,) = [each for each in found.findings if "ssh hands on" in each.why]
    assert (said.kind, said.what) == ("assumed", "docker run -e GRAIN")


def test_a_launcher_in_a_script_that_docker_starts_is_said() -> None:
    runs = f"{_RUN.format('')}\nssh b {_RUN.format('')}\n"
    files = {
        "go.sh": f"#!/bin/bash\n{runs}for h in a b; do ssh $h docker exec mill ./mill.sh; done\n",
        "mill.sh": "#!/bin/sh\nexec torchrun --nproc_per_node=4 till.py\n",
    }
    found = convert(classified(files), Options({}))
    said = [each.what for each in found.findings if "ranks of its own" in each.why]
    assert said == ["torchrun --nproc_per_node=4"]
