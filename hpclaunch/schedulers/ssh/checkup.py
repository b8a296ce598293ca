"""Whether a login node can be used from here, for `hpclaunch doctor`."""

from collections.abc import Iterator

from hpclaunch.schedulers.ssh import words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.twin import LIMIT_S
from hpclaunch.schedulers.ssh.way import OverSsh
from hpclaunch.values.checkup import Check, failed
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.login import Login

_NEEDED = ("tar", "flock", "mv", "wc", "tail", "head")


def login_checks(login: Login, slurm_conf: str | None) -> Iterator[Check]:
    """The connection, the programs that hpclaunch calls there, the folder for jobs, and Slurm's commands."""
    home = words.quote(login.home)
    looks = "; ".join(f"command -v {name} >/dev/null || printf ' %s' {name}" for name in _NEEDED)
    body = f"({looks}; echo; umask 077; mkdir -p {home} && [ -w {home} ] && echo w) </dev/null"
    subject = f"SSH to {login}, by {login.transport}"
    try:
        done = connection(login).run(body, LIMIT_S)
    except SchedulerError as error:
        yield failed(subject, "bad", error)
        return
    missing, _, writable = done.out.decode("utf-8", "replace").partition("\n")
    if missing:
        yield Check(subject, "bad", f"not there:{missing}", "Ask the administrators for these programs.")
    else:
        yield Check(subject, "ok", "it works")
    if writable.strip() == "w":
        yield Check("ssh.home", "ok", f"{login.home} can be written")
    else:
        said = done.err.decode("utf-8", "replace").strip() or "it cannot be written"
        yield Check("ssh.home", "bad", f"{login.home}: {said}", "Name a folder of yours in the site.")
    try:
        yield Check("Slurm's commands there", "ok", OverSsh(login, slurm_conf).version())
    except SchedulerError as error:
        yield failed("Slurm's commands there", "bad", error)
