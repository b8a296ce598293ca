"""A text that a shell in a container of docker runs is the command as a whole, whatever it begins with."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_LINES = ("set -e", "pip install -r r.txt", "nvidia-smi", "python main.py")


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sh": f"#!/bin/bash\n#SBATCH -N 1 --gpus=8\n{lines}\n"}), Options({}))


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("docker run --gpus all x/y bash -c '\n", "'"),
        ("docker run --gpus all -i x/y bash -s <<EOF\n", "EOF"),
        ("podman run --device nvidia.com/gpu=all -i x/y /bin/sh <<'EOF'\n", "EOF"),
        ("docker run -d --gpus all --name c x/y sleep infinity\ndocker exec -i c bash <<EOF\n", "EOF"),
    ],
)
def test_all_of_the_text_is_the_command(start: str, end: str) -> None:
    text = "\n".join(_LINES) + "\n"
    job = script_cases.loaded(_converted(f"{start}{text}{end}").job)
    assert job["image"] == "x/y"
    shell, option, command = job["command"]
    assert (shell.rpartition("/")[2], option) in (("bash", "-c"), ("sh", "-c"))
    assert command.split("\n") == [*_LINES, ""] or command.strip("\n").split("\n") == [*_LINES]


@pytest.mark.parametrize(("option", "count"), [("-i", 0), ("--interactive", 0), ("-it", 0), ("--rm", 1)])
def test_a_container_without_i_reads_no_text_and_that_is_said(option: str, count: int) -> None:
    found = _converted(f"docker run {option} x/y bash -s <<EOF\npython main.py\nEOF")
    said = [each for each in found.findings if each.kind == "defect" and "without -i" in each.why]
    assert len(said) == count
    assert script_cases.loaded(found.job)["command"] == ["python", "main.py"]
