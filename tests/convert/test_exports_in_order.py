"""What a rank does before its command is done in the order in which the script did it."""

import subprocess

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"


def converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            "export LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nmodule load cuda\n",
            'export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; module load cuda; exec ./t',
        ),
        (
            "module load gcc\nexport LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nmodule load cuda\n",
            'module load gcc; export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; module load cuda; exec ./t',
        ),
        (
            "export A=$X:/a\nmodule load gcc\nexport B=$X:/b\n",
            'export A="$X":/a; module load gcc; export B="$X":/b; exec ./t',
        ),
        (
            "module load gcc\nLD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH ",
            'module load gcc; export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; exec ./t',
        ),
    ],
)
def test_modules_and_exports_keep_their_order(lines: str, text: str) -> None:
    found = converted(f"{lines}srun --mpi=pmix ./t")
    assert loaded(found.job)["command"] == ["bash", "-lc", text]


def test_an_export_that_adds_to_a_variable_is_not_to_be_set_in_env() -> None:
    found = converted("export LD_LIBRARY_PATH=/lib:$LD_LIBRARY_PATH\nsrun --mpi=pmix ./t")
    (left,) = (each for each in found.findings if each.kind == "left")
    assert (left.what, [place.line for place in left.places]) == ("export LD_LIBRARY_PATH", [3])
    assert "env" not in left.todo


@pytest.mark.parametrize(
    "line",
    [
        "module load gcc; source /env/bin/activate; srun --mpi=pmix ./t; module purge",
        "module load gcc && . /env/bin/activate && srun --mpi=pmix ./t",
        "module load gcc; \\\n  source /env/bin/activate; srun --mpi=pmix \\\n  ./t",
    ],
)
def test_what_stands_in_front_of_the_run_in_its_line_is_done_before_it(line: str) -> None:
    shell, option, text = loaded(converted(line).job)["command"]
    assert (shell, option) == ("bash", "-lc")
    assert text.replace(" && ", "; ") == "module load gcc; source /env/bin/activate; exec ./t"


def test_a_limit_in_the_line_of_the_run_is_no_step() -> None:
    found = converted("ulimit -s unlimited; srun --mpi=pmix --container-image=a/b:1 ./t")
    (left,) = (each for each in found.findings if each.what == "ulimit -s unlimited")
    assert "handed this limit on" in left.why


@pytest.mark.parametrize("run", ["./run.sh input", "bash run.sh", "/opt/app input"])
def test_a_command_that_no_launcher_starts_gets_the_exports_of_its_script(run: str) -> None:
    lines = f"#SBATCH -N 1 --ntasks-per-node=1\nexport MODE=fast\nexport LIBS=/opt/lib:$LIBS\n{run}"
    found = converted(lines)
    job = loaded(found.job)
    assert job["env"] == {"MODE": "fast"}
    assert job["command"] == f'export LIBS=/opt/lib:"$LIBS"; exec {run}'


@pytest.mark.parametrize(
    ("run", "what", "why"),
    [
        ("torchrun --nproc_per_node=4 t.py", "a run without MPI", "find each other by MASTER_ADDR"),
        ("srun --immediate=60 ./t", "--immediate=60", "waits in the queue"),
        ("srun --reservation=mine ./t", "--reservation=mine", "takes no reservation of its own"),
    ],
)
def test_what_is_said_of_a_run_is_true_of_it(run: str, what: str, why: str) -> None:
    found = converted(f"#SBATCH -N 1\n{run}")
    assert [why in each.why for each in found.findings if each.what == what] == [True]


_SUBMITTER = {name: f"{name.lower()} was" for name in ("B", "ROOT", "LOGS", "STORE", "SCRATCH", "OUT")}
_SHOW = 'printf \'<%s>\' "$A" "$B" "$C" "$ROOT" "$LOGS" "$STORE" "$SCRATCH" "$OUT"'


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("LOGS=$OUT/$LOGS\nexport LOGS A=$LOGS", ""),
        ("export ROOT=/x:$ROOT\nexport A=$ROOT", ""),
        ("export ROOT=$ROOT/x\nexport B=$ROOT/lib", '"$ROOT/y" "$B"'),
        ("export A=$ROOT\nexport ROOT=/new/$ROOT\nexport B=$A", ""),
        ("export A=$B\nexport B=$A/x\nexport C=$B", '"$A" "$B" "$C"'),
        ("export A=$SCRATCH/d\nexport SCRATCH=/local/$OUT\nexport B=$SCRATCH/t", ""),
        ("export A=$STORE/d\nexport STORE=/local/store", '"$STORE"'),
        ("export STORE=/local/$OUT\nexport A=$STORE/d", '"$STORE/$OUT"'),
    ],
)
def test_a_variable_made_of_what_another_one_was_before_is_so_in_the_rank(lines: str, words: str) -> None:
    show = f"{_SHOW} {words}"
    given = {**_SUBMITTER, "PATH": "/usr/bin:/bin"}
    means = subprocess.run(["bash", "-c", f"{lines}\n{show}"], env=given, capture_output=True, check=True)
    job = loaded(converted(f"{lines}\nsrun --mpi=none ./show {words}").job)
    made = job["command"].replace("exec ./show", _SHOW)
    inherited = {name: given[name] for name in job.get("inherit", ())}
    environment = {**job.get("env", {}), **inherited, "PATH": given["PATH"]}
    others = {name: given[name] for name in _SUBMITTER if name not in lines}
    has = subprocess.run(["sh", "-c", made], env={**others, **environment}, capture_output=True, check=True)
    assert has.stdout == means.stdout


def test_a_value_that_no_name_has_any_more_is_asked_for() -> None:
    found = converted("A=$ROOT\nexport ROOT=$ROOT/x\nsrun --mpi=none ./t $A $ROOT")
    assert loaded(found.job)["command"] == ASK


@pytest.mark.parametrize(
    ("first", "is_asked"), [("S=$F\nF=x.py", True), ("F=x.py\nS=$F", False), ("S=$F", False)]
)
def test_a_word_that_is_made_before_its_variable_has_a_value_is_not_made_of_that(
    first: str, is_asked: bool
) -> None:
    command = loaded(converted(f"{first}\nsrun --mpi=pmix ./t $S").job)["command"]
    assert (command == ASK) is is_asked
    if not is_asked:
        assert command == (["./t", "x.py"] if "F=x.py" in first else "exec ./t $F")


def test_what_srun_itself_sets_is_not_asked_of_the_ranks_own_shell() -> None:
    run = "srun --mpi=none --container-image=a/b:1 --export=ALL,SEED=7,FOLD=3 bash -c './t $SEED $FOLD $MORE'"
    found = converted(f"FOLD=1\n{run}")
    assert loaded(found.job)["env"] == {"SEED": "7", "FOLD": "3"}
    assert [each.what for each in found.findings if "own shell" in each.what] == [
        "$MORE in the ranks' own shell"
    ]
