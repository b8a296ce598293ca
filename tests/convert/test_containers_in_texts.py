"""Containers that the text of a run starts itself."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 60\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("apptainer run --nv -B /data t.sif python t.py $SLURM_PROCID", ["singularity run -B /data t.sif"]),
        ("cd /work && shifter --image=lab/t:1 ./t", ["shifter --image=lab/t:1"]),
        ("cd /work && ./t", []),
        ("echo apptainer run t.sif ./t", []),
    ],
)
def test_the_image_of_a_text_is_told(text: str, told: list[str]) -> None:
    found = convert(classified({"go.sh": f"{_HEAD}srun bash -c '{text}'\n"}), Options({})).findings
    its = [each for each in found if "starts the container" in each.why]
    assert [each.what for each in its] == told


def test_the_image_of_a_script_of_the_ranks_is_told() -> None:
    script = (
        "#!/bin/bash\nexport HCA=$SLURM_LOCALID\npodman-hpc run --rm --gpu -v $HOME/d:/data lab/t:2 ./t\n"
    )
    files = {"go.sh": f"{_HEAD}srun ./each.sh\n", "each.sh": script}
    found = convert(classified(files), Options({})).findings
    (told,) = (each for each in found if "starts the container" in each.why)
    assert told.what == "docker run -v ${HOME}/d:/data lab/t:2"
    assert str(told.places[0]) == "each.sh:3"
