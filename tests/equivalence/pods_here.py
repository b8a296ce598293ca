"""Pods on this machine: each has a root filesystem (this machine's own, and what it writes there is gone with
it), a host name, a network address, System V IPC and processes of its own. Needs root, as sshd in a pod does.
"""

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from msgspec import Struct

_SHELL = ("/bin/sh", "-euc")
_HUB = """
ip link set lo up
ip link add pods type bridge
ip addr add 10.99.0.254/24 dev pods
ip link set pods up
echo ready
exec sleep infinity
"""
# SETTINGS... -- SOURCE TARGET... -- what the pod runs
_POD = """
PATH=/usr/sbin:/usr/bin:/sbin:/bin
number=$1 name=$2 hub=$3 folder=$4
shift 5
hostname "$name"
ip link add eth0 type veth peer name "pod$number" netns "$hub"
nsenter --net="/proc/$hub/ns/net" ip link set "pod$number" master pods up
ip addr add "10.99.0.$number/24" dev eth0
ip link set eth0 up
ip link set lo up
mount -t tmpfs -o mode=755 tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/root"
mount --rbind /dev "$folder/root/dev"
mount --rbind /sys "$folder/root/sys"
mount -t tmpfs tmpfs "$folder/root/dev/shm"
mount -t tmpfs tmpfs "$folder/root/run"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$folder/root$2"; else mkdir -p "$folder/root${2%/*}"; : >"$folder/root$2"; fi
  mount --bind "$1" "$folder/root$2"
  shift 2
done
shift
exec unshare --pid --fork --kill-child /bin/sh -euc '
  mount -t proc proc "$1/proc"
  root=$1
  shift
  exec chroot "$root" /usr/bin/env --ignore-environment "$@"
' sh "$folder/root" "$@"
"""
_PROBE = """
for number; do
  until (: <>"/dev/tcp/10.99.0.$number/$PORT") 2>/dev/null; do sleep 0.02; done
done
"""


def obstacle() -> str:
    """Why there can be no pods here, "" where they can."""
    return "" if os.geteuid() == 0 else "pods on this machine need root"


class Container(Struct, frozen=True):
    """What a pod runs: its host name, the words, the environment and the folder that it begins with, and
    (SOURCE, TARGET) of each file or folder of this machine that it sees."""

    host: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    mounts: Sequence[tuple[Path, str]] = ()


class Pods:
    """The pods of one job, ended with it. `folder` is empty."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._pods: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Pods":
        self._hub = subprocess.Popen(
            ["unshare", "--net", *_SHELL, _HUB], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        assert self._hub.stdout is not None
        assert self._hub.stdout.readline() == b"ready\n"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (*self._pods.values(), self._hub):
            process.kill()
            process.wait()
        assert self._hub.stdout is not None
        self._hub.stdout.close()

    def start(self, number: int, container: Container) -> None:
        """Start a pod with the address 10.99.0.NUMBER. What it writes goes to its log."""
        place = self.folder / container.host
        place.mkdir()
        variables = [f"{name}={value}" for name, value in container.env.items()]
        words = [f"--chdir={container.cwd}", *variables, *container.argv]
        mounts = [str(part) for pair in container.mounts for part in pair]
        settings = [str(number), container.host, str(self._hub.pid), str(place)]
        inside = ["unshare", "--net", "--uts", "--ipc", "--mount", *_SHELL, _POD, "pod"]
        with self.log(container.host).open("wb") as log:
            self._pods[container.host] = subprocess.Popen(
                [*inside, *settings, "--", *mounts, "--", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def log(self, host: str) -> Path:
        """What a pod wrote."""
        return self.folder / f"{host}.log"

    def logs(self) -> str:
        """What all wrote, for people."""
        return "\n".join(
            f"== {host}\n{self.log(host).read_text(encoding='utf-8', errors='replace')}"
            for host in self._pods
        )

    def await_port(self, numbers: Iterable[int], port: int) -> None:
        """Wait until these pods take connections there, as the kubelet's probe of a port does."""
        argv = ["nsenter", f"--net=/proc/{self._hub.pid}/ns/net", "bash", "-c", _PROBE, "probe"]
        env = {**os.environ, "PORT": str(port)}
        waiting = subprocess.Popen([*argv, *map(str, numbers)], env=env)
        while waiting.poll() is None:
            ended = [host for host, process in self._pods.items() if process.poll() is not None]
            if ended:
                waiting.kill()
                waiting.wait()
                raise AssertionError(f"{', '.join(ended)} ended\n{self.logs()}")
            time.sleep(0.02)

    def wait(self, host: str, seconds: float = 40) -> int:
        """A pod's exit status, as a container's is: 128 + n for signal n."""
        try:
            status = self._pods[host].wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{host} did not end\n{self.logs()}") from None
        return status if status >= 0 else 128 - status
