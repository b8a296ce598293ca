"""The real Slurm of `hpclaunch sandbox`, started by the command line, once a session for each node type."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import waysto
from laptop import Laptop
from realslurm import Slurm, sandbox
from realsshd import serving
from trials import Trials

from hpclaunch.sandbox import updown
from hpclaunch.sandbox.packages import slurm_version


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What failed may be another test's doing, so each Slurm that the test held is asked how it is."""
    report = yield
    if report.failed:
        held = getattr(item, "funcargs", {}).values()
        slurms = {id(each): each for value in held for each in (value, getattr(value, "slurm", None))}
        for each in slurms.values():
            if isinstance(each, Slurm):
                with contextlib.suppress(subprocess.SubprocessError):
                    report.sections.append((f"Slurm of {each.folder.parent.name}", each.said()))
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("sandbox")


@pytest.fixture(scope="session")
def slurm_possible() -> None:
    """Skips where Slurm's packages cannot be had."""
    obstacle = updown.obstacle()
    if obstacle:
        pytest.skip(obstacle)


@pytest.fixture(scope="session")
def start_slurm(
    slurm_possible: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Slurm]]:
    """start_slurm(*options): `sandbox up` with these options, taken down when the session ends."""
    folders: list[Path] = []

    def up(*options: str | Path) -> Slurm:
        folder = tmp_path_factory.mktemp("slurm") / "it"
        folders.append(folder)
        done = sandbox("up", "--dir", folder, *options)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{folder}/site.yaml\n"
        conf = folder / "etc" / "slurm.conf"
        return Slurm(folder, folder / "site.yaml", conf, {**os.environ, "SLURM_CONF": str(conf)})

    yield up
    with ThreadPoolExecutor(4) as pool:  # the kernel takes seconds over the namespaces of each
        for done in pool.map(lambda folder: sandbox("down", "--dir", folder), folders):
            assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def slurm_a100(start_slurm: Callable[..., Slurm]) -> Slurm:
    """Two DGX A100 with Pyxis 0.20.0."""
    return start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "a100")


@pytest.fixture(scope="session")
def slurm_h100(start_slurm: Callable[..., Slurm]) -> Slurm:
    """Two DGX H100 with Pyxis 0.20.0."""
    return start_slurm("--nodes", "2", "--node-type", "dgx-h100", "--name", "h100")


@pytest.fixture(scope="session")
def slurm_accounted(start_slurm: Callable[..., Slurm]) -> Slurm:
    """Two DGX A100 whose slurmctld tells a slurmdbd of its jobs. tests/sandbox/test_accounting.py has it
    forget them soon."""
    obstacle = updown.obstacle(accounts=True)
    if obstacle:
        pytest.skip(obstacle)
    return start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "accounted", "--accounting")


@pytest.fixture(scope="session")
def broken(start_slurm: Callable[..., Slurm]) -> Slurm:
    """Two DGX A100 whose controller may be killed."""
    return start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "broken")


@pytest.fixture
def trials(broken: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trials:
    made = Trials(broken, tmp_path)
    monkeypatch.setenv("HPCLAUNCH_HOME", str(made.home))
    return made


@pytest.fixture(scope="session")
def restd(slurm_a100: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The url of a slurmrestd on a socket, for those two."""
    folder = tmp_path_factory.mktemp("restd")
    url = f"unix:{folder}/socket"
    with waysto.slurmrestd(folder / "log", slurm_a100.slurm_conf, url, "rest_auth/local", {}):
        yield url


@pytest.fixture
def pyslurm_standin(tmp_path: Path) -> Iterator[Path]:
    """The stand-in for pyslurm, of Slurm's own release; the folder that it was installed in."""
    year, _, month = slurm_version().partition(".")
    folder = waysto.install_standin(tmp_path / "packages", f"{year}.{int(month)}.3")
    with waysto.importable(folder):
        yield folder


@pytest.fixture
def record_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HPCLAUNCH_HOME, with characters that sbatch would replace in --output."""
    folder = tmp_path / "home 5%j %% x"
    monkeypatch.setenv("HPCLAUNCH_HOME", str(folder))
    return folder


@pytest.fixture(params=["fabric", "openssh"])
def transport(request: pytest.FixtureRequest) -> str:
    """By which the laptop reaches its login node."""
    return str(request.param)


@pytest.fixture
def laptop(
    slurm_a100: Slurm, transport: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Laptop]:
    """A machine that has none of Slurm's commands, and a login node of two DGX A100."""
    with serving(tmp_path_factory.mktemp("sshd")) as sshd:
        made = Laptop(tmp_path, sshd, slurm_a100, transport)
        yield made
        made.gate.touch()
