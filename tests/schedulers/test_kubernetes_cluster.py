"""Which cluster a job goes to, and as whom: kubeconfig, contexts, certificates, proxies, a pod's account."""

import http.server
import os
import re
import socket
import socketserver
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from apiserver import TOKEN, ApiServer, kubeconfig, serving

from hpclaunch.records.record import Cluster
from hpclaunch.schedulers import kubernetes_client
from hpclaunch.schedulers.kubernetes import Kubernetes
from hpclaunch.schedulers.kubernetes_login import resolve
from hpclaunch.values.errors import SchedulerError

VERSION = "Kubernetes v1.29.3"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(kubernetes_client, "BACKOFF_S", 0.001)


def version(context: str | None = None) -> str:
    return Kubernetes(resolve("adas", context, os.environ)).version()


def trouble(context: str | None = None) -> str:
    with pytest.raises(SchedulerError) as error:
        version(context)
    assert len(str(error.value).splitlines()) == 2
    return str(error.value)


def test_the_current_context_or_the_one_that_the_site_names(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as second:
        second.token = None
        first = kubeconfig(tmp_path / "a", server.url, "one")
        other = kubeconfig(tmp_path / "b", second.url, "two")
        monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'none'}:{first}:{other}")
        assert version() == VERSION
        assert (len(server.requests), len(second.requests)) == (1, 0)
        assert version("two") == VERSION
        assert (len(server.requests), len(second.requests)) == (1, 1)
        assert resolve("adas", None, os.environ) == Cluster("adas", "one", f"{first}:{other}")
        assert "has no context 'three': it has one, two" in trouble("three")


def test_the_paths_are_kept_as_they_were_here(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(tmp_path / "here", server.url)
    monkeypatch.chdir(tmp_path)
    found = resolve("adas", None, {"KUBECONFIG": "here"})
    monkeypatch.chdir("/")
    assert Kubernetes(found).version() == VERSION
    (tmp_path / "here").unlink()
    with pytest.raises(SchedulerError, match="the kubeconfig with which the job was submitted is gone"):
        Kubernetes(found).version()


def test_the_file_in_the_home_folder(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG")
    assert "knows of no Kubernetes cluster" in trouble()
    (tmp_path / "home/.kube").mkdir(parents=True)
    kubeconfig(tmp_path / "home/.kube/config", server.url)
    assert version() == VERSION


def _config(cluster: str, user: str) -> str:
    return (
        "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
        f"clusters: [{{name: c, cluster: {cluster}}}], users: [{{name: u, user: {user}}}]}}"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "cannot be read"),
        ("- a", "is not a kubeconfig"),
        ("contexts: []", "has no current context"),
        ("current-context: x", "has no context 'x': it has none"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: y}}], clusters: []}",
            "cannot be used",
        ),
        ("{current-context: x, contexts: 5}", "contexts must be a list"),
        ("{current-context: x, contexts: [x]}", "contexts must be a list"),
        ("{current-context: x, contexts: [{name: x}], users: [7]}", "users must be a list"),
        (_config("{server: 5}", "{}"), "cannot be used"),
        (_config("{server: 'http://127.0.0.1:1', proxy-url: 5}", "{}"), "cannot be used"),
        (
            _config("{server: 'ftp://127.0.0.1'}", "{}"),
            "ftp://127.0.0.1 cannot be reached: that is no address",
        ),
    ],
)
def test_files_that_do_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    (tmp_path / "kubeconfig").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    assert words in trouble()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    assert "KUBECONFIG names no file that exists" in trouble()


@pytest.mark.parametrize("token", ["pa55word\\n", "pa55\\nword", "pa55wörd"])
def test_a_token_that_cannot_be_sent_is_not_shown(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    """As with `token: |` in the file, or a tokenFile that an editor ended with a line."""
    (tmp_path / "kubeconfig").write_text(_config(f"{{server: '{server.url}'}}", f'{{token: "{token}"}}'))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    said = trouble()
    assert "has a line break" in said
    assert "pa55" not in said
    assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "Connection reset by peer|Remote end closed"),
        (b"\x1b[31m\xff\x00 SSH-2.0\r\n", "what came is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", "its answer was cut off"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/login\r\nContent-Length: 0\r\n\r\n",
            "sends to other addresses",
        ),
    ],
)
def test_what_answers_is_no_api_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, words: str
) -> None:
    class Odd(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Odd) as other:
        threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_address[1]}"
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "odd", url)))
        said = trouble()
        other.shutdown()
    assert re.search(words, said)
    assert said.replace("\n", "").isprintable()


