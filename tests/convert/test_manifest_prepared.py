"""What a pod's text makes of its shell before the launcher: the ranks have it."""

import pytest
from manifest_cases import job, of_shell

from hpclaunch.convert.draft import Draft

_RUNS = {
    "mpirun -np 4 ./t 'b c'": "exec ./t 'b c'",
    "torchrun --nproc_per_node 4 t.py": "exec python -u t.py",
}


def _converted(text: str) -> Draft:
    return of_shell(text, 4)


@pytest.mark.parametrize("run", _RUNS)
@pytest.mark.parametrize(
    "lines",
    [
        ["source /opt/env.sh"],
        [". /opt/env.sh", "module load mpi"],
        ['eval "$(conda shell.bash hook)"', "conda activate x"],
    ],
)
def test_each_rank_does_it_first(lines: list[str], run: str) -> None:
    found = job(_converted("\n".join([*lines, run])))
    assert found["command"][0] == ["bash", "-c", "; ".join([*lines, _RUNS[run]])]
    assert "setup" not in found


@pytest.mark.parametrize(
    ("lines", "setup"),
    [
        ("pip install x", "pip install x"),  # a file for all of them, once
        ("conda install x", "conda install x"),
    ],
)
def test_what_changes_files_is_a_step(lines: str, setup: str) -> None:
    draft = _converted(f"{lines}\nmpirun -np 4 ./t")
    assert job(draft)["command"][0] == ["./t"]
    assert [fact.value["run"] for key, fact in draft.facts.items() if key[0] == "setup"] == [setup]


def test_a_file_of_another_folder_is_left() -> None:
    draft = _converted("source env.sh\ncd /w\nmpirun -np 4 ./t")
    assert job(draft)["command"][0] == ["./t"]
    assert [each.kind for each in draft.findings if each.what == "source env.sh"] == ["left"]


@pytest.mark.parametrize(
    "text", ["export WORLD_SIZE=1 RANK=0", "export RANK=$(hostname)", "export MASTER_ADDR=x"]
)
def test_what_each_rank_is_given_is_no_variable_of_the_job(text: str) -> None:
    draft = _converted(f"{text}\ntorchrun --nproc_per_node 4 t.py")
    assert not [key for key in draft.facts if key[0] == "env" and key[1] != "OMP_NUM_THREADS"]
    kinds = {each.kind for each in draft.findings if each.what.startswith("export ")}
    assert kinds == {"replaced"}


@pytest.mark.parametrize(
    ("behind", "said"), [("> a.log 2>&1", "> a.log"), ("&>> b.log", "> b.log"), ("2>/dev/null", "")]
)
@pytest.mark.parametrize("run", _RUNS)
def test_a_file_that_kept_the_launchers_output_is_said(behind: str, said: str, run: str) -> None:
    draft = _converted(f"{run} {behind}")
    its = [each.what for each in draft.findings if each.what.startswith("> ")]
    assert its == [said] * bool(said)
