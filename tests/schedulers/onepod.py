"""A cluster with one node, this machine: the pod of each Job runs here, with processes of its own, as long as
its object is there."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubelet_expansion
from apiobjects import ended, running, unplaced
from apiserver import ApiServer, Object, decoded, stamp

# A container's own processes, of which the first heeds only the signals that it asks for.
_BOX = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--")
_ENTER = ("nsenter", "--user", "--pid", "--mount", "--preserve-credentials")


class Node:
    """The job's controller and the kubelet for `server`. A pod waits until `takes` is set. `codes` are the
    exit codes of those that have ended, -n for signal n."""

    def __init__(self, server: ApiServer):
        self.server = server
        self.takes = threading.Event()
        self.takes.set()
        self.codes: dict[str, int] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends all."""
        self._over.set()
        self._thread.join()
        for process in self._running.values():
            process.kill()
            process.wait()

    def fails(self, name: str, reason: str, message: str) -> None:
        """A pod and its Job have failed, as where their time is over."""
        self._end(f"{name}-x7k2p", signal.SIGKILL)
        with self.server.lock:
            job = self.server.objects["jobs", "adas", name]
            one = {"type": "Failed", "status": "True", "reason": reason, "message": message}
            job["status"] = {"conditions": [{**one, "lastTransitionTime": stamp()}]}
            pod = self.server.objects["pods", "adas", f"{name}-x7k2p"]
            pod["status"]["containerStatuses"][0]["state"] = ended(137)

    def _live(self) -> None:
        while not self._over.wait(0.02):
            with self.server.lock:
                for job in self.server.of("jobs"):
                    self._look(job)

    def _look(self, job: Object) -> None:
        name = f"{job['metadata']['name']}-x7k2p"
        there = self.server.objects.get(("pods", "adas", name))
        if job["metadata"].get("deletionTimestamp"):
            if name in self._running:
                self._end(name, signal.SIGTERM)
            self.server.collect()
        elif there is None:
            self._make(job, name)
        elif name not in self._running and name not in self.codes and self.takes.is_set():
            self._start(there, name)

    def _make(self, job: Object, name: str) -> None:
        template = job["spec"]["template"]
        owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
        metadata = {"name": name, "labels": template["metadata"]["labels"], "ownerReferences": [owner]}
        status = {"phase": "Pending", **unplaced("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.")}
        self.server.add("pods", {"metadata": metadata, "spec": template["spec"], "status": status})

    def _start(self, pod: Object, name: str) -> None:
        container = pod["spec"]["containers"][0]
        made = {each["metadata"]["name"]: decoded(each) for each in self.server.of("secrets")}
        values = {(name, key): os.fsdecode(v) for name, data in made.items() for key, v in data.items()}
        env = {"PATH": os.environ["PATH"], **kubelet_expansion.environment(container, values)}
        argv = kubelet_expansion.argv(container, env)
        where: Any = container.get("workingDir", "/")
        self._running[name] = subprocess.Popen([*_BOX, *argv], env=env, cwd=where, stdin=subprocess.DEVNULL)
        pod["spec"]["nodeName"] = "dgx1"
        state = {"name": container["name"], "state": running(), "image": container["image"]}
        pod["status"] = {"phase": "Running", "containerStatuses": [state]}
        try:
            self.server.inside[name] = (*_ENTER, f"--target={self._first(name)}", "--")
            self.server.containers[name] = env
        except ProcessLookupError:
            code = self.codes[name] = self._running.pop(name).wait()
            state["state"] = ended(code)
            pod["status"]["phase"] = "Failed" if code else "Succeeded"

    def _first(self, name: str) -> int:
        """The first process of the pod, once it is what the container runs. Raises ProcessLookupError where
        it has ended before anybody saw it."""
        pid = self._running[name].pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        while self._running[name].poll() is None:
            with contextlib.suppress(ValueError, OSError):
                first = int(children.read_text().split()[0] if children.read_text() else "")
                if b"unshare" not in Path(f"/proc/{first}/cmdline").read_bytes():
                    return first
            time.sleep(0.01)
        raise ProcessLookupError(pid)

    def _end(self, name: str, sent: signal.Signals) -> None:
        process = self._running[name]
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._first(name), sent)
        self.codes[name] = process.wait(60)
        del self._running[name]


@contextlib.contextmanager
def node(server: ApiServer) -> Iterator[Node]:
    """The cluster, for as long as it is wanted."""
    made = Node(server)
    try:
        yield made
    finally:
        made.close()
