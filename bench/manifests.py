"""What a manifest costs beside a script: the text of one job for a Slurm site and for a Kubernetes site,
rendered in turns in one process, after the plan. A manifest has twice the text, and moves each line of it to
its column. The aim is for a whole start (`schedulers.py`), of which either is less than 1 %.
"""

import argparse
import gc
import time
from collections.abc import Callable

import measure

from hpclaunch.plan.planner import Planner
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue

JOB = measure.ROOT / "bench" / "job.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    rounds = parser.parse_args().rounds
    renders = {
        "script": renderer("superpod-a100"),
        "MPIJob": renderer("k8s-superpod-a100"),
        "MPIJob, 140 nodes": renderer("k8s-superpod-a100", "nodes=140"),
        "Job of one pod": renderer("k8s-superpod-a100", "nodes=1"),
    }
    gc.disable()
    times: dict[str, list[float]] = {name: [] for name in renders}
    for turn in range(rounds + 10):
        for name, render in renders.items():
            start = time.perf_counter()
            render()
            if turn >= 10:  # before, templates and texts are read
                times[name].append(time.perf_counter() - start)
    measure.show(times, "script")
    for name, render in renders.items():
        print(f"{name}: {len(render().encode())} bytes")


def renderer(name: str, *sets: str) -> Callable[[], str]:
    """Renders the job for a shipped site."""
    job = parse_job(JOB.read_text("utf-8"), str(JOB), "/home/ada", sets).value
    site = read_site(str(measure.ROOT / "site-configs" / f"{name}.yaml")).value
    machines = {group.type: catalogue.load(group.type).value for group in site.node_types}
    plan = Planner(site, machines).plan(job)
    return lambda: script.render(plan)


if __name__ == "__main__":
    main()
