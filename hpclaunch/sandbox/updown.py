"""Bringing a sandbox up, taking it down, and saying how it is."""

import fcntl
import json
import os
import pwd
import random
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from hpclaunch.sandbox import accounting, compiled, configuration, machines, packages, processes
from hpclaunch.sandbox.groups import Group
from hpclaunch.sandbox.layout import Layout
from hpclaunch.values.errors import HpclaunchError

STUBBED = (
    "containers: a stand-in for Pyxis records the options; no image is started",
    "CPU masks: computed and checked by Slurm, recorded, not enforced",
    "memory policies: recorded, not enforced",
    "taskset and numactl: stand-ins in native/bin bind ranks as above, before they start the command",
    "GPUs, HCAs and the memlock limit: a made-up /sys, /proc and /dev for each node in machines/, no device",
)
_PLAIN = re.compile(r"[\w./+@:-]+", re.ASCII)
_READY_SECONDS = 40.0
_ACCOUNTS_READY_SECONDS = 80.0  # before slurmctld starts, if there are accounts
_ANSWER_SECONDS = 10.0


class Status(Struct, frozen=True):
    """How a sandbox is: `state` is up, degraded (some daemons have ended: `ended`) or down."""

    name: str
    state: str
    folder: str
    site: str
    slurm_conf: str
    nodes: dict[str, str]
    ended: dict[str, int]
    stubbed: tuple[str, ...]


def obstacle(accounts: bool = False) -> str:
    """Why no sandbox can be had on this machine, or none with accounts, in one line that says what to do;
    "" where one can."""
    absent = packages.missing(accounts)
    return packages.advice(absent) if absent else processes.refusal()


def up(
    layout: Layout,
    name: str,
    groups: tuple[Group, ...],
    pyxis_version: str,
    accounts: bool,
    say: Callable[[str], None],
) -> None:
    """Start a sandbox, with a slurmdbd where it is to keep accounts, and return when every node is idle.

    What a crash left in the folder is removed first. Raises HpclaunchError where packages are missing, where
    the sandbox is up already, where the folder holds something else, and where a daemon does not start; then
    nothing is left behind.
    """
    if not _PLAIN.fullmatch(str(layout.folder)):
        raise HpclaunchError(
            f"{layout.folder}: Slurm's files hold no path with blanks or signs; give another"
        )
    reason = obstacle(accounts)
    if reason:
        raise HpclaunchError(reason)
    with _locked(layout):
        ports = _free_ports(1 + sum(group.nodes for group in groups) + accounts)
        settings = configuration.Settings(
            name=name,
            groups=groups,
            slurm_version=packages.slurm_version(),
            pyxis_version=pyxis_version,
            ports=ports[accounts:],
            user=pwd.getpwuid(os.getuid()).pw_name,
            accounts_port=ports[0] if accounts else None,
        )
        _start(layout, settings, say)
    for line in _stubbed(settings):
        say(line)


def _stubbed(settings: configuration.Settings) -> tuple[str, ...]:
    """What is not real, in a line each."""
    names = dict.fromkeys(group.machine.name for group in settings.groups if group.made_up_gpus)
    more = (f"the PCI addresses of the GPUs of {', '.join(names)}: made up, since no source has them",)
    return STUBBED + (more if names else ())


def _start(layout: Layout, settings: configuration.Settings, say: Callable[[str], None]) -> None:
    if processes.supervisors(layout):
        raise HpclaunchError(
            f"the sandbox in {layout.folder} is up already; `hpclaunch sandbox down` ends it"
        )
    _remove(layout)
    try:
        _make_folders(layout, settings)
        say("compiling the preload library and the stand-ins for Pyxis, taskset and numactl")
        compiled.build(layout, settings)
        configuration.write(layout, settings)
        slurm = f"Slurm {settings.slurm_version} ({packages.system()})"
        keeper = "slurmdbd, " if settings.accounts_port is not None else ""
        say(f"starting {keeper}slurmctld and {len(settings.hosts)} slurmd of {slurm}")
        supervisor = processes.launch(layout)
        _await_idle(layout, settings, supervisor)
    except BaseException:
        _destroy(layout)
        raise


def down(layout: Layout) -> bool:
    """End every process and remove every file of the sandbox, also after a crash. False: there was none."""
    if not (layout.folder.exists() or layout.run.exists() or processes.supervisors(layout)):
        return False
    with _locked(layout):
        _destroy(layout)
    return True


