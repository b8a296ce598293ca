"""Which ways to Slurm work from here, and why not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone

from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm_cluster import read_config
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways import choose
from hpclaunch.schedulers.ways.commands import ByCommands
from hpclaunch.values.checkup import Check, Result, failed
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess

_PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol", "sacct", "srun")
_REST_S = 10.0
_LOAD_S = 30.0


def way_checks(slurm_conf: str | None, access: SlurmAccess) -> Iterator[Check]:
    """Each way, and which one is taken. A way that does not work is bad only where it would be taken."""
    yield _taken(slurm_conf, access)
    yield _commands(slurm_conf, needed=access.via != "rest")
    yield _pyslurm(slurm_conf, needed=access.via == "pyslurm")
    if access.rest is not None:
        yield (served := _rest(access.rest, needed=access.via == "rest"))
        if access.via == "rest" and served.result != "bad":
            yield _rest_accounts(access.rest)


def _taken(slurm_conf: str | None, access: SlurmAccess) -> Check:
    subject = f"via: {access.via}"
    try:
        taken = choose.choice(slurm_conf, access)
    except SchedulerError as error:
        return failed(subject, "bad", error)
    return Check(subject, "ok", f"{taken.name}: {taken.why}")


def _commands(slurm_conf: str | None, needed: bool) -> Check:
    subject = "Slurm's commands"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    lacks: Result = "bad" if needed else "ok"
    if "sbatch" in missing:
        advice = "Use a login node of the cluster, or load Slurm's module." if needed else ""
        return Check(subject, lacks, "sbatch is not on the PATH", advice)
    commands = Commands(slurm_conf)
    try:
        version = ByCommands(commands).version()
        read_config(commands)
    except SchedulerError as error:
        return failed(subject, lacks, error)
    if missing:
        return Check(subject, "warning", f"{version}; not on the PATH: {', '.join(missing)}")
    return Check(subject, "ok", version)


def _pyslurm(slurm_conf: str | None, needed: bool) -> Check:
    try:
        obstacle = choose.pyslurm_obstacle(slurm_conf)
    except SchedulerError as error:
        return failed(choose.PYSLURM, "bad" if needed else "not known", error)
    if not obstacle:
        failure = _loading_fails(slurm_conf)
        if not failure:
            return Check(choose.PYSLURM, "ok", "it is here, of Slurm's release, and can be loaded")
        advice = "Build it anew against the libraries that are here, or say via: commands."
        found = f"sbatch sends each job in its place: it cannot be loaded: {failure}"
        return Check(choose.PYSLURM, "bad" if needed else "warning", found, advice)
    advice = "Build the pyslurm of the cluster's release, or say via: auto." if needed else ""
    return Check(choose.PYSLURM, "bad" if needed else "ok", f"not used: {obstacle}", advice)


def _loading_fails(slurm_conf: str | None) -> str:
    """Why pyslurm cannot be loaded, "" where it can. A process of its own tries: Slurm's library may end the
    one that loads it, and sees the environment that a submission has."""
    argv = [sys.executable, "-c", "import sys; sys.path[:] = sys.argv[1:]; import pyslurm", *sys.path]
    try:
        done = subprocess.run(
            argv,
            env=closed(os.environ, {}, slurm_conf),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LOAD_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"Python ended with status {done.returncode}"


def _rest(server: RestServer, needed: bool) -> Check:
    from hpclaunch.schedulers.ways.rest import release
    from hpclaunch.schedulers.ways.restclient import RestClient

    subject = f"slurmrestd at {server.url}"
    bad: Result = "bad" if needed else "warning"
    client = RestClient(server)
    try:
        served = client.served(_REST_S)
        if server.api not in served:
            advice = "Set slurm.rest.api to one of them."
            found = f"it serves {', '.join(served) or 'nothing of Slurm'}, and not {server.api}"
            return Check(subject, bad, found, advice)
        answer = client.ask("GET", "ping", _REST_S)
    except SchedulerError as error:
        return failed(subject, bad, error)
    if server.url.startswith("http://") and not server.url.startswith(("http://127.", "http://localhost:")):
        found = f"Slurm {release(answer)}, {server.api}; tokens and scripts cross the network in the clear"
        return Check(subject, "warning", found, "Let it be behind https, or on a unix socket.")
    return Check(subject, "ok", f"Slurm {release(answer)}, {server.api}")


def _rest_accounts(server: RestServer) -> Check:
    from hpclaunch.schedulers.ways import restaccounts
    from hpclaunch.schedulers.ways.restclient import RestClient

    subject = f"accounts by {server.url}"
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    if restaccounts.since(RestClient(server), now) is not None:
        return Check(subject, "ok", "they are served")
    return Check(
        subject,
        "warning",
        "slurmrestd gives none, so how a job ended that Slurm has forgotten is not known to `list` and "
        "`submit --resume`",
        "Let the cluster keep accounts (slurmdbd), and slurmrestd serve its API /slurmdb/ too.",
    )
