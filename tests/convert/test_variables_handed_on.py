"""What docker hands on by -e: what becomes of it, by whose it is and where its value is known."""

import pytest
import script_cases

from hpclaunch.convert import conversion
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

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
