"""A sandbox whose slurmctld a test stops, kills and starts again, and what stands before its slurmrestd."""

import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from realslurm import Slurm
from waiting import until

from hpclaunch.sandbox.packages import find

_LISTENS = "0A"  # TCP_LISTEN in /proc/net/tcp


def process(*words: str) -> int:
    """The number of a process with these words, as this machine counts."""
    return processes(*words)[0]


def processes(*words: str) -> list[int]:
    """The numbers of all processes with these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(any(word in argument for argument in argv) for word in words):
            found.append(int(path.parent.name))
    return found


class Slurmctld:
    """The slurmctld of a sandbox."""

    def __init__(self, slurm: Slurm):
        self.slurm = slurm
        self.number = process("slurmctld", str(slurm.slurm_conf))
        found = re.search(r"^SlurmctldPort=(\d+)", slurm.slurm_conf.read_text(), re.MULTILINE)
        assert found
        self.port = int(found[1])

    def signal(self, number: int) -> None:
        """SIGSTOP stops it, SIGCONT lets it go on."""
        os.kill(self.number, number)

    def waiting(self) -> int | None:
        """How many connections lie before it that it has not taken; None where it does not listen."""
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, queues = line.split()[:5]
            if state == _LISTENS and int(local.rpartition(":")[2], 16) == self.port:
                return int(queues.partition(":")[2], 16)
        return None

    def kill(self) -> None:
        """Kills it; what it took last is not in its state."""
        os.kill(self.number, signal.SIGKILL)
        until(lambda: not _runs(self.number))

    def start(self) -> None:
        """As a child of the sandbox's first process: it ends with the sandbox."""
        first = process("hpclaunch.sandbox.supervisor", str(self.slurm.folder))
        inside = (
            "nsenter",
            f"--target={first}",
            f"--pid=/proc/{first}/ns/pid_for_children",
            "--mount",
            "--uts",
        )
        conf = str(self.slurm.slurm_conf)
        subprocess.Popen([*inside, find("slurmctld"), "-f", conf]).wait(timeout=60)
        until(lambda: self.waiting() is not None)  # before, it goes from process to process
        self.number = process("slurmctld", conf)


def _runs(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@contextmanager
def before_submissions(path: Path, server: Path, tell: Callable[[], None]) -> Iterator[str]:
    """The url of a socket before slurmrestd's, which calls `tell` before it passes a submission on."""

    def serve(client: socket.socket) -> None:
        with suppress(OSError), client, socket.socket(socket.AF_UNIX) as behind:
            behind.connect(str(server))
            asked = client.recv(1 << 16)
            if asked.startswith(b"POST"):
                tell()
            behind.sendall(asked)
            back = threading.Thread(target=_pass_on, args=(behind, client), daemon=True)
            back.start()
            _pass_on(client, behind)
            back.join()

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=listen, daemon=True).start()
        yield f"unix:{path}"
        listener.shutdown(socket.SHUT_RDWR)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
