"""Other launchers that write a Slurm script, on the same task: the text for 2 nodes of 8 GPUs, not sent.

CPU time of the whole process, each installed in an environment of its own. They do less than hpclaunch in
some ways (no placement, no check of the cluster's versions) and more in others; what compares is how long a
person waits.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import measure

SUBMITIT = """
from submitit.slurm.slurm import _make_sbatch_string  # what its executor calls; sbatch gets this text

print(_make_sbatch_string(
    command="python train.py --config large.toml", folder="logs", job_name="bench", partition="batch",
    time=60, nodes=2, ntasks_per_node=8, gpus_per_node=8, exclusive=True, mem="0",
    srun_args=["--mpi=pmix", "--container-image=nvcr.io#nvidia/pytorch:24.07-py3"],
))
"""

NEMO_RUN = """
import nemo_run as run

executor = run.SlurmExecutor(
    account="me", partition="batch", time="01:00:00", nodes=2, ntasks_per_node=8, gpus_per_node=8,
    exclusive=True, mem="0", srun_args=["--mpi=pmix"],
    container_image="nvcr.io#nvidia/pytorch:24.07-py3",
    container_mounts=["/raid/datasets/imagenet:/data:ro", "/scratch:/scratch"],
    tunnel=run.LocalTunnel(job_dir="nemo-jobs"), packager=run.Packager(),
)
with run.Experiment("bench", base_dir="nemo-run") as experiment:
    experiment.add(run.Script(inline="python train.py --config large.toml"), executor=executor, name="train")
    experiment.dryrun()
"""

TORCHX = [
    *("torchx", "run", "--dryrun", "-s", "slurm", "-cfg", "partition=batch,time=60"),
    *("dist.ddp", "-j", "2x8", "--gpu", "8", "--script", "train.py"),
]

# leptonai: nemo_run 0.11 imports a part of it that 0.47 no longer has.
INSTALLED = {"torchx": ["torchx"], "submitit": ["submitit"], "nemo_run": ["nemo_run", "leptonai<0.30"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "train.py").touch()
        (folder / "use_submitit.py").write_text(SUBMITIT)
        (folder / "use_nemo_run.py").write_text(NEMO_RUN)
        hpclaunch = measure.new_environment(folder / "hpclaunch", str(measure.wheel(folder)))
        job = measure.ROOT / "bench" / "job.yaml"
        commands: dict[str, measure.Command] = {
            "hpclaunch": [hpclaunch / "hpclaunch", "render", job, "--site", "superpod-a100"]
        }
        for name, requirements in INSTALLED.items():
            try:
                programs = measure.new_environment(folder / name, *requirements)
            except subprocess.CalledProcessError as error:
                print(f"{name}: cannot be installed here: {error.stderr.strip().splitlines()[-1]}")
                continue
            print(f"{name} {_version(programs, name)}")
            if name == "torchx":
                commands[name] = [programs / TORCHX[0], *TORCHX[1:]]
            else:
                commands[name] = [programs / "python", folder / f"use_{name}.py"]
        measure.show(measure.alternate(rounds, cwd=folder, **commands), "hpclaunch")


def _version(programs: Path, name: str) -> str:
    ask = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.check_output([programs / "python", "-c", ask], text=True).strip()


if __name__ == "__main__":
    main()