def test_a_program_that_logs_in(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "login"
    program.write_text(
        "#!/bin/sh\n"
        'echo \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
        f'"status": {{"token": "{TOKEN}"}}}}\'\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "c", server.url, user=user)))
    assert version() == VERSION


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca, server (for 127.0.0.1) and client, each .crt and .key."""
    folder = tmp_path_factory.mktemp("tls")
    new = (
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    )
    ca = ("-keyout", folder / "ca.key", "-out", folder / "ca.crt", "-subj", "/CN=ca")
    openssl(*new, *ca, "-addext", "keyUsage=critical,keyCertSign")
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        files = ("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt", "-subj", f"/CN={name}")
        openssl(*new, *files, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-addext", extra)
    return folder


@contextmanager
def tls_server(certificates: Path) -> Iterator[ApiServer]:
    """A server that takes only who has a certificate of the CA."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "ca.crt"))
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(context) as server:
        server.token = None
        yield server


def test_tls_with_a_ca_and_a_client_s_certificate(
    certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca, user = certificates / "ca.crt", certificates / "client"
    good = {"client-certificate": f"{user}.crt", "client-key": f"{user}.key"}
    with tls_server(certificates) as server:
        for number, (cluster, who, works) in enumerate(
            [
                ({"certificate-authority": str(ca)}, good, True),
                ({"insecure-skip-tls-verify": True}, good, True),
                ({}, good, False),  # the system's CAs do not know it
                ({"certificate-authority": str(ca)}, {}, False),
                ({"certificate-authority": str(tmp_path / "gone")}, good, False),
            ]
        ):
            path = kubeconfig(tmp_path / f"c{number}", server.url, cluster=cluster, user=who)
            monkeypatch.setenv("KUBECONFIG", str(path))
            if works:
                assert version() == VERSION
            else:
                assert str(tmp_path) in trouble() or server.url in trouble()


class _Proxy(http.server.BaseHTTPRequestHandler):
    """An HTTP proxy that tunnels, and remembers where to."""

    asked: list[str] = []  # noqa: RUF012  emptied by each test

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        host, port = self.server.leads_to  # type: ignore[attr-defined]
        with socket.create_connection((host, port)) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self._pump, args=(there, self.connection), daemon=True)
            back.start()
            self._pump(self.connection, there)
            back.join(5)
        self.close_connection = True

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def tunnel(certificates: Path) -> Iterator[str]:
    """A proxy whose every tunnel leads to a server with TLS; its URL."""
    with tls_server(certificates) as server:
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
        proxy.daemon_threads = True
        proxy.leads_to = ("127.0.0.1", int(server.url.rsplit(":", 1)[1]))  # type: ignore[attr-defined]
        _Proxy.asked.clear()
        threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()
        proxy.server_close()


@pytest.mark.parametrize("how", ["HTTPS_PROXY", "https_proxy", "proxy-url"])
def test_a_cluster_behind_a_proxy(
    certificates: Path, tunnel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The cluster's address leads nowhere but through the proxy."""
    cluster = {"certificate-authority": str(certificates / "ca.crt"), "tls-server-name": "127.0.0.1"}
    user = {"client-certificate": f"{certificates}/client.crt", "client-key": f"{certificates}/client.key"}
    if how == "proxy-url":
        cluster["proxy-url"] = tunnel
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    else:
        monkeypatch.setenv(how, tunnel)
    path = kubeconfig(tmp_path / "c", "https://127.0.0.1:9", cluster=cluster, user=user)
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert version() == VERSION
    assert _Proxy.asked == ["127.0.0.1:9"]


def test_no_proxy_is_heard_and_a_proxy_s_password_is_not_told(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://jane:pa55word@127.0.0.1:9")
    said = trouble()
    assert "the proxy does not let it through" in said
    assert "pa55word" not in said
    monkeypatch.setenv("NO_PROXY", "other,127.0.0.0/8")
    assert version() == VERSION


def test_the_account_of_a_pod(certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    with serving(context) as server:
        (tmp_path / "token").write_text(TOKEN)
        monkeypatch.setattr(
            "kubernetes.config.incluster_config.SERVICE_TOKEN_FILENAME", str(tmp_path / "token")
        )
        monkeypatch.setattr(
            "kubernetes.config.incluster_config.SERVICE_CERT_FILENAME", str(certificates / "ca.crt")
        )
        monkeypatch.delenv("KUBECONFIG", raising=False)
        host, port = server.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        # the client reads the environment as it was when it was loaded
        monkeypatch.setitem(os.environ, "KUBERNETES_SERVICE_PORT", port)
        assert resolve("adas", None, os.environ) == Cluster("adas")
        server.token = TOKEN
        assert version() == VERSION


def test_without_the_client_one_line_says_how_to_get_it(server: ApiServer, tmp_path: Path) -> None:
    """And nothing but a submission needs it."""
    code = (
        "import sys; sys.modules['kubernetes'] = None\n"
        "from hpclaunch.records.record import Cluster\n"
        "from hpclaunch.schedulers import lifecycle\n"
        "from hpclaunch.values.errors import SchedulerError\n"
        "try:\n    lifecycle.scheduler('kubernetes', None, Cluster('adas'))\n"
        "except SchedulerError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "Install it: pip install 'hpclaunch[kubernetes]'"
