"""The processes of a sandbox: found by what they are, not by a number that may have become another's."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from hpclaunch.sandbox.layout import Layout
from hpclaunch.sandbox.packages import find

_MODULE = "hpclaunch.sandbox.supervisor"
_GONE_SECONDS = 20.0
# What is mounted on this machine later is seen inside, and never the other way round.
_SHARING = ("--propagation", "slave")


def _command_tail(layout: Layout) -> tuple[str, ...]:
    return ("-m", _MODULE, str(layout.folder))


def _namespaces() -> tuple[str, ...]:
    # The user's own mode: the same user inside, with the rights that the other namespaces need.
    user = () if os.getuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
    return (
        find("unshare"),
        *user,
        "--pid",
        "--fork",
        "--kill-child",
        "--mount",
        *_SHARING,
        "--uts",
        "--mount-proc",
    )


def refusal() -> str:
    """Why this machine refuses the namespaces of a sandbox, and what to do; "" where it grants them."""
    tried = subprocess.run([*_namespaces(), "true"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return ""
    way_out = "in a container, give it the right SYS_ADMIN" if os.getuid() == 0 else "run it as root"
    return f"the sandbox needs namespaces of its own, which are refused ({tried.stderr.strip()}): {way_out}"


def launch(layout: Layout) -> subprocess.Popen[bytes]:
    """Start the supervisor in its own PID, mount and UTS namespaces, detached from this terminal.

    Its environment is closed: what the caller has set (LD_PRELOAD, SLURM_*) must not reach a daemon.
    """
    package = Path(__file__).resolve().parents[2]
    env = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(package),
    }
    with (layout.log / "supervisor.log").open("ab") as log:
        return subprocess.Popen(
            [*_namespaces(), sys.executable, *_command_tail(layout)],
            cwd="/",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _is_live(pid: int) -> bool:
    """Whether the process still runs; a zombie waits only for its parent."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def supervisors(layout: Layout) -> tuple[int, ...]:
    """The supervisor and the `unshare` above it, as this machine numbers them; empty when none lives."""
    tail = tuple(os.fsencode(word) for word in _command_tail(layout))
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            mine = os.stat(f"/proc/{entry}").st_uid == os.getuid()
            words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            continue
        if mine and tuple(words[-len(tail) :]) == tail and _is_live(int(entry)):
            found.append(int(entry))
    return tuple(found)


def _members(pids: tuple[int, ...]) -> tuple[int, ...]:
    """All processes in the PID namespaces that these processes are the first of."""
    spaces = set()
    for pid in pids:
        try:
            spaces.add(os.readlink(f"/proc/{pid}/ns/pid_for_children"))
        except OSError:
            continue
    spaces.discard(os.readlink("/proc/self/ns/pid"))
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") in spaces:
                found.append(int(entry))
        except OSError:
            continue
    return tuple(found)


def kill(layout: Layout) -> None:
    """End every process of the sandbox and return when the last is gone.

    Killing the supervisor is enough: the kernel kills the rest of its PID namespace. Raises OSError where
    something is left after 20 seconds, or where the processes are another user's.
    """
    roots = supervisors(layout)
    everyone = {*roots, *_members(roots)}
    for pid in roots:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    end = time.monotonic() + _GONE_SECONDS
    while left := [pid for pid in everyone if _is_live(pid)]:
        if time.monotonic() > end:
            raise OSError(f"processes {left} did not end")
        time.sleep(0.01)
