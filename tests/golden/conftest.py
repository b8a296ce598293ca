"""--update-golden, and a controller that knows 560 nodes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpclaunch.sandbox import lifecycle


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the scripts that are made now (then read the diff)",
    )


@pytest.fixture(scope="session")
def nodes_560(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which sbatch talks to a controller that declares 560 DGX A100."""
    obstacle = lifecycle.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    folder = tmp_path_factory.mktemp("slurm") / "it"
    _sandbox("up", folder, "--node-type", "dgx-a100", "--declared", "560")
    yield {**os.environ, "SLURM_CONF": str(folder / "etc" / "slurm.conf")}
    _sandbox("down", folder)


def _sandbox(verb: str, folder: Path, *options: str) -> None:
    argv = [sys.executable, "-m", "hpclaunch", "sandbox", verb, "--dir", str(folder), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
