"""What sites refuse of steps, trials, stage_in and shared images, and where it is said."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from command import loaded_by

from hpclaunch.cli.planning import Planned, plan_job
from hpclaunch.values.errors import InputError
from hpclaunch.values.steps import StageIn, Step, Trials

ROOT = Path(__file__).parents[2]
IMAGE = "nvcr.io/nvidia/mxnet:21.09-py3"


def plan(folder: Path, site: str, text: str) -> Planned:
    path = folder / "job.yaml"
    path.write_text("name: a\ncommand: [run]\n" + text)
    return plan_job(str(path), site, [])


def bare_site(folder: Path, **more: Any) -> str:
    """A site of Slurm without a folder for images."""
    site = yaml.safe_load((ROOT / "site-configs" / "superpod-a100.yaml").read_text())
    del site["slurm"]["image_folder"]
    (folder / "site.yaml").write_text(yaml.safe_dump(site | {"name": "bare", **more}))
    return str(folder / "site.yaml")


# The job under its two required lines (so its first line is line 3), the site, the place, and what is said.
REFUSED = [
    (f"image: {{ref: '{IMAGE}', import: shared}}", "bare", "3:56", "slurm.image_folder"),
    ("image: {ref: ./a.sqsh, import: shared}", "superpod-a100", "3:32", "a squashfs file already"),
    ("image: {ref: 'dockerd://a', import: shared}", "superpod-a100", "3:37", "one node's Docker"),
    (f"image: {{ref: '{IMAGE}', import: shared}}", "local", "3:8", "runs no containers"),
    ("setup: [{run: a, where: container}]", "superpod-a100", "3:25", "needs an `image`"),
    (f"image: {IMAGE}\nafter: [{{run: a, where: host}}]", "k8s-superpod-a100", "4:25", "pods have no host"),
    ("stage_in: [none:/x]", "superpod-a100", "3:12", "no volume 'none'; it has: bert, imagenet, scratch"),
    ("stage_in: [scratch:none]", "superpod-a100", "3:12", "no volume 'none'"),
    ("stage_in: [bert:bert]", "superpod-a100", "3:12", "onto itself"),
    ("stage_in: [/scratch/:scratch]", "superpod-a100", "3:12", "onto itself"),
    ("stage_in: [/scratch/a:scratch]", "superpod-a100", "3:12", "one within the other"),
    ("stage_in: [/a:/]", "superpod-a100", "3:12", "one within the other"),
    ("stage_in: [/a:/x, /b:/x/]", "superpod-a100", "3:19", "another stage_in copies to /x too"),
    ("stage_in: [/a:/x, /b://x]", "superpod-a100", "3:19", "another stage_in copies to /x too"),
    ("rendezvous: torch\ntrials: {count: 2, seed: RANK}", "superpod-a100", "4:26", "another name"),
    (
        f"image: {IMAGE}\ntrials: 2\nsites: {{superpod-a100: {{srun: [--container-name=x]}}}}",
        "superpod-a100",
        "5:32",
        "--container-name follows from the job's own keys",
    ),
]


@pytest.mark.parametrize(("text", "site", "place", "said"), REFUSED)
def test_a_site_refuses_by_name_what_it_cannot_do(
    tmp_path: Path, text: str, site: str, place: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan(tmp_path, bare_site(tmp_path) if site == "bare" else site, text)
    assert [
        problem.message
        for problem in caught.value.problems
        if problem.where == f"{tmp_path}/job.yaml:{place}" and said in problem.message
    ], str(caught.value)


def test_what_is_planned(tmp_path: Path) -> None:
    text = f"""\
image: {{ref: 'docker://{IMAGE}', import: shared}}
mounts: [scratch:/s]
env: {{A: b}}
stage_in: [imagenet:/scratch/i, ./near:scratch]
trials: {{count: 2, seed: A_SEED, log: 'x/{{trial}}'}}
setup: [{{run: "  first line \\n second"}}, {{run: [a, b], name: n, per: job, where: host, optional: true}}]
"""
    common = plan(tmp_path, "superpod-a100", text).plan.common
    assert common.container is not None
    assert common.container.shared == "/lustre/images/nvcr.io+nvidia+mxnet+21.09-py3-fc04b35907695c3d.sqsh"
    assert common.stage_in == (
        StageIn("/raid/datasets/imagenet", "/scratch/i", "imagenet", ""),
        StageIn(f"{tmp_path}/near", "/scratch", "", "scratch"),
    )
    shell = ("/bin/sh", "-c", "  first line \n second")
    assert common.steps == (
        Step("setup", "setup 1: first line", shell, "container", "node"),
        Step("setup", "setup 2: n", ("a", "b"), "host", "job", True),
    )
    assert common.trials == Trials(2, "A_SEED", None, f"{tmp_path}/x/{{trial}}")


def test_a_site_has_no_say_in_what_differs_by_trial(tmp_path: Path) -> None:
    site = bare_site(tmp_path, env={"SEED": "1", "OTHER": "2"})
    common = plan(tmp_path, site, "trials: 2\n").plan.common
    names = {each.name for each in common.environment}
    assert "OTHER" in names
    assert "SEED" not in names


def test_who_names_no_mount_of_what_is_copied_near_is_warned(tmp_path: Path) -> None:
    text = f"image: {IMAGE}\nstage_in: [/a:/raid/b]\n"
    (warning,) = plan(tmp_path, "superpod-a100", text).plan.warnings
    assert "stage_in[0]: no mount shows /raid/b" in warning
    assert plan(tmp_path, "superpod-a100", text + "mounts: [/raid:/x]\n").plan.warnings == ()


@pytest.mark.parametrize(("time", "given"), [("4m", False), ("5m", True), ("UNLIMITED", False)])
def test_only_a_job_with_time_to_spare_leaves_the_last_minute_to_the_steps_after(
    tmp_path: Path, time: str, given: bool
) -> None:
    planned = plan(tmp_path, "superpod-a100", f"time: {time}\nafter: [{{run: x}}]\n")
    target: Any = planned.plan.target
    assert any(option.text == "--signal=TERM@60" for option in target.sbatch) == given


def test_the_jobs_own_signal_counts(tmp_path: Path) -> None:
    text = "after: [{run: x}]\nsites: {superpod-a100: {sbatch: [--signal=USR1@300]}}\n"
    target: Any = plan(tmp_path, "superpod-a100", text).plan.target
    assert [option.text for option in target.sbatch if "signal" in option.text] == ["--signal=USR1@300"]


def test_jobs_without_any_of_these_do_not_pay_for_them(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("name: a\ncommand: [run]\n")
    modules = loaded_by("render", path, "--site", "superpod-a100")
    assert "hpclaunch.plan.slurm" in modules
    assert (
        not {
            "hpclaunch.plan.steps",
            "hpclaunch.plan.slurm_beside",
            "hpclaunch.plan.host_steps",
            "hpclaunch.rank.beside",
            "hpclaunch.render.beside",
            "hpclaunch.spec.check_steps",
            "hpclaunch.spec.stagein",
        }
        & modules
    )
