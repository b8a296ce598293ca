"""What a rank does before its command is done in the order in which the script did it."""

import pytest
from script_cases import loaded

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
