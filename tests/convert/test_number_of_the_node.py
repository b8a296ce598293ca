"""The number of the node with which a script is started on each of them: no rank has the one given."""

from collections.abc import Mapping

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_TORCH = "torchrun --nnodes 2 --nproc_per_node 4 --node_rank $%s %s"


def _converted(text: str, given: Mapping[str, str] = {}, argument: str = "") -> Conversion:
    files = classified({"run.sh": f"#!/bin/bash\n{text}\n"})
    return convert(files, Options(dict(given), arguments=(argument,)))


@pytest.mark.parametrize("value", ["1", "${NODE_RANK:?}", "$1"])
def test_every_rank_has_that_of_its_own_node(value: str) -> None:
    text = f"export NODE_RANK={value}\n{_TORCH % ('NODE_RANK', 'fit.py')}"
    found = _converted(text, {"NODE_RANK": "1"}, "1")
    job = loaded(found.job)
    assert job["nodes"] == "2"
    assert "NODE_RANK" not in job.get("env", {})
    assert any(each.what == "NODE_RANK=1" and each.kind == "replaced" for each in found.findings)


def test_a_variable_of_another_name_is_set_by_the_command() -> None:
    job = loaded(_converted(f"export ME=$1\n{_TORCH % ('ME', 'fit.py')}", argument="1").job)
    assert job["command"] == 'export ME="$NODE_RANK"; exec python -u fit.py'


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (f"ME=$1\nOUT=out/$ME\n{_TORCH % ('ME', 'fit.py --out $OUT')}", "OUT"),
        (f"ME=$1\n{_TORCH % ('ME', 'fit.py --part $ME')}", "ME"),
        (f"ME=$1\nexport LOGS=/l/$ME\n{_TORCH % ('ME', 'fit.py')}", "LOGS"),
        (f"ME=$1\nOUT=out/$ME\n{_TORCH % ('ME', 'fit.py')}", ""),
        (f"ME=$1\nOUT=out/$ME\n{_TORCH.replace('2', '1') % ('ME', 'fit.py --out $OUT')}", ""),
    ],
)
def test_what_is_made_of_it_is_said_to_be_of_one_node(text: str, made: str) -> None:
    found = _converted(text, argument="1")
    told = [each.what for each in found.findings if "of the node where the script was started" in each.why]
    assert told == ([made] if made else [])


@pytest.mark.parametrize(
    ("head", "number", "is_said"),
    [
        ("", "SLURM_NODEID", False),
        ("#SBATCH -N 2 -t 5\n", "SLURM_NODEID", True),
        ("srun mkdir out\n", "SLURM_PROCID", True),
    ],
)
def test_slurms_own_number_is_a_defect_where_the_shell_of_the_job_puts_it_in(
    head: str, number: str, is_said: bool
) -> None:
    lines = f"{head}export NODE_RANK=${number} PLACE=${number}\n{_TORCH % ('NODE_RANK', 'fit.py')}"
    found = _converted(lines).findings
    said = [each for each in found if each.kind == "defect" and number in each.what]
    assert bool(said) == is_said


@pytest.mark.parametrize(
    ("head", "run", "per"),
    [
        ("R=$1\n", _TORCH % ("R", "fit.py"), "node"),
        ("R=$1\n", f"{_TORCH % ('R', 'fit.py')} || true", "node"),
        ("#SBATCH -N 2 -t 5\nR=$1\n", _TORCH % ("R", "fit.py"), "job"),
        ("", "torchrun --nnodes 1 --nproc_per_node 4 fit.py", "job"),
    ],
)
def test_what_stands_behind_the_run_is_done_on_each_node_where_the_script_is_started_there(
    head: str, run: str, per: str
) -> None:
    job = loaded(_converted(f"{head}{run}\npython look.py", argument="0").job)
    assert [each.get("per", "node") for each in job["after"]] == [per]


@pytest.mark.parametrize(
    ("nodes", "address", "kept"),
    [
        (2, "127.0.0.1", None),
        (2, "localhost", None),
        (1, "localhost", "localhost"),
        (2, "n1", None),
    ],
)
def test_an_address_by_which_each_node_finds_itself_is_none_for_ranks_of_several(
    nodes: int, address: str, kept: str | None
) -> None:
    lines = f"export MASTER_ADDR=${{MASTER_ADDR:-{address}}}\n"
    lines += f"torchrun --nnodes={nodes} --nproc_per_node=4 --master_addr=$MASTER_ADDR t.py"
    found = convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n"}), Options({}))
    assert loaded(found.job).get("env", {}).get("MASTER_ADDR") == kept
    said = [each.why for each in found.findings if each.what.startswith("MASTER_ADDR=")]
    assert any("finds itself" in each for each in said) is (nodes > 1 and address != "n1")
