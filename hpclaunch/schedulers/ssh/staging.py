"""Files of a job on their way to the cluster: once for each content, whoever needs them after."""

import os.path

import msgspec

from hpclaunch.records import files
from hpclaunch.records.record import Record
from hpclaunch.schedulers.contract import Busy, Refused
from hpclaunch.schedulers.ssh import trees, words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.twin import LIMIT_S, unpack
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.login import Login
from hpclaunch.values.staged import Staged

NAME = "staged.json"


def kept(copies: list[Staged]) -> dict[str, bytes]:
    """How a record knows the files of its job, for as long as they may have to be sent."""
    return {NAME: msgspec.json.encode(copies)} if copies else {}


def send(record: Record, login: Login) -> None:
    """Sends what the cluster does not have yet of a record's files. Raises Refused: nothing of the job was
    submitted."""
    send_files(files.parsed(record.folder / NAME, list[Staged]) or [], login)


def send_files(wanted: list[Staged], login: Login) -> None:
    """The same of these files."""
    if not wanted:
        return
    there = _there(wanted, login)
    for one in wanted:
        if one.target not in there:
            _send(one, login)


def _there(copies: list[Staged], login: Login) -> set[str]:
    tests = "; ".join(f"[ -e {words.quote(one.target)} ] && echo {index}" for index, one in enumerate(copies))
    try:
        done = connection(login).run(f"({tests}; :) </dev/null", LIMIT_S)
    except Refused:
        raise
    except SchedulerError as error:
        raise Busy(str(error)) from error
    return {copies[int(index)].target for index in done.out.split()}


def _send(one: Staged, login: Login) -> None:
    target = words.quote(one.target)
    stream = trees.archive(one.source, os.path.basename(one.target))
    try:
        unpack(login, one.target, stream, f"[ -e {target} ]", f"chmod a-w {target}")
    except trees.Unfit as error:
        raise Refused(str(error)) from error
