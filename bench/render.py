"""What `hpclaunch render` costs: the CPU time of the whole process, as typed.

Against `python -c "import click, yaml, jinja2"` in the same environment, which no command line tool with
these three can be under; for 2 nodes against 560, which must cost the same; and for a Kubernetes site, whose
MPIJob must cost no more than the script.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import measure

JOB = measure.ROOT / "bench" / "job.yaml"
SHARED = """
version: 1
name: large
node_types: [{type: dgx-a100, hosts: "dgx[001-560]"}]
network: {socket_ifname: ib0}
volumes: {imagenet: {path: /raid/datasets/imagenet}, scratch: {path: /scratch}}
"""
SLURM = """
scheduler: slurm
container: pyxis
slurm: {version: "22.05", pyxis: "0.20.0", partition: batch, mpi_plugin: {pmix: pmix}}
"""
KUBERNETES = """
scheduler: kubernetes
kubernetes:
  mpi_operator: "0.8.0"
  rdma: {mlx5_0: ib0, mlx5_1: ib1, mlx5_2: ib2, mlx5_3: ib3, mlx5_6: ib4, mlx5_7: ib5, mlx5_8: ib6}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        commands: dict[str, list[str | Path]] = {}
        for name, own in (("script", SLURM), ("MPIJob", KUBERNETES)):
            site = folder / f"{name}.yaml"
            site.write_text(SHARED + own)
            commands[name] = [programs / "hpclaunch", "render", JOB, "--site", site]
            commands[f"{name}, 560 nodes"] = [*commands[name], "--set", "nodes=560"]
        times = measure.alternate(
            rounds,
            imports=[programs / "python", "-c", "import click, yaml, jinja2"],
            **commands,
        )
        measure.show(times, "imports")
        for name, command in commands.items():
            text = subprocess.check_output(command, env=measure.ENVIRONMENT, stderr=subprocess.DEVNULL)
            print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main()
