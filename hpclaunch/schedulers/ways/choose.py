"""Which way to Slurm is taken, and why."""

import shutil
from functools import cache
from importlib import util

from msgspec import Struct

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways.commands import ByCommands
from hpclaunch.schedulers.ways.contract import Sender, Way
from hpclaunch.values.errors import first_line
from hpclaunch.values.slurmaccess import SlurmAccess

PYSLURM = "pyslurm"


class Choice(Struct, frozen=True):
    """The way that is taken, and why it and not another."""

    name: str
    why: str


@cache
def choice(slurm_conf: str | None, access: SlurmAccess) -> Choice:
    """The way for a cluster, the same one as long as this process lives. Raises Refused where the site chose
    a way that is not there, and SchedulerError where the controller has to be asked and does not answer."""
    if access.login is not None:
        return Choice("commands", f"the site is reached over SSH, as {access.login}")
    if access.via == "commands":
        return Choice("commands", "the site says so")
    if access.via == "rest":
        if access.rest is None:
            raise Refused("the site says via: rest, and not where slurmrestd is", "Set slurm.rest.url.")
        return Choice("rest", "the site says so")
    if access.via == "pyslurm":
        obstacle = pyslurm_obstacle(slurm_conf)
        if obstacle:
            raise Refused(f"the site says via: pyslurm, and {obstacle}", "`via: auto` takes sbatch then.")
        return Choice(PYSLURM, "the site says so")
    if shutil.which("sbatch") is None and access.rest is not None:
        return Choice("rest", "sbatch is not on the PATH")
    obstacle = pyslurm_obstacle(slurm_conf)
    return Choice("commands", obstacle) if obstacle else Choice(PYSLURM, "it is here and of Slurm's release")


def sender(slurm_conf: str | None, access: SlurmAccess) -> Sender:
    """What sends jobs. Raises as `choice` does."""
    if choice(slurm_conf, access).name == PYSLURM:
        from hpclaunch.schedulers.ways.inprocess import InProcess

        return InProcess(slurm_conf)
    return way(slurm_conf, access)


def way(slurm_conf: str | None, access: SlurmAccess) -> Way:
    """What is asked about jobs: never pyslurm, which may not be where a job is asked for. Raises as `choice`
    does."""
    may_be_rest = access.via == "rest" or (access.via == "auto" and access.rest is not None)
    if may_be_rest and choice(slurm_conf, access).name == "rest":
        from hpclaunch.schedulers.ways.rest import ByRest

        assert access.rest is not None
        return ByRest(access.rest, slurm_conf)
    if access.login is not None:
        from hpclaunch.schedulers.ssh.way import OverSsh

        return OverSsh(access.login, slurm_conf)
    return ByCommands(Commands(slurm_conf))


def commands(slurm_conf: str | None, access: SlurmAccess) -> Commands:
    """Slurm's commands for the cluster, wherever they run."""
    if access.login is None:
        return Commands(slurm_conf)
    from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands

    return RemoteCommands(access.login, slurm_conf)


@cache
def pyslurm_obstacle(slurm_conf: str | None) -> str:
    """Why pyslurm is not for this cluster, "" where it is. It is not loaded for that: of another release than
    the controller its library may end the process. Raises SchedulerError where the controller does not
    answer."""
    if util.find_spec(PYSLURM) is None:
        return "pyslurm is not installed"
    # Most machines have no pyslurm, and this takes a while to load.
    from importlib import metadata

    from hpclaunch.schedulers.slurm_cluster import read_config

    try:
        installed = _release(metadata.version(PYSLURM))
    except metadata.PackageNotFoundError:
        return "pyslurm does not say which version it is"
    try:
        config = read_config(Commands(slurm_conf))
    except Refused as error:
        return f"scontrol does not tell the controller's version: {first_line(error)}"
    controller = config.get("slurm_version", "")
    if installed != _release(controller):
        return f"pyslurm is for Slurm {installed}, and the controller is {controller or 'not known'}"
    filters = config.get("clifilterplugins", "")
    if filters not in ("", "(null)"):
        return f"the site's CliFilterPlugins={filters} act in sbatch alone"
    return ""


def _release(version: str) -> str:
    """Year and month, "22.05", of Slurm's 22.05.8 or pyslurm's 22.5.3."""
    year, _, rest = version.partition(".")
    return f"{year}.{rest.partition('.')[0]:0>2}"
