"""A file that the script writes with echo, printf and cat, and that the run's command names, is written by a
step; any other that it writes is told."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"


def _converted(lines: str, run: str = "srun --mpi=none ./t --config f.json") -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n{run}\n"}), Options({}))


def _setup(lines: str, run: str = "srun --mpi=none ./t --config f.json") -> list[dict[str, Any]]:
    setup: list[dict[str, Any]] = loaded(_converted(lines, run).job).get("setup", [])
    return setup


@pytest.mark.parametrize(
    "lines",
    [
        "echo '{\"a\": 1}' > f.json",
        "{ echo '{'; echo '\"a\": 1'; echo '}'; } > f.json",
        "{\n  echo -n a\n  printf '%s\\n' b 'c d'\n} > f.json",
        "( echo a; echo 'it'\\''s' ) > ./f.json",
        "for i in 1 2; do echo $i; done > f.json",
        "echo a > f.json\necho b >> f.json",
        "{ echo a; cat <<EOF\nb\nEOF\n} > f.json",
        "cat > f.json <<EOF\n{}\nEOF",
        'N=3; echo "n = $N\\tx" > f.json',
    ],
)
def test_a_step_writes_what_the_script_writes_into_the_file(lines: str, tmp_path: Path) -> None:
    texts = []
    setup = "\n".join(f"sh -c {_quoted(each['run'])}" for each in _setup(lines))
    for number, text in enumerate((lines, setup)):
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run(["bash", "-c", text], cwd=folder, check=True, env={"PATH": os.environ["PATH"]})
        texts.append((folder / "f.json").read_text())
    assert texts[0] == texts[1]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.mark.parametrize(
    ("run", "path"),
    [
        ("srun --mpi=none ./t --config=f.json", "f.json"),
        ("srun --mpi=none bash -c './t --config f.json'", "f.json"),
        ("srun --mpi=none --container-image=a/b:c ./t -c /w/f.json", "/w/f.json"),
        ("cd /w\nsrun --mpi=none ./t -c f.json", "/w/f.json"),
    ],
)
def test_the_run_names_the_file_in_any_word_and_from_any_folder(run: str, path: str) -> None:
    (step,) = _setup(f"echo x > {path}", run)
    assert step["run"] == f"printf %s 'x\n' > {path}"


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("{ echo a; date; } > f.json", 3),
        ("{ echo a; echo b; } > other.json", 3),
        ("{ date; hostname; } > info.txt", 3),
        ("{\n  date\n} > info.txt", 4),
        ("if [ -f x ]; then echo a > f.json; fi", 3),
        ("echo a >> f.json", 3),
    ],
)
def test_a_file_that_no_step_writes_is_told(lines: str, line: int) -> None:
    found = _converted(lines)
    assert "setup" not in loaded(found.job)
    left = [each for each in found.findings if each.kind == "left"]
    assert [each.places[0].line for each in left] == [line]
    assert "file" in left[0].why or "depends" in left[0].why


def test_a_group_whose_output_is_the_log_of_the_run_is_none() -> None:
    found = _converted("", "{\n  echo start\n  srun --mpi=none ./t\n} > log.txt")
    assert not [each for each in found.findings if each.kind == "left"]
