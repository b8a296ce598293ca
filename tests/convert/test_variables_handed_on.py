"""What docker hands on by -e, and srun: what becomes of it, by whose it is and where its value is known."""

from typing import Any

import pytest
import script_cases
from script_cases import loaded

from hpclaunch.convert import conversion
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_WHOLE = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"

SETTINGS = {
    "config_TWO_x.sh": (
        "export SYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\\.sh$//')\n"
    )
}


@pytest.mark.parametrize(
    ("before", "option", "kinds", "env"),
    [
        ("", "A=1", ["carried"], {"A": "1"}),
        ("export A=1", "A", ["carried"], {"A": "1"}),
        ("A=1", "A", ["left"], {}),  # assigned and not exported: docker's client has no value for it
        ("", "A=$(date)", ["left"], {}),
        ("", "A=x$OTHER", ["question"], {"A": script_cases.ASK}),
        ("", "HOME", ["left"], {}),
        ("", "TEAM_API_KEY=hunter2", ["carried"], {}),
        ("", "CUDA_VISIBLE_DEVICES=0", ["replaced"], {}),
        ("", "OMPI_COMM_WORLD_RANK=0", ["left"], {}),
        ("", "SLURM_NTASKS_PER_NODE", ["question"], {"SLURM_NTASKS_PER_NODE": script_cases.ASK}),
        ("", "RANK=$SLURM_PROCID", ["carried"], {}),
        ("", "WORLD_SIZE=16", ["carried", "left"], {}),  # it counts ranks of another launch than the job's
        ("", "MASTER_IP=$(hostname -i)", ["left"], {}),
        ("source config_TWO_x.sh", "SYSTEM=$SYSTEM", ["carried"], {"SYSTEM": "TWO_x"}),
    ],
)
def test_what_docker_hands_on_is_told_by_whose_it_is(
    before: str, option: str, kinds: list[str], env: dict[str, str]
) -> None:
    text = "#!/bin/bash\n#SBATCH -N2 --gpus-per-node=8 -t 5\n" + before
    run = f"srun -N2 --ntasks-per-node=1 docker run --gpus all -e {option} a/b:1 ./t"
    found = conversion.convert(classified({"run.sub": f"{text}\n{run}\n", **SETTINGS}), Options({}))
    name = option.partition("=")[0]
    told = [each.kind for each in found.findings if each.what == f"docker run -e {name}"]
    assert sorted(told) == kinds
    assert "hunter2" not in found.job + repr(found.findings)
    job = script_cases.loaded(found.job)
    assert job.get("env", {}) == env
    assert (name in job.get("secrets", [])) == (name == "TEAM_API_KEY")
    assert ("rendezvous" in job) == (name in ("RANK", "WORLD_SIZE"))


def _of_srun(lines: str, words: str = "./t") -> conversion.Conversion:
    text = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=8 --gpus-per-node=8 -t 5\n" + lines
    run = f"srun --mpi=pmix --container-image=a/b:1 {words}\n"
    return conversion.convert(classified({"run.sub": text + run}), Options({}))


def test_a_name_that_begins_as_slurms_and_is_none_of_them_is_the_scripts_own() -> None:
    found = _of_srun("export SLURM_ONE_START_PER_NODE=1 SLURM_KILL_BAD_EXIT=1\n")
    assert 'SLURM_ONE_START_PER_NODE: "1"' in found.job
    assert "SLURM_KILL_BAD_EXIT" not in found.job


@pytest.mark.parametrize(
    "first",
    [
        "$SLURMD_NODENAME",
        "$HOSTNAME",
        "$(hostname)",
        "$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)",
    ],
)
def test_the_scripts_own_node_is_the_first_one_in_each_rank(first: str) -> None:
    found = _of_srun(f"export SLURM_MAIN_NODE={first}\n", f'./t --main="{first}:29"')
    assert 'export SLURM_MAIN_NODE="$MASTER_ADDR"; exec ./t --main="$MASTER_ADDR":29' in found.job
    assert "rendezvous: torch" in found.job
    assert "inherit" not in found.job


def test_what_a_command_exports_is_told_also_where_the_command_is_asked_for() -> None:
    beside = "srun --container-image=a/b:1 -N1 -w $MAIN serve &\n"
    found = _of_srun("export MAIN=$(hostname)\nexport END=$MAIN:2379\n" + beside)
    left = {each.what: each.todo for each in found.findings if each.kind == "left"}
    assert "export END=$(hostname):2379" in left["END"]


