"""The wheel in an empty environment: every example for every shipped site, from somewhere else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.yaml"))
SITES = sorted(path.stem for path in (ROOT / "site-configs").glob("*.yaml"))

# The volume that an example mounts, and those that each site has.
MOUNTED = {
    "16gpu-tensorflow-benchmark-imagenet": "efs",
    "bert": "bert",
    "caffe-imagenet": "imagenet",
    "maskrcnn": "home",
    "resnet50-mxnet": "imagenet",
    "resnet50-trials": "imagenet",
    "tf2-a2d2-16x01x02-gpu": "adas-data",
    "train-and-evaluate": "scratch",
}
VOLUMES = {
    "k8s-minimal": "data",
    "k8s-superpod-a100": "bert, imagenet, scratch",
    "local": "none",
    "openshift-dgx1-spectrumscale": "adas-data, adas-priv",
    "openshift-robotic-drive": "efs",
    "openshift-supermicro": "coco, home",
    "superpod-a100": "bert, imagenet, scratch",
    "superpod-h100": "bert, imagenet, scratch",
}
KUBERNETES = [site for site in VOLUMES if site.startswith(("k8s-", "openshift-"))]
NO_CONTAINERS = "site local runs no containers (`container: none`), and the job has an image"
NO_LIMIT = "each point is a job of its own, and Kubernetes has no such limit: leave it out"
SQUASHFS = "which Enroot alone reads: push the image to a registry, from which both schedulers take it"
# What a site refuses, and the reason that it gives. All other pairs are rendered.
REFUSED = {
    **{
        (example, site): f"site {site} has no volume '{volume}'; it has: {volumes}"
        for example, volume in MOUNTED.items()
        for site, volumes in VOLUMES.items()
        if volume not in volumes.split(", ")
    },
    **{
        ("hello-mpi", site): f"site {site} runs containers alone: the job needs an image"
        for site in KUBERNETES
    },
    **{(example, site): SQUASHFS for example in ("bert", "resnet50-mxnet") for site in KUBERNETES},
    **{
        (example, "openshift-supermicro"): "2 nodes, and site openshift-supermicro has 1"
        for example in ("nccl-allreduce", "tensorflow-benchmarks-gpu-v1a2")
    },
    **{(example, "local"): NO_CONTAINERS for example in EXAMPLES},
    ("hello-mpi", "local"): "2 nodes, and site local has 1",
    **{("lr-search", site): NO_LIMIT for site in KUBERNETES},
    (
        "lr-search",
        "local",
    ): "sweep: local has no queue, so all points would run at once: give each with --set",
    ("train-and-evaluate", "local"): "groups: each has nodes of its own, and local is one machine",
}

# Rendering that stops where Jinja would read a template's text.
WITHOUT_COMPILER = """
import jinja2

def refuse(*args, **kwargs):
    raise SystemExit("a template is compiled at run time")

jinja2.Environment.compile = refuse
from hpclaunch.cli.main import main
main()
"""


class Installed:
    """hpclaunch in an environment of its own, run in a folder where nothing of the checkout is."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.elsewhere = folder / "elsewhere"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    def hpclaunch(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The installed command."""
        return self.run(self.bin / "hpclaunch", *words)

    def checkout(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The same command of the checkout."""
        return self.run(sys.executable, "-m", "hpclaunch", *words, PYTHONPATH=str(ROOT))

    def run(self, *argv: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
        """A command there, with its output."""
        return subprocess.run(
            list(map(str, argv)),
            cwd=self.elsewhere,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Builds the wheel, installs it, and puts a copy of the examples beside."""
    folder = tmp_path_factory.mktemp("wheel")
    python = folder / "venv" / "bin" / "python"
    pip = ["-m", "pip", "--disable-pip-version-check"]
    _must([sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    _must([sys.executable, "-m", "venv", str(folder / "venv")])
    _must([str(python), *pip, "install", *map(str, folder.glob("*.whl"))])
    shutil.copytree(ROOT / "examples", folder / "elsewhere" / "examples")
    return Installed(folder)


def _must(argv: list[str]) -> None:
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{argv}\n{run.stdout}{run.stderr}"


def test_the_table_names_only_examples_and_sites_that_exist() -> None:
    assert set(REFUSED) <= {(example, site) for example in EXAMPLES for site in SITES}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_rendered_or_refused_as_the_table_says(
    installed: Installed, example: str, site: str
) -> None:
    words = ("render", f"examples/{example}.yaml", "--site", site)
    wheel = installed.hpclaunch(*words)
    reason = REFUSED.get((example, site))
    if reason is not None:
        assert (wheel.returncode, wheel.stdout) == (2, "")
        assert any(line.endswith(reason) for line in wheel.stderr.splitlines()), wheel.stderr
        return
    checkout = installed.checkout(*words)
    assert wheel.returncode == 0, wheel.stderr
    assert (wheel.stdout, wheel.stderr) == (checkout.stdout, checkout.stderr)


def test_a_job_for_this_machine_is_rendered_as_from_the_checkout(installed: Installed) -> None:
    words = ("render", "examples/hello-mpi.yaml", "--site", "local", "--set", "nodes=1")
    wheel = installed.hpclaunch(*words)
    checkout = installed.checkout(*words)
    assert wheel.returncode == 0, wheel.stderr
    assert wheel.stdout == checkout.stdout


@pytest.mark.parametrize("site", ["superpod-a100", "local"])
def test_no_template_is_compiled_when_a_script_is_rendered(installed: Installed, site: str) -> None:
    words = ("render", "examples/hello-mpi.yaml", "--set", "nodes=1", "--site", site)
    run = installed.run(installed.bin / "python", "-c", WITHOUT_COMPILER, *words)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("#!/bin/bash")


def test_the_environment_has_hpclaunch_from_the_wheel_alone(installed: Installed) -> None:
    code = "import hpclaunch; print(hpclaunch.__file__)"
    run = installed.run(installed.bin / "python", "-c", code)
    assert run.stdout.startswith(str(installed.bin.parent)), run.stderr
