"""What a job has found out about its nodes on the cluster, brought into its record here."""

from collections.abc import Iterable

from hpclaunch.records import checks, files
from hpclaunch.records.record import Record
from hpclaunch.schedulers.ssh import words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.twin import LIMIT_S, twin_of
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.login import Login
from hpclaunch.values.preflight import FILE

_MOST = 1 << 20  # bytes; thousands of nodes have a line each


def bring(records: Iterable[Record], login: Login) -> None:
    """For those that check nodes. A job that starts again says other things, so all of it is brought.

    Raises SchedulerError where the node cannot be asked, and OSError where the disk here refuses.
    """
    for record in records:
        if not checks.are_asked(record):
            continue
        path = words.quote(str(twin_of(record, login).folder / FILE))
        done = connection(login).run(f"([ ! -e {path} ] || head -c {_MOST} {path}) </dev/null", LIMIT_S)
        if done.status:
            said = done.err.decode("utf-8", "replace").strip().splitlines()
            raise SchedulerError(f"{login}: {said[-1] if said else 'it failed and said nothing'}")
        if done.out:
            files.replace(record.folder / FILE, done.out)
