"""What the README shows is what hpclaunch does."""

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from hpclaunch.cli.main import hpclaunch
from hpclaunch.cli.planning import plan_job
from hpclaunch.render import script
from hpclaunch.spec.read import read_job, read_site
from hpclaunch.values.errors import InputError

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


@pytest.mark.parametrize("piece", re.findall(r"```yaml\n(.*?)```", README, re.DOTALL))
def test_every_piece_of_a_file_is_read(piece: str, tmp_path: Path) -> None:
    """As a job's or a site's, with the keys that such a file needs beside it."""
    job, site = tmp_path / "job.yaml", tmp_path / "site.yaml"
    job.write_text(completed(piece, {"version": 1, "name": "piece", "command": ["true"]}), encoding="utf-8")
    place = {"version": 1, "name": "piece"}
    if "extends" not in yaml.safe_load(piece):
        nodes = [{"type": "dgx-a100", "hosts": "dgx[001-140]"}]
        place |= {"scheduler": "slurm", "slurm": {"version": "22.05"}, "node_types": nodes}
    site.write_text(completed(piece, place), encoding="utf-8")
    try:
        read_job(job)
    except InputError as of_job:
        try:
            read_site(str(site))
        except InputError as of_site:
            pytest.fail(f"as a job: {of_job}\nas a site: {of_site}")


def completed(piece: str, keys: dict[str, Any]) -> str:
    missing = {key: value for key, value in keys.items() if key not in yaml.safe_load(piece)}
    return (yaml.safe_dump(missing) if missing else "") + piece


def test_its_commands_have_the_options_that_it_names() -> None:
    context = click.Context(hpclaunch)
    names = hpclaunch.list_commands(context)
    pieces = [" ".join(piece.split()) for piece in re.findall(r"(?<!`)`([^`]+)`(?!`)", README)]
    pieces += re.findall(r"^(?:\$ )?(hpclaunch .*?)(?: +#.*)?$", README, re.MULTILINE)
    seen = 0
    for piece in pieces:
        first, *words = piece.removeprefix("hpclaunch ").split()
        if first not in names:
            continue
        command = hpclaunch.get_command(context, first)
        if isinstance(command, click.Group) and words and words[0] in command.list_commands(context):
            command = command.get_command(context, words[0])
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        named = set(re.findall(r"(?<!\S)\[?(--?[a-z][a-z-]*)", piece.partition(" -- ")[0]))
        assert named <= known | {"--help"}, piece
        seen += len(named)
    assert seen > 40


def test_its_links_lead_somewhere() -> None:
    titles = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {"#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert {link for link in links if not (link in anchors or (ROOT / link).exists())} == set()


def test_what_contributing_names_is_there() -> None:
    """Files and folders by the end of their paths, tables and functions as words of some file."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tops = ("hpclaunch", "tests", "templates", "site-configs", "examples", "bench", ".ci")
    files = [
        path.relative_to(ROOT)
        for top in tops
        for path in (ROOT / top, *(ROOT / top).rglob("*"))
        if "__pycache__" not in path.parts
    ]
    names = ["/" + path.as_posix() for path in files] + ["/pyproject.toml"]
    words = set[str]()
    for path in files:
        if path.suffix in (".py", ".j2"):
            words |= set(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))
    for named in re.findall(r"`([^`\s]+)`", text):
        if "/" in named or named.endswith((".py", ".sh", ".css", ".toml")):
            end = re.escape("/" + named.strip("/")).replace("FAMILY", r"\w+").replace(r"\*", r"\w*")
            assert any(re.search(end + "$", name) for name in names), named
        elif re.fullmatch(r"_?[A-Z][\w.]+", named):
            assert named.rpartition(".")[2] in words, named