@pytest.mark.parametrize(
    "lines",
    [
        "export MASTER_ADDR=$(hostname)\nsrun --mpi=none --export=ALL,MASTER_ADDR,RANK,MORE python t.py",
        "mkdir -p /x/$MASTER_ADDR/$MORE\nsrun --mpi=none python t.py --first $MASTER_ADDR $MORE",
        "mkdir -p /x/$MASTER_ADDR/$MORE\nsrun --mpi=none bash -c 'python t.py $MASTER_ADDR $MORE'",
    ],
)
def test_what_rendezvous_sets_in_each_rank_is_not_inherited(lines: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
    found = conversion.convert(classified({"run.sub": f"{head}{lines}\n"}), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["rendezvous"], job["inherit"]) == ("torch", ["MORE"])
    assert [each.became for each in found.findings if each.key == "inherit.0"] == ["inherit.0: MORE"]


@pytest.mark.parametrize(("line", "kind"), [("", "without effect"), ("\necho $CONT", "replaced")])
def test_a_variable_of_the_launcher_that_no_line_names_has_no_effect(line: str, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 -t 5{line}\nsrun --mpi=none ./t\n"
    found = conversion.convert(classified({"run.sub": text}), Options({"CONT": "a/b:1"}))
    assert [each.kind for each in found.findings if each.what == "CONT=a/b:1"] == [kind]


def test_an_address_that_the_ranks_own_shell_names_is_that_of_rendezvous() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
    text = f"{head}srun --mpi=none bash -c '{{}}RANK=$SLURM_PROCID python t.py $MASTER_ADDR'\n"
    job = script_cases.loaded(conversion.convert(classified({"run.sub": text.format("")}), Options({})).job)
    assert job["rendezvous"] == "torch"
    own = script_cases.loaded(
        conversion.convert(classified({"run.sub": text.format("MASTER_ADDR=n1; ")}), Options({})).job
    )
    assert "rendezvous" not in own


def test_what_is_made_of_a_variable_that_is_not_told_is_left_and_no_question_about_its_text() -> None:
    lines = (
        "N=($(scontrol show hostnames))\n"
        'if [ -n "$X" ]; then K=A; else K=$X; fi\n'
        "export FIRST=${N[@]:0:1} L=${K,,}\n"
    )
    found = _of_srun(lines + "./serve &\nexport P=$!\n")
    left = {each.what.partition("=")[0] for each in found.findings if each.kind == "left"}
    assert {"FIRST", "P"} <= left
    assert not [
        each.key for each in found.findings if each.kind == "question" and each.key in ("env.P", "env.FIRST")
    ]


@pytest.mark.parametrize(("name", "asked"), [("SLURM_MAIN_NODE", True), ("MASTER_ADDR", False)])
def test_that_a_variable_names_the_first_node_does_not_tell_that_ranks_use_no_mpi(
    name: str, asked: bool
) -> None:
    text = (
        f"#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=8 --gpus-per-node=8 -t 5\nexport {name}=$(hostname)\n"
        "srun --container-image=a/b:1 ./t\n"
    )
    found = conversion.convert(classified({"run.sub": text}), Options({}))
    assert ("mpi" in script_cases.loaded(found.job)) == asked
    assert "rendezvous: torch" in found.job


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


def test_all_that_a_configuration_exports_is_handed_on_however_its_names_become_options() -> None:
    asks = "mapfile -t E < <(env -i bash -c '. config.sh && compgen -e' | grep -E -v '^(PWD|SHLVL)')"
    keep = "srun -N 2 -n 2 docker run -d --rm --name c r.io/x:1 sleep infinity"
    run = 'docker exec "${E[@]/#/--env=}" c mpirun -np 16 -H a:8,b:8 ./t'
    files = {
        "run.sub": f"#!/bin/bash\n#SBATCH -N 2 -t 10\nsource config.sh\n{asks}\n{keep}\n{run}\n",
        "config.sh": "export LR=1 BS=2\n",
    }
    found = convert(classified(files), Options({}))
    assert loaded(found.job)["env"] == {"LR": "1", "BS": "2"}
    assert not [each for each in found.findings if "never reached" in each.why]


def test_what_a_script_makes_and_exports_without_a_known_run_is_left() -> None:
    _, found = _of_run(f"{_WHOLE}export A=$(./made) B=1\n$RUN\n")
    assert any(each.kind == "left" and each.what.startswith("A") for each in found.findings)


@pytest.mark.parametrize(
    ("lines", "reaches"),
    [
        ("#SBATCH --export=NONE\nexport A=1\nsrun --mpi=none ./t", False),
        ("#SBATCH --export=NONE\nunset SLURM_EXPORT_ENV\nexport A=1\nsrun --mpi=none ./t", True),
        ("#SBATCH --export=NONE\nexport A=1\nsrun --mpi=none ./t\nunset SLURM_EXPORT_ENV", False),
        ("#SBATCH --export=NONE\nunset SLURM_EXPORT_ENV\nexport A=1\nsrun --mpi=none --export=B ./t", False),
    ],
)
def test_an_export_of_sbatch_that_the_script_takes_away_keeps_nothing_back(lines: str, reaches: bool) -> None:
    job, found = _of_run(f"{_WHOLE}{lines}\n")
    assert ("A" in job.get("env", {})) == reaches
    said = [each for each in found.findings if "whatever sbatch's --export says" in each.why]
    assert bool(said) == reaches


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("option", ["NONE", "LICENCE_SERVER"])
@pytest.mark.parametrize(
    ("run", "by_shell"),
    [
        ("python cast.py", True),
        ("torchrun --nproc_per_node=4 cast.py", True),
        ("accelerate launch --num_processes 4 cast.py", True),
        ("singularity exec mould.sif python cast.py", True),
        ("mpirun -np 4 ./cast", None),
        ("ibrun ./cast", False),
        ("srun --mpi=none ./cast", False),
        ("bash -c 'srun --mpi=none ./cast'", False),
        ("srun torchrun --nproc_per_node=4 cast.py", False),
        ("LAUNCH='srun --mpi=none'\n$LAUNCH ./cast", False),
    ],
)
def test_an_export_of_sbatch_keeps_nothing_from_what_no_srun_starts(
    run: str, by_shell: bool | None, option: str, nodes: int
) -> None:
    asks = f"#SBATCH -N {nodes} --gpus-per-node=4 -t 10\n#SBATCH --export={option}\n"
    text = f"#!/bin/bash\n{asks}export MOULD_TEMPERATURE=640\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    reaches = nodes == 1 if by_shell is None else by_shell
    kept = [each.what for each in found.findings if "keeps it from the ranks" in each.why]
    assert kept == ([] if reaches else ["MOULD_TEMPERATURE"])
    carried = [each.what for each in found.findings if each.kind == "carried"]
    assert ("MOULD_TEMPERATURE" in carried) == reaches
    assert ("LICENCE_SERVER" in str(found.findings)) == (option != "NONE")


@pytest.mark.parametrize(("run", "loads"), [("python cast.py", True), ("srun --mpi=none ./cast", False)])
def test_what_prepares_the_shell_that_starts_the_run_is_not_kept_back(run: str, loads: bool) -> None:
    job, _ = _of_run(f"{_WHOLE}#SBATCH --export=NONE\nmodule load furnace/7\n{run}\n")
    assert ("module load furnace/7" in str(job["command"])) == loads


@pytest.mark.parametrize(
    ("run", "value", "why"),
    [
        ("python cast.py", "2", "what the script's shell starts has that value, not this one"),
        ("srun --mpi=none ./cast", "1", ""),
    ],
)
def test_a_value_of_sbatchs_export_that_the_script_exports_anew(run: str, value: str, why: str) -> None:
    job, found = _of_run(f"{_WHOLE}#SBATCH --export=MOULD=1\nexport MOULD=2\n{run}\n")
    assert job["env"] == {"MOULD": value}
    assert any(why in each.why for each in found.findings if each.kind == "defect") or not why


@pytest.mark.parametrize(
    ("run", "env", "inherit", "left"),
    [
        ("mpiexec.hydra -genvlist A,B", {"A": "1"}, ["B"], []),
        ("mpiexec.hydra -envlist=B,C", {"A": "1"}, ["B", "C"], []),
        ("mpiexec.hydra -genvlist $LIST", {"A": "1"}, [], ["mpiexec.hydra -genvlist ${LIST}"]),
        ("mpirun -x A -x $NAME", {"A": "1"}, [], ["mpirun -x ${NAME}"]),
        ('mpirun -x "$NAME=hunter2"', {"A": "1"}, [], ["mpirun -x ${NAME}"]),
        ("mpirun -x A.B=2 -x C,D", {"A": "1"}, [], ["mpirun -x A.B", "mpirun -x C,D"]),
        ('mpirun -x "$EMPTY"', {"A": "1"}, [], []),
    ],
)
def test_each_variable_that_mpirun_names_is_handed_on_or_said(
    run: str, env: dict[str, str], inherit: list[str], left: list[str]
) -> None:
    found = convert(classified({"run.sub": f"{_WHOLE}EMPTY=\nexport A=1\n{run} -np 16 ./t\n"}), Options({}))
    job = loaded(found.job)
    assert (job["env"], job.get("inherit", [])) == (env, inherit)
    names = ("mpirun -x", "mpiexec.hydra -genvlist")
    assert [
        each.what for each in found.findings if each.kind == "left" and each.what.startswith(names)
    ] == left
    assert "hunter2" not in repr(found.findings)


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ("-genvlist A", "-genvlist A: B"),
        ("-genvnone -genv A 1", "-genvnone: B"),
        ("-genvall", ""),
        ("-genv A 1", ""),
        ("-genvlist A,B", ""),
    ],
)
def test_what_hydra_does_not_hand_on_is_said(options: str, others: str) -> None:
    text = f"{_WHOLE}export A=1 B=2\nmpiexec.hydra {options} -np 16 ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert loaded(found.job)["env"] == {"A": "1", "B": "2"}
    said = [each.what for each in found.findings if "hands on what its options name alone" in each.why]
    assert said == [others] * bool(others)


@pytest.mark.parametrize(
    ("library", "by_name"),
    [("export I_MPI_DEBUG=5", False), ("module load intel/mpi", False), ("module load openmpi", True)],
)
@pytest.mark.parametrize("system", ["#PBS -l nodes=2:ppn=8\n", ""])
def test_the_mpirun_of_intel_mpi_hands_on_all_that_is_exported(
    system: str, library: str, by_name: bool
) -> None:
    text = f"#!/bin/bash\n{system}{library}\nexport MODE=x\nmpirun -np 16 -host a,b ./t\n"
    found = convert(classified({"job.sh": text}), Options({}))
    assert any("what -x names alone" in each.why for each in found.findings) == by_name
