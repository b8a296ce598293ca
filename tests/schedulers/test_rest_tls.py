"""A token goes to nobody but the server that the site means."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ways.restclient import RestClient
from hpclaunch.values.slurmaccess import RestServer

TOKEN = "a-token-that-nobody-prints"


def certificate(folder: Path, name: str) -> Path:
    """A certificate for `name`, signed by itself, with its key beside it."""
    file = folder / "server.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x"]
    words += ["-addext", f"subjectAltName={name}", "-keyout", f"{file}.key", "-out", str(file)]
    subprocess.run(words, check=True, capture_output=True)
    return file


class Server:
    """An HTTPS server that keeps the headers of what comes."""

    def __init__(self, cert: Path):
        seen: list[dict[str, str]] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.append(dict(self.headers))
                body = b'{"paths": {"/slurm/v0.0.40/ping": {}}}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, f"{cert}.key")
        self.seen = seen
        self.http = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    """Servers that are put here are ended."""
    monkeypatch.setenv("SLURM_JWT", TOKEN)
    started: list[Server] = []
    yield started
    for server in started:
        server.http.shutdown()
        server.http.server_close()


def start(serve: list[Server], cert: Path) -> Server:
    server = Server(cert)
    serve.append(server)
    threading.Thread(target=server.http.serve_forever, daemon=True).start()
    return server


def test_a_server_that_the_site_s_authorities_signed(serve: list[Server], tmp_path: Path) -> None:
    cert = certificate(tmp_path, "IP:127.0.0.1")
    server = start(serve, cert)
    client = RestClient(RestServer(server.url, "v0.0.40", user="me", ca_file=str(cert)))
    assert client.served(10) == ("v0.0.40",)
    assert server.seen[0]["X-SLURM-USER-TOKEN"] == TOKEN
    assert server.seen[0]["X-SLURM-USER-NAME"] == "me"


@pytest.mark.parametrize("how", ["unknown authority", "another name", "no file"])
def test_any_other_gets_no_token(serve: list[Server], tmp_path: Path, how: str) -> None:
    cert = certificate(tmp_path, "DNS:other.example" if how == "another name" else "IP:127.0.0.1")
    server = start(serve, cert)
    ca_file = {"unknown authority": None, "no file": str(tmp_path / "gone")}.get(how, str(cert))
    with pytest.raises(Refused) as caught:
        RestClient(RestServer(server.url, "v0.0.40", ca_file=ca_file)).served(10)
    assert server.seen == []
    assert type(caught.value) is Refused  # to try again helps nobody
    assert TOKEN not in str(caught.value)
