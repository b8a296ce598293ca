"""What `doctor` says of a slurmrestd, before a server that answers as one does."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator

import pytest

from hpclaunch.schedulers.ways.checkup import way_checks
from hpclaunch.values.checkup import Check
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess

PING = {"meta": {"Slurm": {"version": {"major": 23, "micro": 4, "minor": 2}, "release": "23.02.4"}}}
Checks = Callable[[dict[str, object]], dict[str, Check]]


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checks]:
    """The checks by their subjects, of a server with these answers by how their paths begin."""
    monkeypatch.setenv("SLURM_JWT", "a-token")
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("no-slurm")))
    servers: list[http.server.HTTPServer] = []

    def start(answers: dict[str, object]) -> dict[str, Check]:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = next((value for path, value in answers.items() if self.path.startswith(path)), None)
                body = json.dumps(found).encode() if found is not None else b"Unable to find requested URL"
                self.send_response(200 if found is not None else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        access = SlurmAccess(
            "rest", RestServer(f"http://127.0.0.1:{server.server_port}", "v0.0.39", user="me")
        )
        found = way_checks(None, access)
        return {each.subject.partition(" at ")[0].partition(" by ")[0]: each for each in found}

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


SLURM = {"/openapi/v3": {"paths": {"/slurm/v0.0.39/ping": {}}}, "/slurm/v0.0.39/ping": PING}


def test_accounts_that_are_not_served_are_named(checks: Checks) -> None:
    found = checks(SLURM)
    assert found["slurmrestd"].result == "ok"
    assert found["accounts"].result == "warning"
    assert "submit --resume" in found["accounts"].found


def test_accounts_that_are_served(checks: Checks) -> None:
    assert checks({**SLURM, "/slurmdb/v0.0.39/jobs": {"jobs": []}})["accounts"].result == "ok"


def test_of_a_server_that_does_not_answer_nothing_more_is_said(checks: Checks) -> None:
    found = checks({})
    assert found["slurmrestd"].result == "bad"
    assert "accounts" not in found
