"""--update-golden, and a controller that knows 560 nodes."""

import os
from collections.abc import Iterator

import pytest
from command import hpclaunch

from hpclaunch.sandbox import updown


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the scripts that are made now (then read the diff)",
    )


@pytest.fixture(scope="session")
def nodes_560(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which sbatch talks to a controller that declares 560 DGX A100."""
    obstacle = updown.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    folder = tmp_path_factory.mktemp("slurm") / "it"
    up = hpclaunch("sandbox", "up", "--dir", folder, "--node-type", "dgx-a100", "--declared", "560")
    assert up.returncode == 0, up.stderr
    yield {**os.environ, "SLURM_CONF": str(folder / "etc" / "slurm.conf")}
    down = hpclaunch("sandbox", "down", "--dir", folder)
    assert down.returncode == 0, down.stderr
