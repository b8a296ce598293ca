"""A launcher in a text for a shell that srun starts: as if srun started it, where it is all of the text."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=8 -t 60\nA=$1\nexport LR=0.1\n"
_TORCH = "torchrun --nnodes 2 --nproc_per_node 8"


def _job(run: str) -> dict[str, Any]:
    return script_cases.loaded(convert(classified({"run.sub": f"{_HEAD}{run}\n"}), Options({})).job)


@pytest.mark.parametrize(
    ("text", "command", "workdir"),
    [
        (f"'{_TORCH} t.py'", ["python", "-u", "t.py"], None),
        (f"'{_TORCH} --node_rank $SLURM_NODEID t.py'", ["python", "-u", "t.py"], None),
        (f"'cd /w && {_TORCH} t.py'", ["python", "-u", "t.py"], "/w"),
        (f"'cd /w\n{_TORCH} t.py --lr $LR'", ["python", "-u", "t.py", "--lr", "0.1"], "/w"),
        (f"'exec {_TORCH} -m pkg.train'", ["python", "-u", "-m", "pkg.train"], None),
        ("'accelerate launch --num_machines 2 --num_processes 16 t.py'", ["python", "-u", "t.py"], None),
    ],
)
@pytest.mark.parametrize("container", ["", "--container-image=a/b:1 "])
def test_a_launcher_that_is_all_of_a_text_starts_the_ranks_of_the_job(
    text: str, command: list[str], workdir: str | None, container: str
) -> None:
    job = _job(f"srun --mpi=none {container}bash -c {text}")
    assert (job["command"], job["ranks_per_node"], job["rendezvous"]) == (command, "8", "torch")
    assert job.get("workdir") == workdir


@pytest.mark.parametrize(
    "before",
    [
        "cd w; ",
        "cd /w && set -e\n",
        "source /w/env.sh && ",
        "A=1; export B=$A C; ",
        'eval "$(conda shell.bash hook)"; conda activate x; ',
        "A=1 B=/x/y ",
        "cd w; A=1 ",
        "nvidia-smi; hostname; ulimit -s unlimited; ",
    ],
)
def test_what_a_text_does_before_its_launcher_each_rank_does(before: str) -> None:
    job = _job(f"srun --mpi=none --container-image=a/b:1 /bin/sh -c '{before}{_TORCH} t.py --n \"a b\"'")
    assert (job["ranks_per_node"], job["rendezvous"]) == ("8", "torch")
    assert job["command"] == ["/bin/sh", "-c", f"{before}exec python -u t.py --n 'a b'"]


def test_what_each_rank_knows_of_the_job_as_its_node_does_is_put_into_the_text() -> None:
    text = f"source e.sh; {_TORCH} t.py --out /o/$SLURM_JOB_ID"
    job = _job(f"srun --mpi=none --container-image=a/b:1 bash -c '{text}'")
    assert job["ranks_per_node"] == "8"
    assert job["command"] == "exec bash -c 'source e.sh; exec python -u t.py --out /o/'$SLURM_JOB_ID"


@pytest.mark.parametrize(
    "text",
    [
        f"-lc '{_TORCH} t.py'",  # a login shell sets more
        f"-c 'mkdir -p out; {_TORCH} t.py'",
        f"-c 'echo start > log; {_TORCH} t.py'",
        f"-c 'conda install x; {_TORCH} t.py'",
        f"-c 'source env.sh; {_TORCH} t.py --who $OF_FILE'",
        f"-c 'source env.sh; {_TORCH} --rdzv_id $OF_FILE t.py'",
        f"-c '{_TORCH} t.py --node $SLURM_PROCID'",  # the number of the node's one task
        f"-c 'export RANK=$SLURM_NODEID; {_TORCH} t.py'",
        f"-c 'cd /w; timeout 60 {_TORCH} t.py'",
        f"-c 'pip install x; {_TORCH} t.py'",  # once on a node, and not once in each rank
        f"-c '{_TORCH} t.py > log'",
        f"-c '{_TORCH} t.py | tee log'",
        f"-c '{_TORCH} t.py || true'",
        f"-c 'A=\"1 2\" {_TORCH} t.py'",
        f"-c 'RANK=0 {_TORCH} t.py'",
        f"-c 'if [ -e x ]; then {_TORCH} t.py; fi'",
        f"-c '{_TORCH} t.py --who $OF_IMAGE'",  # a variable that the image may set
        f"-c '{_TORCH} t.py; {_TORCH} u.py'",
    ],
)
def test_a_text_that_does_more_stays_the_command(text: str) -> None:
    job = _job(f"srun --mpi=none --container-image=a/b:1 bash {text}")
    assert job["ranks_per_node"] == "1"
    assert "torchrun" in str(job["command"])


@pytest.mark.parametrize(
    ("script", "starter"),
    [
        (f"cd /w\n{_TORCH} t.py", "torchrun"),
        ("python -m torch.distributed.launch --nproc_per_node 8 t.py", "torch.distributed.launch"),
        ("python -m bind_launch --nsockets_per_node 2 --nproc_per_node 8 t.py", "bind_launch"),
        ("mpirun -np 8 ./t", "mpirun"),
        ("echo torchrun\npython t.py", ""),
    ],
)
@pytest.mark.parametrize("start", ["srun --mpi=none ./rank.sh", "srun --mpi=none bash rank.sh"])
def test_a_launcher_in_a_script_that_is_given_is_said(script: str, starter: str, start: str) -> None:
    files = {"run.sub": f"{_HEAD}{start}\n", "rank.sh": f"#!/bin/bash\n{script}\n"}
    found = convert(classified(files), Options({}))
    said = [each for each in found.findings if "starts ranks of its own" in each.why]
    assert [each.what.split()[0] for each in said] == [starter] * bool(starter)
    binds = script_cases.loaded(found.job).get("bind", {}).get("cpus")
    assert binds == ("none" if starter == "bind_launch" else None)


@pytest.mark.parametrize(
    ("start", "outer"),
    [
        ("srun --mpi=none ./outer.sh", "cd /w\nbash inner.sh 3"),
        ("export WHAT=inner.sh\nsrun --mpi=none ./outer.sh", "exec /w/$WHAT"),
        ("export WHAT=inner.sh\nsrun --mpi=none ./outer.sh", "singularity exec -B $PWD:/w /i.sif /w/${WHAT}"),
    ],
)
def test_a_launcher_in_a_script_that_the_ranks_script_starts_is_said(start: str, outer: str) -> None:
    inner = f"#!/bin/bash\n{_TORCH} t.py\n"
    files = {"run.sub": f"{_HEAD}{start}\n", "outer.sh": f"#!/bin/bash\n{outer}\n", "inner.sh": inner}
    found = convert(classified(files), Options({})).findings
    assert [each.what.split()[0] for each in found if "starts ranks of its own" in each.why] == ["torchrun"]
    assert not any("beside the ranks" in each.what for each in found)


@pytest.mark.parametrize("outer", ["# not inner.sh any more\npython t.py", "python t.py"])
def test_a_script_that_the_ranks_script_does_not_start_is_none_of_theirs(outer: str) -> None:
    inner = f"#!/bin/bash\nnumactl -N 0 {_TORCH} t.py\n"
    text = f"{_HEAD}export WHAT=inner.sh\nsrun --mpi=none ./outer.sh\n"
    found = convert(
        classified({"run.sub": text, "outer.sh": f"#!/bin/bash\n{outer}\n", "inner.sh": inner}), Options({})
    )
    assert not any("starts ranks of its own" in each.why for each in found.findings)
    assert "bind" not in script_cases.loaded(found.job)


def test_what_binds_in_a_script_that_the_ranks_script_starts_counts() -> None:
    files = {
        "run.sub": f"{_HEAD}srun --mpi=none ./outer.sh\n",
        "outer.sh": "#!/bin/bash\n./inner.sh\n",
        "inner.sh": "#!/bin/bash\nnumactl --physcpubind=0-7 python t.py\n",
    }
    found = convert(classified(files), Options({}))
    assert script_cases.loaded(found.job)["bind"]["cpus"] == "none"


@pytest.mark.parametrize(
    ("head", "container"),
    [
        ("#SBATCH -N 1 --gpus-per-node=8", "enroot start a.sqsh"),
        ("#SBATCH -N 1 --gpus-per-node=8", "singularity exec --nv a.sif"),
        ("#SBATCH -N 1 --gpus-per-node=8", "shifter --image=a/b:1"),
        ("#SBATCH -N 1 --gpus-per-node=8", "podman-hpc run a/b:1"),
        ("#PBS -l select=1:ngpus=8", "singularity exec --nv a.sif"),
    ],
)
@pytest.mark.parametrize(
    "starts", ["bash -c 'cd /w; torchrun --nproc_per_node=8 t.py'", "torchrun --nproc_per_node=8 t.py"]
)
def test_a_container_that_the_script_starts_itself_has_its_launcher_read(
    head: str, container: str, starts: str
) -> None:
    found = convert(classified({"run.sub": f"#!/bin/bash\n{head}\n{container} {starts}\n"}), Options({}))
    assert {each.name: each.told for each in found.launch}["ranks"] == "8 on each node"
    command = next(each.became for each in found.findings if each.key == "command" and each.became)
    assert "torchrun" not in command


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ('bash -c "srun --mpi=none ./t $lr"', 'exec ./t "$lr"'),
        ("O=/o/$lr; bash -c \"cd /w; srun --mpi=none ./t '$O' \\$lr\"", script_cases.ASK),
        ("bash <<E\nsrun --mpi=none ./t $lr\nE\n", 'exec ./t "$lr"'),
        ("bash -c 'srun --mpi=none ./t $lr'", ["./t"]),
        ('export lr; bash -c "srun --mpi=none ./t $lr"', 'exec ./t "$lr"'),
    ],
)
def test_what_a_loop_puts_into_the_text_of_another_shell_does_not_vanish(body: str, command: object) -> None:
    assert _job(f"for lr in 0.1 0.2; do {body}; done".replace("\n; done", "\ndone"))["command"] == command
