"""What `hpclaunch diff` costs: CPU time of the whole process, as typed, for 2 nodes and for 560.

Against `hpclaunch render` of the same job for the Slurm site alone. The aim for 560 nodes is a second.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import measure

JOB = measure.ROOT / "bench" / "job.yaml"
SLURM = """
version: 1
name: superpod
scheduler: slurm
container: pyxis
node_types: [{type: dgx-a100, hosts: "dgx[001-560]"}]
slurm: {version: "22.05", pyxis: "0.20.0", partition: batch, mpi_plugin: {pmix: pmix}}
network: {socket_ifname: ib0}
volumes: {imagenet: {path: /raid/datasets/imagenet}, scratch: {path: /scratch}}
"""
KUBERNETES = """
version: 1
name: cluster
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 560, allocatable: {cpu: 240, memory: 960Gi}}]
kubernetes:
  mpi_operator: "0.8.0"
  rdma: {mlx5_0: a, mlx5_1: a, mlx5_2: a, mlx5_3: a, mlx5_6: a, mlx5_7: a, mlx5_8: a, mlx5_9: a}
network: {socket_ifname: eth0}
volumes: {imagenet: {claim: imagenet}, scratch: {claim: scratch}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        sites = []
        for name, text in (("superpod", SLURM), ("cluster", KUBERNETES)):
            path = folder / f"{name}.yaml"
            path.write_text(text)
            sites += ["--site", str(path)]
        command: list[str | Path] = [programs / "hpclaunch", "diff", JOB, *sites]
        times = measure.alternate(
            rounds,
            render=[programs / "hpclaunch", "render", JOB, *sites[:2]],
            diff=command,
            diff_560=[*command, "--set", "nodes=560"],
        )
        measure.show(times, "render")
        for nodes in (2, 560):
            words = [programs / "hpclaunch", "render", JOB, *sites[2:], "--set", f"nodes={nodes}"]
            text = subprocess.check_output(words, env=measure.ENVIRONMENT, stderr=subprocess.DEVNULL)
            print(f"manifest for {nodes} nodes: {len(text)} bytes")


if __name__ == "__main__":
    main()
