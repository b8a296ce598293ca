"""What `hpclaunch render` costs: the CPU time of the whole process, as typed.

Against `python -c "import click, yaml, jinja2"` in the same environment, which no command line tool with
these three can be under; and for 2 nodes against 560, which must cost the same.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import measure

JOB = measure.ROOT / "bench" / "job.yaml"
SITE = """
version: 1
name: large
scheduler: slurm
container: pyxis
node_types: [{type: dgx-a100, hosts: "dgx[001-560]"}]
slurm: {version: "22.05", pyxis: "0.20.0", partition: batch, mpi_plugin: {pmix: pmix}}
network: {socket_ifname: ib0}
volumes: {imagenet: {path: /raid/datasets/imagenet}, scratch: {path: /scratch}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        site = folder / "large.yaml"
        site.write_text(SITE)
        command: list[str | Path] = [programs / "hpclaunch", "render", JOB, "--site", site]
        times = measure.alternate(
            rounds,
            imports=[programs / "python", "-c", "import click, yaml, jinja2"],
            render=command,
            render_560=[*command, "--set", "nodes=560"],
        )
        measure.show(times, "imports")
        for nodes in (2, 560):
            text = subprocess.check_output([*command, "--set", f"nodes={nodes}"], env=measure.ENVIRONMENT)
            print(f"script for {nodes} nodes: {len(text)} bytes")


if __name__ == "__main__":
    main()
