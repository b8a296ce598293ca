"""10,000 variants of one parsed job's environment: validated, planned and rendered, on one core.

In this process and from this checkout: what is measured is the loop, not the start.
"""

import argparse
import time
from pathlib import Path

import msgspec

import hpclaunch
from hpclaunch.plan.planner import Planner
from hpclaunch.render import script
from hpclaunch.spec.check_job import env_problems
from hpclaunch.spec.job import Job
from hpclaunch.spec.read import read_job, read_site
from hpclaunch.topology import catalogue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    job = read_job(Path(__file__).parent / "job.yaml").value
    site = read_site("superpod-a100").value
    machines = {group.type: catalogue.load(group.type).value for group in site.node_types}
    planner = Planner(site, machines)
    render(planner, job, 0)  # the first reads the templates and the tables
    print(f"hpclaunch {hpclaunch.__version__}, {arguments.variants} variants")
    for _ in range(arguments.repeat):
        start = time.process_time()
        scripts = {render(planner, job, number) for number in range(arguments.variants)}
        seconds = time.process_time() - start
        assert len(scripts) == arguments.variants, "two variants gave the same script"
        print(f"{arguments.variants / seconds:.0f} variants a second")


def render(planner: Planner, job: Job, number: int) -> str:
    """The script of one variant: two values that change, as in a search over parameters."""
    env = {**job.env, "LR": f"{0.1 + number / 1e6:.6f}", "TRIAL": str(number)}
    problems = env_problems(env)
    assert not problems
    return script.render(planner.plan(msgspec.structs.replace(job, env=env)))


if __name__ == "__main__":
    main()
