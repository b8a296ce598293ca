"""Containers that the text of a run starts itself."""

import msgspec
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


@pytest.mark.parametrize("start", ["podman-hpc run --rm --gpu", "podman run --rm", "docker run --rm"])
def test_the_image_of_a_script_of_the_ranks_is_told(start: str) -> None:
    script = f"#!/bin/bash\nexport HCA=$SLURM_LOCALID\n{start} -v $HOME/d:/data lab/t:2 ./t\n"
    files = {"go.sh": f"{_HEAD}srun ./each.sh\n", "each.sh": script}
    result = convert(classified(files), Options({}))
    assert 'command: ["./each.sh"]' in result.job
    found = result.findings
    (told,) = (each for each in found if "starts the container" in each.why)
    assert told.what == "docker run -v ${HOME}/d:/data lab/t:2"
    assert str(told.places[0]) == "each.sh:3"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "./each.sh apptainer exec --nv -B /d:/data t.sif python t.py",
            ["singularity exec -B /d:/data t.sif"],
        ),
        ("./each.sh -- podman run --rm -v /d:/data lab/t:1 ./t", ["docker run -v /d:/data lab/t:1"]),
        ('./each.sh "$ARGS" "apptainer exec --nv t.sif python"', ["singularity exec t.sif"]),
        ('python start.py --with "cd /w && shifter --image=lab/t:1" t.py', ["shifter --image=lab/t:1"]),
        ("./each.sh docker", []),
        ('./each.sh --note "see docker run"', []),
        ("echo apptainer exec t.sif ./t", []),
        ("./each.py apptainer /i/t.sif --with 'x y'", ["/i/t.sif"]),
        ("./each.sh --image=/i/t.sqsh ./t", ["--image=/i/t.sqsh"]),
        ("./each.sh a.sif:b", []),
        ("ElmerSolver case.sif", []),  # Elmer's solver input file
        ("/opt/elmer/bin/ElmerSolver_mpi case.sif", []),
        ('./each.sh "lab launch --from /i/t.simg ./{1}" ::: a b', ["/i/t.simg"]),
        ('./each.sh "lab launch --from /i/t.simg.old ./{1}" ::: a b', []),
    ],
)
def test_the_image_of_words_that_a_program_is_handed_is_told(command: str, told: list[str]) -> None:
    found = convert(classified({"go.sh": f"{_HEAD}srun {command}\n"}), Options({}))
    its = [each for each in found.findings if "starts the container" in each.why]
    assert [each.what for each in its] == told
    rows = {each.name: each.told for each in found.launch}
    by_itself = [f"by the command itself: {each}" for each in told] or ["none"]
    assert [rows["image"].partition(", unless")[0].partition(": the ranks")[0]] == by_itself
    assert [rows["mounts"]] == by_itself


def test_variables_for_a_container_that_the_command_starts_are_handed_on() -> None:
    """Without an image of its own the job has no key that says what they say."""
    text = (
        "export SINGULARITYENV_LIBS=/opt/a APPTAINER_BIND=/d:/data\nsrun ./each.sh apptainer exec t.sif ./t"
    )
    found = convert(classified({"go.sh": f"{_HEAD}{text}\n"}), Options({}))
    env = msgspec.yaml.decode(found.job, type=dict[str, object])["env"]
    assert env == {"SINGULARITYENV_LIBS": "/opt/a", "APPTAINER_BIND": "/d:/data"}
