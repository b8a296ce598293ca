"""What posts to a webhook, under every shell, with curl and with python3."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from running import SHELLS

from hpclaunch.rank.beside import text

BODY = '{"event":"end","name":"a \\"b\\" \\\\ c$d`e","image":null}'
TOKEN = "geheim \"a\\b$c`d' é"
STATUS = 204


class Server:
    """Answers each request with `status`, and keeps it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None, str | None, bytes]] = []
        self.status = STATUS
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                token = self.headers["Authorization"]
                outer.seen.append((self.path, token, self.headers["Content-Type"], body))
                self.send_response(outer.status)
                if outer.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/hook?a=b&c=%20d"
        Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def post(shell: str, folder: Path, tools: str, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """With these tools alone on the PATH."""
    for tool in (*tools.split(), "sed", "tr", SHELLS[shell][0]):
        found = sys.executable if tool == "python3" else shutil.which(tool)
        (folder / tool).write_text(f'#!/bin/sh\nexec {found} "$@"\n')
        (folder / tool).chmod(0o755)
    argv = [*SHELLS[shell], "-c", text("webhook"), "hpclaunch-webhook", *words]
    own = {"PATH": str(folder), **env}
    return subprocess.run(argv, env=own, input=BODY + "\n", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", ["curl", "python3"])
@pytest.mark.parametrize("named", [False, True])
def test_what_is_posted_arrives_whole(
    shell: str, tool: str, named: bool, server: Server, tmp_path: Path
) -> None:
    env = {"HOOK": server.url, "TOKEN": TOKEN.replace(" é", "")}
    words = ("HOOK", "TOKEN") if named else (server.url, "")
    done = post(shell, tmp_path, tool, *words, **env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    ((path, token, kind, body),) = server.seen
    assert path == "/hook?a=b&c=%20d"
    assert token == (f"Bearer {env['TOKEN']}" if named else None)
    assert kind == "application/json"
    assert json.loads(body) == json.loads(BODY)


@pytest.mark.parametrize("tool", ["curl", "python3"])
@pytest.mark.parametrize("status", [404, 302])
def test_a_server_that_does_not_take_it_is_said_and_no_other_is_told(
    tool: str, status: int, server: Server, tmp_path: Path
) -> None:
    server.status = status
    done = post("dash", tmp_path, tool, "HOOK", "TOKEN", HOOK=server.url, TOKEN="geheim")
    assert [path for path, *_ in server.seen] == ["/hook?a=b&c=%20d"]
    assert "geheim" not in done.stdout + done.stderr
    assert (done.returncode != 0) == (status == 404 or tool == "python3")


@pytest.mark.parametrize("tool", ["curl", "python3", ""])
def test_nobody_there_is_no_success(tool: str, tmp_path: Path) -> None:
    done = post("dash", tmp_path, tool, "HOOK", "", HOOK="http://127.0.0.1:1/geheim")
    assert done.returncode != 0
    assert done.stderr
    assert "geheim" not in done.stderr


@pytest.mark.parametrize("tool", ["curl", "python3"])
@pytest.mark.parametrize(
    "secret",
    ["geheim", "http://[geheim", "http://geheim geheim/", "http://h:geheim/", "geheim://h", "\\geheim"],
)
def test_a_secret_that_is_no_url_is_not_shown(tool: str, secret: str, tmp_path: Path) -> None:
    done = post("dash", tmp_path, tool, "HOOK", "", HOOK=secret)
    assert done.returncode != 0
    assert done.stderr
    assert "geheim" not in done.stdout + done.stderr
