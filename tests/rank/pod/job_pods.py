"""The pods of a job on this machine: each has a network, a host name, processes and an /etc of its own, and
its container's command is its first process. The operator's part is here too: the names in /etc/hosts, the
key, the hostfile. Needs root."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from hpclaunch.rank.pod import worker_text

IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PORT = 2222
PROGRAMS = (
    "unshare",
    "ip",
    "nsenter",
    "setpriv",
    "ssh",
    "ssh-keygen",
    "/usr/sbin/sshd",
    "mpirun",
    "mpiexec.mpich",
)

# A pod: its network first, while /proc still shows the hub's process, then its folders, then its processes.
# What an image has under /etc and /run may be changed there without a trace.
POD = r"""
set -eu
image_path=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin
name=$1 number=$2 hub=$3 files=$4 user=$5 directory=$6 hidden=$7
shift 7
hostname "$name"
ip link add eth0 type veth peer name "pod$number" netns "$hub"
nsenter --net="/proc/$hub/ns/net" ip link set "pod$number" master pods up
ip addr add "10.99.0.$number/24" dev eth0
ip link set eth0 up
ip link set lo up
mount --make-rprivate /
mount --bind "$files/etc" /etc
mount --bind "$files/hosts-$number" /etc/hosts
mount -t tmpfs tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
for path in $hidden; do mount --bind /dev/null "$path"; done
# With another user --kill-child no longer holds.
[ "$user" = 0 ] || set -- setpriv --pdeathsig KILL --reuid "$user" --regid "$user" --clear-groups -- "$@"
exec unshare --pid --fork --kill-child --mount-proc --wd "$directory" env "PATH=$image_path" "$@"
"""


def missing() -> str:
    """What keeps pods from being here, or nothing."""
    if os.geteuid() != 0:
        return "pods on this machine need root"
    lacking = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed: {' '.join(lacking)}" if lacking else ""


class Pods:
    """A launcher and workers, `folder` is what all of them see at the same place. Each pod is killed with all
    that it started."""

    def __init__(self, folder: Path, workers: int = 2):
        self.folder = folder
        self.workers = [f"job-worker-{number}" for number in range(workers)]
        self._running: list[subprocess.Popen[bytes]] = []
        self._number = 0
        self._addresses = {name: self._next() for name in self.workers}
        folder.chmod(0o755)
        self._write_etc()
        self._write_keys()
        self.hub = self._popen(
            ["unshare", "--net", "sh", "-c", "ip link add pods type bridge; ip link set pods up; echo; cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.hub.stdout
        self.hub.stdout.readline()

    def close(self) -> None:
        """Ends every pod."""
        for process in reversed(self._running):
            process.kill()
            process.communicate()

    def home(self, user: int) -> Path:
        """The user's, as the image's /etc/passwd has it."""
        return self.folder / f"home-{user}"

    def keys(self, user: int = 0) -> str:
        """The setting with the folder of the operator's key."""
        return f"keys={self.home(user)}/.ssh"

    def hostfile(self, form: str = "{}.job.space.svc slots=2") -> Path:
        file = self.folder / f"hostfile-{len(form)}"
        file.write_text("".join(form.format(name) + "\n" for name in self.workers))
        return file

    def start_workers(self, *settings: str, **pod: Any) -> None:
        """sshd in each, as their text starts it; returns when all take connections."""
        given = (f"port={PORT}", *settings)
        command = ["/bin/sh", "-c", worker_text(given), "hpclaunch-worker", *given]
        started = []
        for name in self.workers:
            log = self.folder / f"{name}.log"
            with log.open("wb") as file:
                started.append((self.start(name, *command, stderr=file, **pod), log))
        for process, log in started:
            while "listening" not in log.read_text():
                assert process.poll() is None, log.read_text()
                time.sleep(0.02)

    def run(self, name: str, *command: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        """A pod whose container ends."""
        process = self.start(name, *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
            self._running.remove(process)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def start(
        self,
        name: str,
        *command: str,
        user: int = 0,
        env: dict[str, str] | None = None,
        directory: str = "/usr/share",
        hidden: tuple[str, ...] = (),
        **more: Any,
    ) -> subprocess.Popen[bytes]:
        """`user` 1000 is the one that the image knows, `hidden` are programs that it has not."""
        number = self._addresses.get(name) or self._next()
        hosts = self.folder / f"hosts-{number}"
        # The first lines are the kubelet's; the others stand in for DNS.
        own = f"127.0.0.1\tlocalhost\n10.99.0.{number}\t{name}\n"
        others = (f"10.99.0.{at} {worker}.job.space.svc\n" for worker, at in self._addresses.items())
        hosts.write_text(own + "".join(others))
        words = (name, str(number), str(self.hub.pid), str(self.folder), str(user), directory)
        full = {"PATH": IMAGE_PATH, "HOME": str(self.home(user)), **(env or {})}
        stages = ["unshare", "--net", "--uts", "--ipc", "--mount", "/bin/sh", "-c", POD, "pod"]
        return self._popen([*stages, *words, " ".join(hidden), *command], env=full, **more)

    def _popen(self, command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, **more})
        self._running.append(process)
        return process

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _write_etc(self) -> None:
        etc = self.folder / "etc"
        subprocess.run(["cp", "-a", "/etc", etc], check=True)
        users = (etc / "passwd").read_text().splitlines()
        others = [line for line in users if line.split(":")[2] not in ("0", "1000")]
        root = f"root:x:0:0::{self.home(0)}:/bin/bash"
        (etc / "passwd").write_text(
            "\n".join([root, f"runner:x:1000:1000::{self.home(1000)}:/bin/bash", *others, ""])
        )

    def _write_keys(self) -> None:
        """As the operator's secret: an ECDSA key by these names, 0600 for root, else as volumes have it."""
        keys = self.home(0) / ".ssh"
        keys.mkdir(parents=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", keys / "id_rsa"], check=True)
        shutil.copy(keys / "id_rsa.pub", keys / "authorized_keys")
        shutil.copytree(keys, self.home(1000) / ".ssh")
        (self.home(1000) / ".ssh" / "id_rsa").chmod(0o644)
        os.chown(self.home(1000), 1000, 1000)
