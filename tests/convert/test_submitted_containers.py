"""Containers of Singularity: in scripts that are submitted in other ones too, and of images of all kinds."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_WHOLE = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 60\n"
_RUN = "srun apptainer exec --nv -B /data train.sif ./t\n"


@pytest.mark.parametrize(
    "script",
    [
        f"#!/bin/bash\nsbatch <<EOF\n{_HEAD}{_RUN}EOF\n",
        f"#!/bin/bash\nsbatch -N 2 --gpus-per-node=4 -t 60 --wrap '{_RUN}'\n",
        f"#!/bin/bash\ncat > job.sh <<EOF\n{_HEAD}{_RUN}EOF\nsbatch job.sh\n",
        f"{_HEAD}{_RUN}",
    ],
)
def test_a_script_in_another_one_is_refused_where_it_would_be_by_itself(script: str) -> None:
    found = convert(classified({"go.sh": script}), Options({}))
    assert not found.job
    assert found.refused.startswith("containers of Singularity")
    told = {each.key: each.became for each in found.findings if each.kind == "carried"}
    assert (told["nodes"], told["gpus_per_node"]) == ("nodes: 2", "gpus_per_node: 4")
    assert told["mounts.0"] == "mounts.0: /data:/data"
    assert any(each.what == "the image train.sif" for each in found.findings)


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("train.sif", ["the image train.sif"]),
        ("train.box", ["the image train.box"]),
        ("box/", ["the image box/"]),
        ("docker://lab/train:1", ["image: lab/train:1"]),
    ],
)
@pytest.mark.parametrize("starter", ["srun", "mpirun -np 8"])
def test_an_image_without_an_address_is_a_file(image: str, told: list[str], starter: str) -> None:
    run = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4\n{starter} singularity exec {image} ./t\n"
    found = convert(classified({"go.sh": run}), Options({})).findings
    assert [each.became or each.what for each in found if "image" in f"{each.key} {each.what}"] == told


def test_another_home_is_told() -> None:
    run = "#!/bin/bash\n#SBATCH -N 2\nsrun singularity exec --home /scratch/me:/home/me train.sif ./t\n"
    (home,) = (
        each for each in convert(classified({"go.sh": run}), Options({})).findings if "--home" in each.what
    )
    assert (home.kind, home.todo.split(",")[0]) == ("left", "write it under mounts")


@pytest.mark.parametrize(("words", "kind"), [("python t.py", "assumed"), ("--epochs 5 data.yaml", "left")])
def test_words_for_an_images_own_script_may_be_no_command(words: str, kind: str) -> None:
    run = f"#!/bin/bash\n#SBATCH -N 2\nsrun apptainer run --nv train.sif {words}\n"
    found = convert(classified({"go.sh": run}), Options({})).findings
    (told,) = (each for each in found if each.what == f"singularity run: {words}")
    assert told.kind == kind
    assert any(each.key == "command" for each in found) == (kind == "assumed")


@pytest.mark.parametrize("option", ["", "--workdir=/w "])
def test_the_folder_to_which_shifter_goes_is_told(option: str) -> None:
    run = f"#!/bin/bash\n#SBATCH -N 2 --image=docker:lab/t:1\nsrun shifter {option}./t\n"
    found = convert(classified({"go.sh": run}), Options({})).findings
    assert any("working folder" in each.what for each in found) == (not option)


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize("own", ["", "--container-mounts=/e:/e"])
def test_mounts_of_the_scripts_own_container_are_asked_for_where_srun_has_none(own: str) -> None:
    head = f"{_WHOLE}#SBATCH --container-mounts=/d:/d\n#SBATCH --container-workdir=/d\n"
    job, found = _of_run(f"{head}srun --mpi=pmix --container-image=r.io/x:1 {own} ./t\n")
    assert job["mounts"] == (["/e:/e"] if own else [ASK])
    assert any(each.kind == "left" and "--container-workdir" in each.what for each in found.findings)
