"""What a command is, and what reaches it, where a script says it by its arguments, functions or a bare PATH."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 60\n"


def _of(lines: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize("words", ['$exe "$@"', "$exe $*", '"$@"', '$exe $more "$@"'])
def test_of_words_that_are_not_told_one_is_the_program(words: str) -> None:
    job, _ = _of(f"exe=$1; shift\nsrun --mpi=pmi2 --cpu-bind=none {words}")
    assert (job["mpi"], job["bind"]["cpus"], job["command"]) == ("pmi2", "none", script_cases.ASK)


@pytest.mark.parametrize("export", ["", "export "])
def test_a_new_path_reaches_the_ranks_whether_it_is_exported_again_or_not(export: str) -> None:
    job, _ = _of(f"d=/scratch/bin\n{export}PATH=$d:$PATH\nsrun --mpi=none solve in")
    assert job["command"] == 'export PATH=/scratch/bin:"$PATH"; exec solve in'


@pytest.mark.parametrize("text", ['"f; ./a $LR"', "'f; ./a 1'"])
def test_a_function_that_the_ranks_text_calls_stands_in_it_and_is_told_so(text: str) -> None:
    lines = f"f() {{\n  module load x\n  export H=1\n}}\nexport -f f\nsrun --mpi=none bash -c {text}"
    job, found = _of(lines)
    command = job["command"] if isinstance(job["command"], str) else job["command"][-1]
    assert "module load x" in command
    assert "export H=1" in command
    untrue = ("nothing that is launched uses it", "it is not part of what is launched")
    assert not [each for each in found.findings if each.why.startswith(untrue)]


def test_a_launcher_without_a_program_is_no_rival() -> None:
    _, found = _of("./a\n./b\npython -m torch.distributed.launch --nproc_per_node=8 \\")
    assert not found.refused
