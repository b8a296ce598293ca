from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import job_pods
import pytest
from job_pods import Pods


@pytest.fixture(scope="session")
def pods_can_be_had() -> None:
    if why := job_pods.missing():
        pytest.skip(why)


@pytest.fixture(scope="session")
def pods(pods_can_be_had: None) -> Iterator[Pods]:
    """Two workers, whose sshd root runs."""
    # pytest's own folders are closed to other users.
    with TemporaryDirectory(prefix="pods-") as folder, closing(Pods(Path(folder))) as made:
        made.start_workers(made.keys())
        yield made


@pytest.fixture(scope="session")
def rootless_pods(pods_can_be_had: None) -> Iterator[Pods]:
    """The same for a user who is not root."""
    with TemporaryDirectory(prefix="pods-") as folder, closing(Pods(Path(folder))) as made:
        made.start_workers(made.keys(1000), f"home={made.home(1000)}", user=1000, env={"HOME": "/"})
        yield made
