"""What starts ranks and containers is found by each of its names, also where a text is looked at and no
command line is read."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.names import DOCKERS, REMOTE
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30\n"
# By mpirun's names, but for those with options of their own.
_NAMES = [
    *("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"),
    *("mpirun.openmpi", "mpiexec.openmpi", "horovodrun", "mpiexec.slurm"),
]


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "lines", ["bash -c 'cd /work && {} -np 16 ./app'", "bash <<EOF\ncd /work\n{} -np 16 ./app\nEOF"]
)
def test_ranks_that_a_text_for_a_shell_starts(lines: str, name: str) -> None:
    job = script_cases.loaded(_converted(lines.format(name)).job)
    assert [job[key] for key in ("command", "workdir", "nodes", "ranks_per_node")] == [
        ["./app"],
        "/work",
        "2",
        "8",
    ]


@pytest.mark.parametrize("name", _NAMES)
def test_what_whoever_copies_the_script_fills_in_is_no_redirection(name: str) -> None:
    found = _converted(f"{name} -np 16 ./app <case>")
    assert [(each.what, each.became) for each in found.findings if each.kind == "repaired"] == [
        ("<case>", "${case}")
    ]


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("line", ["{} -np 16 ./app | tee log", "{} -np 16 ./app || true"])
def test_a_status_that_is_lost_is_a_defect(line: str, name: str) -> None:
    assert any(each.kind == "defect" for each in _converted(line.format(name)).findings)


@pytest.mark.parametrize("name", _NAMES)
def test_a_script_that_ends_before_it(name: str) -> None:
    found = _converted(f"exit 0\n{name} -np 16 ./app")
    assert any("`exit 0` (run.sub:3)" in each.why for each in found.findings)


@pytest.mark.parametrize("name", DOCKERS)
def test_containers_that_a_text_of_srun_starts(name: str) -> None:
    job = script_cases.loaded(_converted(f"srun bash -c '{name} run --rm -v /a:/b img ./app'").job)
    assert (job["command"], job["image"], job["mounts"]) == (["./app"], "img", ["/a:/b"])


@pytest.mark.parametrize("name", DOCKERS)
def test_a_password_that_docker_is_told(name: str) -> None:
    found = _converted(f"{name} login -u me -p wordofmine registry\nsrun ./app")
    assert f"`{name} ... -p`" in [each.what for each in found.findings if each.kind == "defect"]


@pytest.mark.parametrize("name", DOCKERS)
def test_a_container_behind_the_end_of_a_script(name: str) -> None:
    found = _converted(f"exit 0\n{name} run img ./app")
    assert any("`exit 0` (run.sub:3)" in each.why for each in found.findings)


@pytest.mark.parametrize("name", REMOTE)
def test_what_another_host_is_given_and_is_no_launcher(name: str) -> None:
    option = {"pdsh": "-w ", "clush": "-w ", "pssh": "-H ", "parallel-ssh": "-H "}.get(name, "")
    found = convert(classified({"go.sh": f"#!/bin/bash\n{name} {option}n1 python train.py\n"}), Options({}))
    assert f"go.sh:2: what {name} starts on other hosts" in found.refused


@pytest.mark.parametrize("name", ["mpirun", "mpiexec", "orterun", "torchrun", "podman"])
def test_a_variable_that_may_hold_one(name: str) -> None:
    lines = f'CMD="{name} run ./a"\nif [ "$KIND" = 2 ]; then CMD="{name} run ./b"; fi\n$CMD'
    found = _converted(lines)
    assert any(f"CMD is '{name} run ./a' or" in each.why for each in found.findings)
