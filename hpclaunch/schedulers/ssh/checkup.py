"""Whether a login node can be used from here, for `hpclaunch doctor`."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.records.checkup import room_check
from hpclaunch.records.quota import quota_check
from hpclaunch.schedulers.ssh import words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.twin import LIMIT_S
from hpclaunch.schedulers.ssh.way import OverSsh
from hpclaunch.values.checkup import Check, failed
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.login import Login

_SPACE = "free space of ssh.home"
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
        yield from _room(login)
    else:
        said = done.err.decode("utf-8", "replace").strip() or "it cannot be written"
        yield Check("ssh.home", "bad", f"{login.home}: {said}", "Name a folder of yours in the site.")
    try:
        yield Check("Slurm's commands there", "ok", OverSsh(login, slurm_conf).version())
    except SchedulerError as error:
        yield failed("Slurm's commands there", "bad", error)


def _room(login: Login) -> Iterator[Check]:
    """What is free in the folder there, and of the user's own limit."""
    there = connection(login)
    home = words.quote(login.home)
    # POSIX: NAME KIB USED FREE PERCENT MOUNTED-ON. `stat` is GNU's, and says the type in its own words.
    asked = f"(LC_ALL=C; export LC_ALL; df -Pk {home} | tail -n 1; stat -f -c %T {home}; id -u) </dev/null"
    try:
        answer = there.run(asked, LIMIT_S).out.decode("utf-8", "replace")
        found = re.search(r"\s(\d+)\s+\d+%\s+(/.*)\n(.*)\n(\d+)\n$", answer)
        if found is None:
            yield Check(_SPACE, "not known", f"df and stat do not tell of {login.home}")
            return
        yield room_check(login.home, int(found[1]) * 1024, subject=_SPACE)

        def run(command: Sequence[str]) -> tuple[int, str, str]:
            done = there.run(words.command(command, {"LC_ALL": "C"}), LIMIT_S)
            return done.status, done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace")

        yield quota_check(found[2], found[3], found[4], run, "quota of ssh.home")
    except SchedulerError as error:
        yield failed(_SPACE, "not known", error)
