import shutil
from functools import partial
from pathlib import Path

import pytest
from made_up_node import Node
from running import SHELLS, Runner, run_wrapper


@pytest.fixture(params=SHELLS, scope="session")
def shell(request: pytest.FixtureRequest) -> list[str]:
    """The words that start one of the shells that an image may have for /bin/sh."""
    name, *options = SHELLS[request.param]
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return [found, *options]


@pytest.fixture(scope="session")
def run(shell: list[str]) -> Runner:
    """Runs the wrapper on this machine."""
    return partial(run_wrapper, shell)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def on_node(shell: list[str], node: Node) -> Runner:
    """Runs the wrapper on the made-up node."""
    return partial(run_wrapper, shell, root=node.root)


@pytest.fixture(scope="session")
def shell_on_node(shell: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Node]:
    """The same for many examples, each of which sets up what it needs."""
    node = Node(tmp_path_factory.mktemp("node"))
    return partial(run_wrapper, shell, root=node.root), node
