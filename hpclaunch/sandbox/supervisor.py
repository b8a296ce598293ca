"""The first process of a sandbox's own PID namespace: starts the daemons, reaps, and says which have ended.

    python -m hpclaunch.sandbox.supervisor FOLDER

It is process 1 there, so that the kernel kills everything in the sandbox the moment it ends, however it
ends. Its mounts and host name are in namespaces of their own and vanish with it. Only the standard
library is imported: it stays in memory for as long as the sandbox is up.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_READY_SECONDS = 30.0

# A node of its own: name, /dev/shm and System V IPC. Without the last two Open MPI's ranks on two
# "nodes" would find each other's shared memory.
_AS_NODE = 'hostname "$1" && mount -t tmpfs -o size=50% tmpfs /dev/shm && shift && exec "$@"'


def _start(service: dict[str, Any], log: Path) -> subprocess.Popen[bytes]:
    argv = service["argv"]
    if service["node"]:
        namespaces = ["unshare", "--mount", "--propagation", "slave", "--uts", "--ipc"]
        argv = [*namespaces, "sh", "-ec", _AS_NODE, "sh", service["name"], "env", *service["env"], *argv]
    with (log / f"{service['name']}.out").open("ab") as out:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def _write(path: Path, state: dict[str, Any]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(state), encoding="utf-8")
    new.replace(path)


def _await(service: dict[str, Any], process: "subprocess.Popen[bytes]") -> None:
    """Wait for a daemon's socket or port: Slurm's daemons end at once where munged does not answer, and so do
    others of what comes before them. What runs once has to end."""
    if service.get("once"):
        process.wait()
    end = time.monotonic() + _READY_SECONDS
    while not _is_ready(service) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def _is_ready(service: dict[str, Any]) -> bool:
    if service.get("port"):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", service["port"])) == 0
    return not service["socket"] or os.path.exists(service["socket"])


def main(folder: Path) -> None:
    """Start what etc/services.json of this folder names; keep state.json beside its sockets up to date."""
    plan = json.loads((folder / "etc" / "services.json").read_text(encoding="utf-8"))
    state_file = Path(plan["run"], "state.json")
    socket.sethostname(plan["hostname"])
    for source, target in plan["binds"]:
        subprocess.run(["mount", "--bind", source, target], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777,size=10%", "tmpfs", plan["tasks"]], check=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    # The Popen objects are kept: once dropped, the next Popen would reap their processes behind our back.
    running: dict[int, tuple[dict[str, Any], subprocess.Popen[bytes]]] = {}
    state: dict[str, Any] = {}
    for service in plan["services"]:
        process = _start(service, folder / "log")
        _await(service, process)
        code = process.poll()
        if service.get("once") and code == 0:
            continue
        state[service["name"]] = code
        if code is not None:
            break
        running[process.pid] = (service, process)
    _write(state_file, state)
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            signal.pause()
            continue
        if pid in running:
            service, _ = running.pop(pid)
            state[service["name"]] = code = os.waitstatus_to_exitcode(status)
            # As a site's service manager does: slurmctld 22.05 crashes now and then where somebody asks for a
            # heterogeneous job that is being put back (build_job_info_resp).
            if code == -signal.SIGSEGV:
                process = _start(service, folder / "log")
                running[process.pid] = (service, process)
                state[service["name"]] = None
            _write(state_file, state)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
