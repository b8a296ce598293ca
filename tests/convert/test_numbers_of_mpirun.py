"""Names that mpirun sets in each rank: the job's command, run as srun and as mpirun start ranks, has them."""

import subprocess
from pathlib import Path

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

# As ranks have them under srun --mpi=pmix of Slurm 22.05, and from mpirun.
_SLURM = {
    "SLURM_PROCID": "11",
    "SLURM_LOCALID": "3",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_TASKS": "16",
    "SLURM_STEP_NUM_NODES": "2",
}
_MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "24",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "OMPI_COMM_WORLD_NODE_RANK": "2",
}
_ALL = " ".join(f"${name}" for name in _MPIRUN)
_HYDRA = "$PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS"
_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
_MANIFEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: w}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers: [{name: l, image: "a/b:1", command: COMMAND}]
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: w, image: "a/b:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""
_WRAP = f'#!/bin/sh\n# $MV2_COMM_WORLD_RANK\necho "$@" {_ALL}\n'
_CASES = {
    "a text": ({"run.sub": f"{_HEAD}mpirun -np 16 bash -c 'echo hi {_ALL}'\n"}, "hi"),
    "a given script": ({"run.sub": f"{_HEAD}mpirun -np 16 ./wrap.sh a 'b c'\n", "wrap.sh": _WRAP}, "a b c"),
    "a script that another starts": (
        {
            "run.sub": f"{_HEAD}mpirun -np 16 bash ./outer.sh\n",
            "outer.sh": "#!/bin/sh\nexec ./wrap.sh x\n",
            "wrap.sh": _WRAP,
        },
        "x",
    ),
    "a script that the launcher writes": (
        {"run.sub": f"{_HEAD}cat > wrap.sh <<'E'\n{_WRAP}E\nmpirun -np 16 sh wrap.sh w\n", "-wrap.sh": _WRAP},
        "w",
    ),
    "a text in docker's containers": (
        {
            "run.sub": f"{_HEAD}for h in $(scontrol show hostnames); do\n"
            "ssh $h docker run -d --name c a/b:1 sleep infinity\ndone\n"
            f"docker exec c mpirun -np 16 --npernode 8 bash -c 'echo d {_ALL}'\n"
        },
        "d",
    ),
    "a manifest": ({"w.yaml": _MANIFEST.replace("COMMAND", f'[mpirun, sh, -c, "echo m {_ALL}"]')}, "m"),
    "a text in a manifest": (
        {"w.yaml": _MANIFEST.replace("COMMAND", f"[sh, -c, \"mpirun -np 16 sh -c 'echo t {_ALL}'\"]")},
        "t",
    ),
}


def _converted(files: dict[str, str]) -> Conversion:
    return convert(classified({name: text for name, text in files.items() if name[0] != "-"}), Options({}))


def _said(found: Conversion, folder: Path, environment: dict[str, str]) -> str:
    """What a rank with this environment prints."""
    assert found.is_complete, found
    command = loaded(found.job)["command"]
    words = ["sh", "-c", command] if isinstance(command, str) else command
    env = {"PATH": "/usr/bin:/bin", **environment}
    done = subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("case", _CASES)
def test_ranks_have_the_numbers_whoever_starts_them(case: str, tmp_path: Path) -> None:
    files, words = _CASES[case]
    for name, text in files.items():
        path = tmp_path / name.removeprefix("-")
        path.write_text(text)
        path.chmod(0o755)
    found = _converted(files)
    assert _said(found, tmp_path, _SLURM) == f"{words} 11 16 3 8 3"
    assert _said(found, tmp_path, _MPIRUN) == f"{words} 5 24 1 4 2"
    said = {each.what for each in found.findings if each.what[0] == "$"}
    assert said == {f"${name}" for name in _MPIRUN}
    assert "inherit" not in loaded(found.job)