@contextmanager
def _locked(layout: Layout) -> Iterator[None]:
    """One `up` or `down` at a time. The lock is on the folder above: no file, and gone with its holder."""
    layout.folder.parent.mkdir(parents=True, exist_ok=True)
    above = os.open(layout.folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(above, fcntl.LOCK_EX)
        yield
    finally:
        os.close(above)


def status(layout: Layout) -> Status:
    """How the sandbox is; asks its controller for the nodes. A sandbox that is not there is down."""
    living = bool(processes.supervisors(layout))
    marker: dict[str, Any] = {"name": layout.folder.name, "stubbed": STUBBED}
    if layout.marker.exists():
        marker |= json.loads(layout.marker.read_text(encoding="utf-8"))
    ended = _ended(layout) if living else {}
    state = "down" if not living else "degraded" if ended else "up"
    return Status(
        name=marker["name"],
        state=state,
        folder=str(layout.folder),
        site=str(layout.site),
        slurm_conf=str(layout.slurm_conf),
        nodes=_node_states(layout)
        if living and not {"munged", configuration.CONTROLLER} & set(ended)
        else {},
        ended=ended,
        stubbed=tuple(marker["stubbed"]),
    )


def _ended(layout: Layout) -> dict[str, int]:
    """Daemon -> exit status (negative: the signal) of those that have ended, as the supervisor noted."""
    try:
        seen = json.loads((layout.run / "state.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}  # it has just begun
    return {daemon: code for daemon, code in seen.items() if code is not None}


def _make_folders(layout: Layout, settings: configuration.Settings) -> None:
    layout.folder.mkdir(parents=True, exist_ok=True)
    marker = {"name": settings.name, "run": str(layout.run), "stubbed": _stubbed(settings)}
    layout.marker.write_text(json.dumps(marker), encoding="utf-8")
    layout.run.mkdir(mode=0o755)
    layout.run.chmod(0o755)
    for folder in ("etc", "log", "native/bin", "native/real", "devices", "record", "machines"):
        (layout.folder / folder).mkdir(parents=True)
    for path in ("munge", "state", "spool", "tmp"):
        (layout.run / path).mkdir(mode=0o700 if path == "munge" else 0o755)
    for host in settings.hosts:
        (layout.run / "spool" / host).mkdir()
        (layout.run / "tmp" / host).mkdir()
        (layout.run / "tmp" / host).chmod(0o1777)
    if settings.accounts_port is not None:
        accounting.make_folder(layout)
    key = layout.run / "munge" / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    layout.tasks.mkdir()
    for group in settings.groups:
        for host in group.hosts:
            machines.write(group.tree, group.machine, host, layout.machines / host)
    for index in range(settings.most_gpus):
        (layout.folder / "devices" / f"nvidia{index}").touch()
    for record in (layout.affinity, layout.pyxis):
        record.touch()
        record.chmod(0o666)  # the tasks' own users write their lines


def _free_ports(count: int) -> tuple[int, ...]:
    """Ports that nothing listens on, below the range from which the kernel takes ports for clients."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(15_000, 29_999)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return tuple(found)


def _await_idle(
    layout: Layout, settings: configuration.Settings, supervisor: "subprocess.Popen[bytes]"
) -> None:
    more = 0.0 if settings.accounts_port is None else _ACCOUNTS_READY_SECONDS
    end = time.monotonic() + _READY_SECONDS + more
    while True:
        ended = _ended(layout)
        # Without munged every question would wait for its own time limit.
        states = {} if ended else _node_states(layout)
        if all(states.get(host) == "idle" for host in settings.hosts):
            return
        gone = supervisor.poll() is not None
        if gone or ended or time.monotonic() > end:
            who = ", ".join(ended) or ("the supervisor" if gone else "")
            reason = f"{who} ended" if who else f"the nodes are {states or 'unknown'}"
            raise HpclaunchError(f"the sandbox did not start: {reason}\n{_last_words(layout, ended)}")
        time.sleep(0.1)


def _node_states(layout: Layout) -> dict[str, str]:
    """Node -> state ("idle", "alloc", "down*"), asked from the controller; empty if it does not answer."""
    env = {**os.environ, "SLURM_CONF": str(layout.slurm_conf)}
    argv = [packages.find("sinfo"), "--noheader", "--Node", "--format=%N %t"]
    try:
        asked = subprocess.run(
            argv, env=env, capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        return {}
    pairs = (line.split() for line in asked.stdout.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _last_words(layout: Layout, ended: dict[str, int]) -> str:
    """The ends of the logs of what failed."""
    names = [f"{name}.out" for name in ended] or ["supervisor.log", "slurmctld.log"]
    words = []
    for name in names:
        path = layout.log / name
        if path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
            words += [f"{name}: {line}" for line in lines]
    return "\n".join(words)


def _remove(layout: Layout) -> None:
    """Remove the files. Raises HpclaunchError for a folder that is not empty and not a sandbox's."""
    if layout.folder.exists() and any(layout.folder.iterdir()) and not layout.marker.exists():
        raise HpclaunchError(f"{layout.folder} is not empty and not a sandbox; give another folder")
    run: Path = layout.run
    if run.is_symlink() or (run.exists() and run.stat().st_uid != os.getuid()):
        raise HpclaunchError(f"{run} belongs to another user; remove it")
    if run.exists():
        shutil.rmtree(run)
    if layout.folder.exists():
        # The marker goes last: what a crash leaves here is still known for a sandbox's.
        for entry in layout.folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry != layout.marker:
                entry.unlink()
        layout.marker.unlink(missing_ok=True)
        layout.folder.rmdir()


def _destroy(layout: Layout) -> None:
    processes.kill(layout)
    _remove(layout)
