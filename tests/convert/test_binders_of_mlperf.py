"""bindpcie, which came in the place of MLPerf's bind.sh: in the command, and in a script of the ranks."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.topology import catalogue
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"
_TABLE = "bind_cpu_cores=([0]=48 [1]=49 [2]=16 [3]=17)\nbind_mem=([0]=3 [1]=3 [2]=1 [3]=1)\n"
_OF_EACH_RANK = """#!/bin/bash
declare -a CMD
if [[ -n "${{SLURM_LOCALID-}}" ]] && [[ "${{SLURM_NTASKS}}" -gt "${{SLURM_JOB_NUM_NODES}}" ]]; then
  CMD=( {words} '--' 'python' '-u' )
else
  CMD=( 'python' '-u' )
fi
${{CMD[@]}} train.py
"""


def _converted(command: str, machine: str = "", **files: str) -> Conversion:
    given = {"run.sub": f"{_HEAD}srun --mpi=none {command}\n"}
    given |= {f"{name}.sh": text for name, text in files.items()}
    return convert(classified(given), Options({}, catalogue.load(machine).value) if machine else Options({}))


def _job(found: Conversion) -> dict[str, Any]:
    return loaded(found.job)


@pytest.mark.parametrize(
    ("words", "bind"),
    [
        ("--cpu=exclusive --ib=single", {"cpus": "local", "memory": "local"}),
        ("--cpu off --mem off", {"cpus": "none", "memory": "none"}),
        ("--cpu=/w/cores.sh --mem=/w/cores.sh", {"cpus": ["48", "49", "16", "17"], "memory": list("3311")}),
    ],
)
def test_what_it_says_in_front_of_the_command_is_the_jobs(words: str, bind: dict[str, object]) -> None:
    found = _job(_converted(f"/opt/bindpcie {words} -- python train.py", cores=_TABLE))
    assert found["bind"] == bind
    assert found["command"] == ["python", "train.py"]


@pytest.mark.parametrize("program", ["bindpcie", "/workspace/t/bindpcie"])
def test_a_script_that_each_rank_runs_binds_by_it(program: str) -> None:
    words = f"'{program}' '--cpu=/w/cores.sh' '--mem=/w/cores.sh'"
    found = _converted("./rank.sh", rank=_OF_EACH_RANK.format(words=words), cores=_TABLE)
    assert _job(found)["bind"] == {"cpus": "none", "memory": "none"}
    (said,) = (each for each in found.findings if each.kind == "left" and "bindpcie" in each.what)
    assert {place.file for place in said.places} == {"rank.sh", "cores.sh"}
    assert not [each for each in found.findings if each.what == "lists of cores and memory for ranks"]


@pytest.mark.parametrize(("program", "defects"), [("bind.sh", 1), ("bindpcie", 0)])
def test_cores_of_equal_parts_are_those_of_bind_sh_alone(program: str, defects: int) -> None:
    rank = f"#!/bin/bash\n{program} --cpu=exclusive -- python train.py\n"
    found = _converted("./rank.sh", "dgx-a100", rank=rank)
    assert len([each for each in found.findings if each.kind == "defect"]) == defects


def test_its_lists_are_held_against_the_machine() -> None:
    found = _converted(
        "bindpcie --cpu=cores.sh -- python t.py", "dgx-a100", cores=_TABLE.replace("17", "400")
    )
    (defect,) = (each for each in found.findings if each.kind == "defect")
    assert defect.why.startswith("a dgx-a100 has no CPU 400")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("${LOGGER:-} ${LAB_BIND} python train.py", True),
        ("$LAB_BIND ./t", True),
        (': "${LAB_BIND:=}"\n$LAB_BIND ./t', True),
        (': "${LAB_BIND:=nice}"\n$LAB_BIND ./t', False),
        ("LAB_BIND=nice\n$LAB_BIND ./t", False),
        ('echo "bound by $LAB_BIND here"\n./t', False),
        ("./t $LAB_BIND x", False),
    ],
)
def test_what_a_variable_may_bind_that_nobody_gave_is_said(lines: str, said: bool) -> None:
    script = f"#!/bin/bash\nset -x\n{lines}\n"
    found = _converted("./each.sh", each=script)
    its = [each for each in found.findings if each.what == "LAB_BIND" and "may bind" in each.why]
    assert bool(its) == said
    given = {"run.sub": f"{_HEAD}srun --mpi=none ./each.sh\n", "each.sh": script}
    bound = convert(classified(given), Options({"LAB_BIND": "numactl --cpunodebind=1"}))
    assert not said or _job(bound)["bind"] == {"cpus": "none", "memory": "none"}


@pytest.mark.parametrize(
    ("between", "binds"),
    [
        ("", False),
        ("# ${CMD[@]} once\n", False),
        ("${CMD[@]} warm_up.py\n", True),
        ("if [ -e /tmp/x ]; then\n", True),
    ],
)
def test_a_value_that_is_replaced_before_it_is_used_binds_nobody(between: str, binds: bool) -> None:
    closing = "fi\n" if between.startswith("if ") else ""
    script = f"#!/bin/bash\nif [ -z \"$X\" ]; then\n  CMD=( './bind.sh' '--' 'python' )\nfi\n{between}"
    script += f'CMD=(" python -m launch --n=8 ")\n{closing}FULL="${{CMD}} train.py"\n${{FULL}}\n'
    found = _converted("./rank.sh", rank=script)
    assert (_job(found).get("bind") == {"cpus": "none", "memory": "none"}) is binds


@pytest.mark.parametrize(("per_node", "ranks"), [(8, "0-7 of"), (4, "0-3 of"), (2, "0-1 of"), (1, "0 of")])
def test_only_ranks_that_there_are_run_away_from_their_gpus(per_node: int, ranks: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node={per_node} --gpus-per-node={per_node} -t 60\n"
    given = {"run.sub": f"{text}srun --mpi=none ./bind.sh --cpu=node -- python t.py\n"}
    found = convert(classified(given), Options({}, catalogue.load("dgx-a100").value))
    (said,) = (each.why for each in found.findings if "away from their GPU" in each.why)
    assert ranks in said
