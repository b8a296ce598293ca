"""slurmctld and one slurmd on configuration that `site export` wrote, with no more around it than they need
to start: their ports, folders and munge."""

import os
import pwd
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from freeport import free_port

from hpclaunch.cluster.slurmnode import SlurmNode
from hpclaunch.sandbox.hwloc import hwloc_synthetic
from hpclaunch.sandbox.packages import find

_READY_S = 30.0


class Controller:
    """A slurmctld in `folder`, which has etc/slurm.conf. `run` asks it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.env = {**os.environ, "SLURM_CONF": str(folder / "etc" / "slurm.conf")}

    def run(self, *argv: str) -> str:
        """What the command prints; it must succeed."""
        return self._done(*argv).stdout

    def ask(self, *argv: str) -> str:
        """What the command says on standard error; it must succeed."""
        return self._done(*argv).stderr

    def _done(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done

    def complaints(self) -> list[str]:
        """What slurmctld has against its configuration. That nodes do not answer is no such thing,
        nor that this machine is slow."""
        log = (self.folder / "slurmctld.log").read_text(encoding="utf-8")
        known = ("not responding", "Could not open", "Unable to open", "may be lost", "default partition")
        known += ("High latency for 1000 calls to gettimeofday()",)
        lines = [line.partition("] ")[2] for line in log.splitlines()]
        return [
            line
            for line in lines
            if line.startswith(("error:", "fatal:")) and not any(word in line for word in known)
        ]


@contextmanager
def controller(
    folder: Path, files: dict[str, str], machine: SlurmNode | None = None, host: str = ""
) -> Iterator[Controller]:
    """A slurmctld on these files (slurm.conf, gres.conf, topology.conf), and the slurmd of `host`, which is
    such a machine, where one is given."""
    made = Controller(folder)
    with ExitStack() as running:
        # slurmstepd makes its sockets there, whose paths may have 108 characters.
        spool = running.enter_context(TemporaryDirectory(prefix="hl"))
        (folder / "etc").mkdir(parents=True)
        for name in ("state", "munge"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        devices = folder / "nvidia"
        ports = [free_port(), free_port()]
        for name, text in files.items():
            if name == "slurm.conf":
                # Names that no host has need an address.
                here = rf"\1 NodeAddr=127.0.0.1 Port={ports[1]}"
                text = _around(folder, spool, ports) + re.sub(
                    r"^(NodeName=\S+)", here, text, flags=re.MULTILINE
                )
            # The GPUs that this machine lacks.
            text = text.replace("File=/dev/nvidia", f"File={devices}")
            (folder / "etc" / name).write_text(text, encoding="utf-8")
        for gpu in range(len(machine.gpu_numa) if machine else 0):
            Path(f"{devices}{gpu}").symlink_to("/dev/null")
        (folder / "munge" / "key").write_bytes(b"k" * 128)
        (folder / "munge" / "key").chmod(0o600)
        conf = str(folder / "etc" / "slurm.conf")
        munged = [find("munged"), "--foreground", "--force", f"--socket={folder}/munge.socket"]
        munged += [f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "seed", "log")]
        _start(running, folder, munged, {})
        _await(lambda: (folder / "munge.socket").exists(), folder)
        _start(running, folder, [find("slurmctld"), "-D", "-f", conf], {})
        _await(lambda: _answers(made), folder)
        if machine is not None:
            env = {"HWLOC_SYNTHETIC": hwloc_synthetic(machine)}
            _start(running, folder, [find("slurmd"), "-D", "-N", host, "-f", conf], env)
            _await(lambda: "IDLE " in made.run("scontrol", "--oneliner", "show", "node", host), folder)
        yield made


def _around(folder: Path, spool: str, ports: list[int]) -> str:
    user = pwd.getpwuid(os.getuid()).pw_name
    return "".join(
        f"{line}\n"
        for line in (
            "ClusterName=exported",
            f"SlurmctldHost={socket.gethostname()}(127.0.0.1)",
            f"SlurmctldPort={ports[0]}",
            f"SlurmUser={user}",
            f"SlurmdUser={user}",
            f"AuthInfo=socket={folder}/munge.socket",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={spool}/%n",
            f"SlurmctldPidFile={folder}/slurmctld.pid",
            f"SlurmdPidFile={folder}/slurmd.pid",
            f"SlurmctldLogFile={folder}/slurmctld.log",
            f"SlurmdLogFile={folder}/slurmd.log",
            "SlurmdParameters=config_overrides",
            "ProctrackType=proctrack/linuxproc",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core_Memory",
            "DefMemPerCPU=100",
            "MailProg=/bin/true",
            "SlurmdTimeout=300",
        )
    )


def _start(running: ExitStack, folder: Path, argv: list[str], env: dict[str, str]) -> None:
    out = running.enter_context((folder / f"{Path(argv[0]).name}.out").open("wb"))
    process = subprocess.Popen(
        argv, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=out, stderr=out
    )
    running.callback(_stop, process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Asks first: a daemon that is killed leaves its helpers behind."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(ready: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + _READY_S
    while not ready():
        if time.monotonic() > end:
            said = "\n".join(f"{path}: {path.read_text()[-2000:]}" for path in folder.glob("*.out"))
            raise AssertionError(f"did not start: {said}")
        time.sleep(0.05)


def _answers(made: Controller) -> bool:
    done = subprocess.run(("scontrol", "ping"), env=made.env, capture_output=True, text=True, check=False)
    return "is UP" in done.stdout
