"""An sshd of the test, and connections to it by each transport."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import structs
from realsshd import Sshd, serving

from hpclaunch.schedulers.ssh import connection as connections
from hpclaunch.schedulers.ssh.connection import Connection
from hpclaunch.values.login import Login

Connect = Callable[..., Connection]


@pytest.fixture(autouse=True)
def no_keys_but_the_test_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an agent nor a ~/.ssh of whoever runs the tests."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


@pytest.fixture
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(params=["fabric", "openssh"])
def login(request: pytest.FixtureRequest, sshd: Sshd, tmp_path: Path) -> Login:
    return Login("node", str(tmp_path / "cluster"), transport=request.param, config=str(sshd.config))


@pytest.fixture
def connect(login: Login) -> Iterator[Connect]:
    """A connection as a command has it, to `login` with some things changed."""

    def make(**changes: object) -> Connection:
        return connections.connection(structs.replace(login, **changes))

    yield make
    connections.close()
