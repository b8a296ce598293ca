"""What the README shows is what hpclaunch does."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hpclaunch.cli.main import hpclaunch
from hpclaunch.cli.planning import plan_job
from hpclaunch.render import script

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, first: str) -> str:
    """The code block of that language with `first` in its beginning."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(text for text in blocks if first in text[:80])


def test_its_job_runs_on_its_site(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    job, site = tmp_path / "job.yaml", tmp_path / "site.yaml"
    job.write_text(block("yaml", "resnet50"), encoding="utf-8")
    site.write_text(block("yaml", "superpod-a100"), encoding="utf-8")
    plan = plan_job(str(job), str(site), ()).plan
    assert plan.warnings == ()
    assert plan.common.container is not None
    mounts = {(mount.source, mount.target) for mount in plan.common.container.mounts}
    assert mounts == {("/raid/datasets/imagenet", "/data"), (str(tmp_path / "config"), "/config")}


def test_its_script_is_what_is_rendered() -> None:
    plan = plan_job(str(ROOT / "examples" / "hello-mpi.yaml"), "superpod-a100", ()).plan
    rendered = [" ".join(line.split()) for line in script.render(plan).splitlines()]
    shown = [" ".join(line.split()) for line in block("bash", "#SBATCH").splitlines() if line != "..."]
    places = [rendered.index(line) for line in shown]
    assert places == sorted(places)


def test_its_report_is_what_convert_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, *shown = re.search(r"```\n\$ (hpclaunch convert .*?)```", README, re.DOTALL)[1].splitlines()
    words = first.split()[1:]
    words[words.index("-o") + 1] = str(tmp_path / "job.yaml")
    monkeypatch.chdir(ROOT / "tests" / "convert" / "scripts" / "pyxis" / "resnet")
    found = CliRunner().invoke(hpclaunch, words)
    assert found.exit_code == 0
    said = [" ".join(line.split()) for line in found.stdout.splitlines()]
    places = [said.index(" ".join(line.split())) for line in shown if line not in ("", "...")]
    assert places == sorted(places)


def test_its_table_has_every_command_and_no_other() -> None:
    shown = set(re.findall(r"^\| `hpclaunch ([a-z]+)", README, re.MULTILINE))
    context = click.Context(hpclaunch)
    assert shown == set(hpclaunch.list_commands(context))
    assert all(hpclaunch.get_command(context, name) for name in shown)


@pytest.mark.parametrize("target", ["demo", "test", "lint", "wheel", "bench"])
def test_make_has_the_targets_that_it_names(target: str) -> None:
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