def test_hydras_numbers_are_slurms_too(tmp_path: Path) -> None:
    found = _converted({"run.sub": f"{_HEAD}mpiexec.hydra -n 16 sh -c 'echo {_HYDRA}'\n"})
    assert _said(found, tmp_path, _SLURM) == "11 16 3 8"
    assert _said(found, tmp_path, {**_SLURM, "PMI_RANK": "4", "PMI_SIZE": "9"}) == "4 9 3 8"


def test_a_name_that_no_variable_of_slurms_stands_for_is_left() -> None:
    found = _converted({"run.sub": f"{_HEAD}mpirun -np 16 sh -c './t $OMPI_UNIVERSE_SIZE'\n"})
    assert [each.kind for each in found.findings if each.what == "$OMPI_UNIVERSE_SIZE"] == ["left"]


def test_a_script_that_was_not_given_may_read_them() -> None:
    found = _converted({"run.sub": f"{_HEAD}mpirun -np 16 bash ./wrap.sh\n"})
    asked = [
        each.todo for each in found.findings if each.kind == "question" and "OMPI_COMM_WORLD" in each.what
    ]
    assert asked == ["convert again with wrap.sh"]


def test_what_the_launchers_own_shell_puts_in_was_empty(tmp_path: Path) -> None:
    found = _converted({"run.sub": f"{_HEAD}mpirun -np 16 echo $OMPI_COMM_WORLD_RANK.\n"})
    assert [each.kind for each in found.findings if each.what[:2] == "$O"] == ["carried", "defect"]
    assert _said(found, tmp_path, _SLURM) == "11."
    assert "inherit" not in loaded(found.job)


@pytest.mark.parametrize(("gpu", "asked"), [("$OMPI_COMM_WORLD_LOCAL_RANK", 0), ("$MINE", 1)])
def test_a_script_that_takes_the_gpu_of_its_number_chooses_no_other(gpu: str, asked: int) -> None:
    wrap = f"#!/bin/bash\nexport CUDA_VISIBLE_DEVICES={gpu}\nexec ./t\n"
    found = _converted({"run.sub": f"{_HEAD}mpirun -np 16 ./wrap.sh\n", "wrap.sh": wrap})
    assert sum(each.what.endswith(f"CUDA_VISIBLE_DEVICES={gpu}") for each in found.findings) == asked


def test_ranks_that_srun_started_never_had_them() -> None:
    text = f"srun --mpi=pmix --ntasks-per-node=8 sh -c 'echo {_ALL}'"
    found = _converted({"run.sub": f"{_HEAD}{text}\n"})
    assert loaded(found.job)["command"] == ["sh", "-c", f"echo {_ALL}"]


@pytest.mark.parametrize(
    ("start", "is_its"),
    [
        ('BY="./bind_${KIND/_multi*/}.sh"\n$BY ./t', True),
        ("exec ./bind_$KIND.sh ./t", True),
        ("exec ./${KIND}.sh ./t", False),  # it may be any
        ("exec ./bond_$KIND.sh ./t", False),
    ],
)
def test_a_script_whose_name_has_a_variable_is_started_too(start: str, is_its: bool) -> None:
    """MLPerf's ompi_bind_${DGXSYSTEM/_multi*/}.sh."""
    run = f"{_HEAD}export KIND=DGX1_multi\nmpirun -np 16 -x KIND ./work.sh\n"
    binder = '#!/bin/bash\ncase $OMPI_COMM_WORLD_LOCAL_RANK in\n0) exec numactl -N 0 "$@" ;;\nesac\n'
    texts = {"run.sub": run, "work.sh": f"#!/bin/bash\n{start}\n", "bind_DGX1.sh": binder}
    found = convert(classified(texts), Options({}))
    assert ("export OMPI_COMM_WORLD_LOCAL_RANK=" in str(loaded(found.job)["command"])) == is_its
    unused = [each for each in found.findings if each.places[0].file == "bind_DGX1.sh" and each.todo]
    assert any("no line of the other files starts it" in each.todo for each in unused) == (not is_its)
