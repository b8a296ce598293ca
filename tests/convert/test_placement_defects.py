"""Ranks on CPUs and HCAs that the machine has not, and away from their GPU, whatever words bind them: those
of the launcher as it evaluates them, and of a script that each rank runs."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.topology import catalogue
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
_SRUN = "srun --mpi=none --ntasks-per-node=8 --container-image=a.io/b:1"
# Cores beside the GPUs of a DGX A100, and those of ranks 0 and 4 in each other's place.
_LOCAL = ["48-55", "56-63", "16-23", "24-31", "112-119", "120-127", "80-87", "88-95"]
_SWAPPED = [_LOCAL[4], *_LOCAL[1:4], _LOCAL[0], *_LOCAL[5:]]
_AWAY = "local ranks 0,4 of a dgx-a100 run away"
# Rank r on NUMA node r, whose GPUs are on 3, 3, 1, 1, 7, 7, 5 and 5; and ports for storage beside the others.
_EXCLUSIVE = ("local ranks 0-7 of a dgx-a100 run away", "mlx5_10, mlx5_11, mlx5_4, mlx5_5 of a dgx-a100")
_TABLE = "bind_cpu_cores=({})\n"


def _cases(lists: list[str], variable: str) -> str:
    lines = [f'{rank}) exec numactl --physcpubind={each} "$@";;\n' for rank, each in enumerate(lists)]
    return f"#!/bin/bash\ncase ${variable} in\n{''.join(lines)}esac\n"


def _case_in_text(lists: list[str]) -> str:
    rows = " ".join(f"{rank}) C={each};;" for rank, each in enumerate(lists))
    return f"case $SLURM_LOCALID in {rows} esac; exec taskset -c $C ./t"


def _converted(run: str, files: dict[str, str], machine: str = "dgx-a100") -> Conversion:
    given = {"run.sub": _HEAD + run} | files
    return convert(classified(given), Options({}, catalogue.load(machine).value))


def _whys(found: Conversion) -> list[str]:
    return [each.why for each in found.findings if each.kind == "defect"]


_BIND = "./bind.sh --cpu=exclusive --ib=single --"
_BY_TABLE = "./bind.sh --cpu=cores.sh --mem=off --"
# Each with files beside the launcher, and how the defects that there are begin, in their order.
FORMS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "as it stands": (f"{_SRUN} {_BIND} ./t\n", {}, _EXCLUSIVE),
    "an array of the launcher": (f'B=({_BIND})\n{_SRUN} "${{B[@]}}" ./t\n', {}, _EXCLUSIVE),
    "a variable": (f'B="{_BIND}"\n{_SRUN} $B ./t\n', {}, _EXCLUSIVE),
    "a function's words": (f'go() {{ {_SRUN} "$@"; }}\ngo {_BIND} ./t\n', {}, _EXCLUSIVE),
    "a text for a shell": (f"{_SRUN} bash -c '{_BIND} ./t'\n", {}, _EXCLUSIVE),
    "a case in a text for a shell": (
        f"{_SRUN} bash -c '{_case_in_text(_SWAPPED)}'\n",
        {},
        (_AWAY,),
    ),
    "a case in a text for a shell that is right": (
        f"{_SRUN} bash -c '{_case_in_text(_LOCAL)}'\n",
        {},
        (),
    ),
    "a sum in a text for a shell": (
        f"{_SRUN} sh -c 'numactl --physcpubind=$((SLURM_LOCALID * 16)) ./t'\n",
        {},
        ("local ranks 0-7 of a dgx-a100 run away",),
    ),
    "a script that the launcher writes": (
        f"cat > bind_it.sh <<'E'\n{_cases(_SWAPPED, 'SLURM_LOCALID')}E\n{_SRUN} ./bind_it.sh ./t\n",
        {},
        (_AWAY,),
    ),
    "a script that it writes for nobody": (
        f"cat > bind_it.sh <<'E'\n{_cases(_SWAPPED, 'SLURM_LOCALID')}E\n{_SRUN} ./t\n",
        {},
        (),
    ),
    "a script of the ranks": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": f"#!/bin/bash\n{_BIND} python t.py\n"},
        _EXCLUSIVE,
    ),
    "an array there": (
        f"{_SRUN} ./r.sh\n",
        {
            "r.sh": '#!/bin/bash\ndeclare -a CMD\nif [ -n "${SLURM_LOCALID-}" ]; then\n'
            "  CMD=( './bind.sh' '--cpu=exclusive' '--ib=single' '--' python )\nelse\n  CMD=( python )\nfi\n"
            '"${CMD[@]}" train.py\n'
        },
        _EXCLUSIVE,
    ),
    "more ranks than nodes": (
        f"{_SRUN} ./r.sh\n",
        {
            "r.sh": "#!/bin/bash\nB=''\n"
            f'if [[ $SLURM_NTASKS -gt $SLURM_JOB_NUM_NODES ]]; then B="{_BIND}"; fi\n$B python t.py\n'
        },
        _EXCLUSIVE,
    ),
    "what the launcher exports": (
        f'export B="{_BIND}"\n{_SRUN} ./r.sh\n',
        {"r.sh": "#!/bin/bash\n$B python t.py\n"},
        _EXCLUSIVE,
    ),
    "no branch that is taken": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": f"#!/bin/bash\nif [ 1 = 2 ]; then {_BIND} python t.py; else python t.py; fi\n"},
        (),
    ),
    "a list": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": "#!/bin/bash\nnumactl -C 300-310 python t.py\n"},
        ("a dgx-a100 has no CPU 300-310",),
    ),
    "another mask": (f"{_SRUN} taskset 0xff0000 ./t\n", {}, ("local ranks 0-1,4-7 of a dgx-a100 run away",)),
    "a mask": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": f"#!/bin/bash\ntaskset 0x1{'0' * 64} ./t\n"},
        ("a dgx-a100 has no CPU 256",),
    ),
    "a case": (f"{_SRUN} ./r.sh ./t\n", {"r.sh": _cases(_SWAPPED, "SLURM_LOCALID")}, (_AWAY,)),
    "a case beside the GPUs": (f"{_SRUN} ./r.sh ./t\n", {"r.sh": _cases(_LOCAL, "SLURM_LOCALID")}, ()),
    "arithmetic": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": "#!/bin/bash\nnumactl -C $((SLURM_LOCALID*64))-$((SLURM_LOCALID*64+7)) ./t\n"},
        ("a dgx-a100 has no CPU 256-263,320-327,384-391,448-455",),
    ),
    "as many ranks as there are": (
        f"{_SRUN.replace('=8', '=4', 1)} ./r.sh\n",
        {"r.sh": "#!/bin/bash\nnumactl -C $((SLURM_LOCALID*64))-$((SLURM_LOCALID*64+7)) ./t\n"},
        (),
    ),
    "the same list for all": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": "#!/bin/bash\nexec numactl --physcpubind=48-63 ./t\n"},
        ("local ranks 2-7 of a dgx-a100 run away",),
    ),
    "a table": (f"{_SRUN} {_BY_TABLE} ./t\n", {"cores.sh": _TABLE.format(" ".join(_SWAPPED))}, (_AWAY,)),
    "a table beside the GPUs": (
        f"{_SRUN} {_BY_TABLE} ./t\n",
        {"cores.sh": _TABLE.format(" ".join(_LOCAL))},
        (),
    ),
    "a table that a script of the ranks names": (
        f"{_SRUN} ./r.sh\n",
        {"r.sh": f"#!/bin/bash\n{_BY_TABLE} ./t\n", "cores.sh": _TABLE.format(" ".join(_SWAPPED))},
        (_AWAY,),
    ),
    "a table of nobody": (f"{_SRUN} ./t\n", {"cores.sh": _TABLE.format(" ".join(_SWAPPED))}, ()),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_binds_is_held_against_the_machine_however_it_is_written(name: str) -> None:
    run, files, begins = FORMS[name]
    whys = _whys(_converted(run, files))
    assert len(whys) == len(begins)
    assert all(why.startswith(begin) for why, begin in zip(whys, begins, strict=True)), whys


def test_a_table_that_only_a_script_of_the_ranks_names_is_used() -> None:
    run, files, _ = FORMS["a table that a script of the ranks names"]
    of_table = [
        each for each in _converted(run, files).findings if any(p.file == "cores.sh" for p in each.places)
    ]
    assert {each.kind for each in of_table} == {"left", "defect"}
    of_nobody = _converted(*FORMS["a table of nobody"][:2]).findings
    assert {each.kind for each in of_nobody if each.places[0].file == "cores.sh"} == {"unread"}


def test_a_script_in_front_of_the_command_binds_as_its_ranks_of_mpirun_do() -> None:
    run = "mpirun -np 16 ./ompi_bind_x.sh ./t\n"
    files = {"ompi_bind_x.sh": _cases(_SWAPPED, "OMPI_COMM_WORLD_LOCAL_RANK")}
    assert any(why.startswith(_AWAY) for why in _whys(_converted(run, files)))


@pytest.mark.parametrize(
    ("before", "option", "is_asked"),
    [
        ("export DGXSYSTEM=DGXA100", "", True),
        ("", "--cpu-bind=map_cpu:0,8,16,24", True),
        ("", "--cpu-bind=none", False),
        ("", "", False),
    ],
)
def test_the_machine_is_asked_for_where_a_label_or_lists_of_cores_hang_on_it(
    before: str, option: str, is_asked: bool
) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
    text = f"{head}{before}\nsrun --mpi=none {option} ./t\n"
    for machine in (None, catalogue.load("dgx-a100").value):
        found = convert(classified({"run.sub": text}), Options({}, machine))
        asked = [each for each in found.findings if "--node-type" in each.todo]
        assert len(asked) == int(is_asked and machine is None)
        assert "DGX" not in found.job.replace("DGXSYSTEM: DGXA100", "")
