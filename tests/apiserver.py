"""An HTTP server that speaks the Kubernetes API: paths, JSON, selectors, pages, rights, conflicts, dry runs
and logs as a kube-apiserver has them, and on request its troubles. Nothing runs: tests put pods there."""

import base64
import copy
import http.server
import json
import re
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import websocketserver
import yaml

Object = dict[str, Any]
TOKEN = "a-token-that-nobody-prints"
JOBS = re.compile(
    r"/apis/(?P<group>[^/]+)/(?P<version>[^/]+)/namespaces/(?P<ns>[^/]+)/(?P<plural>\w+)(?:/(?P<name>[^/]+))?"
)
CORE = re.compile(r"/api/v1/namespaces/(?P<ns>[^/]+)/(?P<plural>\w+)(?:/(?P<name>[^/]+))?(?P<log>/log)?")

EXEC = re.compile(r"/api/v1/namespaces/(?P<ns>[^/]+)/pods/(?P<name>[^/]+)/exec")


@dataclass
class Request:
    """What came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Fault:
    """What happens to the next request that matches: an answer of one's own, a socket that is closed before
    or after the work is done or in the middle of the answer, or a pause."""

    method: str
    path: str
    code: int = 0
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: str = ""
    pause_s: float = 0.0


class Refusal(Exception):
    def __init__(self, code: int, reason: str, message: str, details: Object | None = None):
        self.code = code
        self.status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
            "details": details or {},
        }


def stamp(moment: float | None = None) -> str:
    return datetime.fromtimestamp(moment or time.time(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class ApiServer:
    """The server and what it stores: (plural, namespace, name) -> object."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.containers: dict[str, dict[str, str]] = {}  # pod -> the environment of commands in its container
        self.inside: dict[str, tuple[str, ...]] = {}  # pod -> what brings a command there, before its words
        self.protocol = "v5.channel.k8s.io"
        self.logs: dict[str, list[tuple[float, bytes]]] = {}
        self.served = {"kubeflow.org": ["v2beta1"], "batch": ["v1"]}
        self.namespaces = {"adas"}
        self.forbidden: set[tuple[str, str]] = set()  # (verb, plural)
        self.warnings: list[str] = []
        self.token: str | None = TOKEN
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        self.url = ""

    def of(self, plural: str) -> list[Object]:
        return [value for key, value in self.objects.items() if key[0] == plural]

    def one(self, plural: str) -> Object:
        (found,) = self.of(plural)
        return found

    def asked(self, method: str, part: str = "") -> list[Request]:
        return [one for one in self.requests if one.method == method and part in one.path]

    def add(self, plural: str, body: Object, namespace: str = "adas") -> Object:
        metadata = body["metadata"]
        metadata.setdefault("namespace", namespace)
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", stamp())
        self.objects[plural, namespace, metadata["name"]] = body
        return body

    def collect(self) -> None:
        """What the garbage collector does when all pods of deleted objects have ended."""
        for key, value in list(self.objects.items()):
            if value["metadata"].get("deletionTimestamp"):
                self.objects.pop(key)
        alive = {value["metadata"]["uid"] for value in self.objects.values()}
        for key, value in list(self.objects.items()):
            owners = value["metadata"].get("ownerReferences")
            if owners and not any(one["uid"] in alive for one in owners):
                self.objects.pop(key)

    def answer(self, request: Request) -> tuple[int, Any]:
        self._known(request)
        if request.path.rstrip("/") == "/version":
            return 200, {"major": "1", "minor": "29", "gitVersion": "v1.29.3"}
        if request.path.rstrip("/") == "/apis":
            groups = [
                {
                    "name": name,
                    "versions": [{"groupVersion": f"{name}/{one}", "version": one} for one in versions],
                }
                for name, versions in self.served.items()
            ]
            return 200, {"kind": "APIGroupList", "groups": groups}
        found = JOBS.fullmatch(request.path)
        if found:
            if found["version"] not in self.served.get(found["group"], ()):
                return 404, b"404 page not found\n"
        else:
            found = CORE.fullmatch(request.path)
            if not found:
                return 404, b"404 page not found\n"
        plural, ns, name = found["plural"], found["ns"], found["name"]
        verb = {"GET": "get" if name else "list", "POST": "create", "PATCH": "patch", "DELETE": "delete"}
        self._allowed(verb[request.method], plural, ns)
        with self.lock:
            if "log" in found.groupdict() and found["log"]:
                return 200, self._log(name, request.query)
            if request.method == "POST":
                return self._create(plural, ns, request)
            if not name:
                return 200, self._list(plural, ns, request.query)
            return self._single(plural, ns, name, request)

    def enter(self, request: Request) -> dict[str, str]:
        """The environment for a command in a pod."""
        self._known(request)
        found = EXEC.fullmatch(request.path)
        assert found
        self._allowed("get", "pods/exec", found["ns"])
        name = found["name"]
        there = self.objects.get(("pods", found["ns"], name))
        if there is None:
            raise Refusal(404, "NotFound", f'pods "{name}" not found', {"name": name, "kind": "pods"})
        if name not in self.containers:
            raise Refusal(
                400, "BadRequest", f"container {request.query['container']} is not valid for pod {name}"
            )
        assert request.query["container"] == there["spec"]["containers"][0]["name"]
        return self.containers[name]

    def _known(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if self.token and (scheme.lower(), token) != ("bearer", self.token):
            raise Refusal(401, "Unauthorized", "Unauthorized")

    def _allowed(self, verb: str, plural: str, ns: str) -> None:
        if (verb, plural) in self.forbidden:
            text = f'{plural} is forbidden: User "jane" cannot {verb} resource "{plural}" in namespace "{ns}"'
            raise Refusal(403, "Forbidden", text, {"kind": plural})

    def _create(self, plural: str, ns: str, request: Request) -> tuple[int, Any]:
        if request.headers.get("content-type", "application/json").split(";")[0] != "application/json":
            raise Refusal(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
        if ns not in self.namespaces:
            raise Refusal(404, "NotFound", f'namespaces "{ns}" not found', {"name": ns, "kind": "namespaces"})
        body, name = request.body, request.body["metadata"]["name"]
        if request.query.get("fieldValidation") == "Strict" and "nonsense" in body.get("spec", {}):
            raise Refusal(
                400,
                "BadRequest",
                'MPIJob in version "v2beta1" cannot be handled as a MPIJob: strict decoding error: '
                'unknown field "spec.nonsense"',
            )
        if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
            causes = [
                {
                    "reason": "FieldValueInvalid",
                    "message": "Invalid value: a DNS label is wanted",
                    "field": "metadata.name",
                }
            ]
            raise Refusal(422, "Invalid", f'{plural} "{name}" is invalid', {"causes": causes, "kind": plural})
        if (plural, ns, name) in self.objects:
            raise Refusal(
                409, "AlreadyExists", f'{plural} "{name}" already exists', {"name": name, "kind": plural}
            )
        if "dryRun" not in request.query:
            body = self.add(plural, copy.deepcopy(body), ns)
        return 201, body

    def _single(self, plural: str, ns: str, name: str, request: Request) -> tuple[int, Any]:
        there = self.objects.get((plural, ns, name))
        if there is None:
            raise Refusal(404, "NotFound", f'{plural} "{name}" not found', {"name": name, "kind": plural})
        if request.method == "PATCH":
            kinds = ("application/strategic-merge-patch+json", "application/merge-patch+json")
            if request.headers.get("content-type") not in kinds:
                raise Refusal(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
            if there.get("immutable") and "data" in request.body:
                raise Refusal(422, "Invalid", "data: field is immutable when `immutable` is set")
            there["metadata"].update(request.body["metadata"])
        if request.method == "DELETE":
            options = request.body or {}
            wanted = (options.get("preconditions") or {}).get("uid")
            if wanted and wanted != there["metadata"]["uid"]:
                raise Refusal(409, "Conflict", "the UID in the precondition does not match")
            if options.get("propagationPolicy") == "Foreground":
                there["metadata"]["deletionTimestamp"] = stamp()
                there["metadata"]["finalizers"] = ["foregroundDeletion"]
            else:
                self.objects.pop((plural, ns, name))
        return 200, there

    def _list(self, plural: str, ns: str, query: dict[str, str]) -> Object:
        items = [one for key, one in self.objects.items() if key[:2] == (plural, ns)]
        items = [one for one in items if _selected(one, query.get("labelSelector", ""))]
        if query.get("fieldSelector") == "type!=Normal":
            items = [one for one in items if one.get("type") != "Normal"]
        start, limit = int(query.get("continue", 0)), int(query.get("limit", 500))
        part, more = items[start : start + limit], start + limit < len(items)
        shown = [
            {key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in part
        ]
        return {
            "kind": "List",
            "metadata": {"continue": str(start + limit)} if more else {"resourceVersion": "1"},
            "items": shown,
        }

    def _log(self, name: str, query: dict[str, str]) -> bytes:
        """As the kubelet: parts of a line that are old enough are left out, and a line's time is that of the
        first part that is shown."""
        oldest = time.time() - float(query["sinceSeconds"]) if "sinceSeconds" in query else 0.0
        out = b""
        for moment, text in self.logs.get(name, []):
            if moment >= oldest:
                nanos = f"{moment:.9f}".split(".")[1]
                begins = not out or out.endswith(b"\n")
                if begins and query.get("timestamps", "").lower() == "true":
                    out += f"{stamp(moment)[:-1]}.{nanos}Z ".encode()
                out += text
        return out


def _selected(one: Object, selector: str) -> bool:
    labels = one["metadata"].get("labels") or {}
    found = re.fullmatch(r"(\S+) in \((.*)\)", selector)
    if found:
        return labels.get(found[1]) in found[2].split(",")
    return not selector or selector in labels


def _handler(server: ApiServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        timeout = 30

        def handle_one(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            url = urlsplit(self.path)
            request = Request(
                self.command,
                url.path,
                {key: values[0] for key, values in parse_qs(url.query).items()},
                {key.lower(): value for key, value in self.headers.items()},
                json.loads(raw) if raw else None,
            )
            with server.lock:
                server.requests.append(request)
                fault = next(
                    (
                        one
                        for one in server.faults
                        if one.method == request.method and re.search(one.path, request.path)
                    ),
                    None,
                )
                if fault:
                    server.faults.remove(fault)
            if fault and fault.pause_s:
                time.sleep(fault.pause_s)
            if fault and fault.drop == "before":
                self.close_connection = True
                self.connection.close()
                return
            if fault and fault.code:
                self.send(fault.code, fault.body, fault.headers)
                return
            try:
                if EXEC.fullmatch(request.path):
                    pod = request.path.split("/")[-2]
                    environment = server.enter(request)
                    websocketserver.serve(self, server.protocol, environment, server.inside.get(pod, ()))
                    return
                code, body = server.answer(request)
            except Refusal as refusal:
                code, body = refusal.code, refusal.status
            if fault and fault.drop == "after":
                self.close_connection = True
                self.connection.close()
                return
            if fault and fault.drop == "middle":
                self.send(code, body, {}, cut=len(body) // 2)
                self.wfile.flush()
                self.close_connection = True
                self.connection.close()
                return
            self.send(code, body, {"Warning": f'299 - "{server.warnings[0]}"'} if server.warnings else {})

        def send(self, code: int, body: Any, headers: dict[str, str], cut: int | None = None) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain" if isinstance(body, bytes) else "application/json")
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:cut])

        do_GET = do_POST = do_PATCH = do_DELETE = handle_one

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


class _Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Clients that give up are part of the tests."""


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[ApiServer]:
    """A server on a free port."""
    server = ApiServer()
    listener = _Quiet(("127.0.0.1", 0), _handler(server))
    if tls:
        listener.socket = tls.wrap_socket(listener.socket, server_side=True)
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()


def kubeconfig(path: Path, url: str, context: str = "here", **more: Object) -> Path:
    """A kubeconfig for the server; `cluster` and `user` add to these parts."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [{"name": f"{context}-c", "cluster": {"server": url, **more.get("cluster", {})}}],
        "contexts": [{"name": context, "context": {"cluster": f"{context}-c", "user": f"{context}-u"}}],
        "users": [{"name": f"{context}-u", "user": more.get("user", {"token": TOKEN})}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def decoded(secret: Object) -> dict[str, bytes]:
    """What a Secret holds."""
    return {name: base64.b64decode(value) for name, value in secret["data"].items()}


Put = Callable[..., Object]
