"""Tokens of slurmrestd, before a server that takes only one of them, as a proxy does that checks them."""

import base64
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hpclaunch.schedulers.contract import Final, Refused
from hpclaunch.schedulers.patience import Patience, WaitFailed
from hpclaunch.schedulers.ways.restclient import RestClient
from hpclaunch.schedulers.ways.token import Token
from hpclaunch.values.slurmaccess import RestServer

GOOD = "good"


def of_claims(claims: bytes) -> str:
    return f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c2ln"


@pytest.fixture
def url() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers["X-SLURM-USER-TOKEN"] == GOOD
            body = b'{"jobs": []}' if known else b"Authentication failure"
            self.send_response(200 if known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


@pytest.mark.parametrize("old", ["opaque", of_claims(b'{"exp": 86400, "iat": 0}')])
def test_a_file_is_read_anew_and_an_environment_is_not(
    url: str, old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(old)
    client = RestClient(RestServer(url, "v0.0.40", token_file=str(file), user="me"))
    said: list[str] = []
    patience = Patience(said.append)
    for _ in range(2):
        assert patience.ask(lambda: client.ask("GET", "jobs", 10)) is None
    (line,) = said
    assert "HTTP 401" in line.splitlines()[0]
    assert ("ended at 1970-01-0" in line) == (old != "opaque")
    assert old not in line
    file.write_text(f"SLURM_JWT={GOOD}\n")
    assert patience.ask(lambda: client.ask("GET", "jobs", 10)) == {"jobs": []}

    monkeypatch.setenv("SLURM_JWT", old)
    with pytest.raises(Final) as caught:
        client.ask("GET", "jobs", 10)
    assert isinstance(caught.value, Refused)
    with pytest.raises(WaitFailed, match="HTTP 401"):
        patience.ask(lambda: client.ask("GET", "jobs", 10))


@given(st.one_of(st.text(), st.binary().map(of_claims)))
@example(of_claims(json.dumps({"exp": 10**300}).encode()))
@example(of_claims(b'{"exp": -1e308}'))
@example(of_claims(b'{"exp": true}'))
@example(of_claims(b'{"exp": null}'))
@example("..")
@example("a.b.c")
@example("a.é.c")
def test_what_is_no_token_ends_never(text: str) -> None:
    assert Token(text, "SLURM_JWT", False).ended() == ""


@given(st.integers(0, 1_000_000_000))
def test_when_a_token_ended_is_in_it(seconds: int) -> None:
    assert Token(of_claims(b'{"exp": %d}' % seconds), "SLURM_JWT", False).ended().startswith("at ")
