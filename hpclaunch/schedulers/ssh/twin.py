"""The folder of a submission on the cluster, beside the record here: what Slurm reads and writes.

The record here is what hpclaunch goes by. Its twin has the script and the files that the script reads, the
logs, the working folder, and the claim; secrets lie beside it as they lie beside a record.
"""

import contextlib
import io
import os
import tarfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from hpclaunch.records import files, secrets
from hpclaunch.records import index as index_of_jobs
from hpclaunch.records.record import GIVEN_UP, Record
from hpclaunch.records.sending import LOCK
from hpclaunch.schedulers.contract import Busy, Refused
from hpclaunch.schedulers.links import FILE as CHAIN
from hpclaunch.schedulers.ssh import words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.contract import Lost
from hpclaunch.schedulers.ssh.remote_commands import locking
from hpclaunch.schedulers.ssh.trees import LAST, TOP
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.login import Login

LIMIT_S = 60.0
_ADVICE = "ssh.home in the site must be a folder of yours there, or one that you can make, with space in it."
# What no script reads; and without its intent the folder is no record, should somebody use hpclaunch there.
_STAYS_HERE = frozenset(
    {"intent.json", "state.json", "lock", LOCK, "job.yaml", "site.yaml", "plan.json", "staged.json"}
)


def twin_of(record: Record, login: Login) -> Record:
    """The record as Slurm sees it. Nothing of it is on this machine but its names."""
    return Record(Path(login.home) / "jobs" / record.intent.site / record.tag, record.intent)


def prepare(record: Record, login: Login, submission: Submission) -> Record:
    """Makes the twin, unless an earlier attempt has, and writes the secrets. Nothing has been submitted when
    this fails. Raises Refused."""
    twin = twin_of(record, login)
    quoted = words.quote(str(twin.folder))
    unpack(login, str(twin.folder), [_archive(record)], f"[ -d {quoted} ]")
    if submission.secrets:
        put(login, str(secrets.path_of(twin)), secrets.text(submission.secrets))
    return twin


def unpack(login: Login, target: str, archive: Iterable[bytes], there: str, after: str = ":") -> None:
    """Makes the folder or file `target` of the member `it` of a tar archive, whole or not at all, unless the
    condition `there` holds; then does what `after` says, a text for sh as `there` is. Raises Refused."""
    folder, _, name = target.rpartition("/")
    staging = words.quote(f"{folder}/.new-{name}-{os.urandom(6).hex()}")
    quoted = words.quote(target)
    body = (
        f"(umask 077; {there} && exit 0; mkdir -p {words.quote(folder)} && mkdir {staging} || exit 73; "
        f"tar -xpf - --no-same-owner -C {staging} && [ -e {staging}/{LAST} ] && "
        f"mv -T {staging}/{TOP} {quoted} && {after}; hl_e=$?; "
        f"{there} && hl_e=0; chmod -R u+w {staging} 2>/dev/null; rm -rf {staging}; exit $hl_e)"
    )
    _change(login, body, archive)


def make(login: Login, folder: str) -> None:
    """A folder for the user alone, unless it is there. Raises Refused."""
    _change(login, f"(umask 077; mkdir -p {words.quote(folder)}) </dev/null", ())


def put(login: Login, target: str, data: bytes, in_new: bool = True) -> None:
    """A file for the user alone, whole or not at all, its folder being made where it is not there (`in_new`).
    Its content is in no argument. Raises Refused."""
    folder, _, name = target.rpartition("/")
    staging = words.quote(f"{folder}/.{name}.{os.urandom(6).hex()}")
    made = f"mkdir -p {words.quote(folder)} && " if in_new else ""
    body = (
        f"(umask 077; {made}cat >{staging} && "
        f'[ "$(wc -c <{staging})" -eq {len(data)} ] && mv -f {staging} {words.quote(target)}; hl_e=$?; '
        f"rm -f {staging}; exit $hl_e)"
    )
    _change(login, body, [data])


def forget_secrets(records: Sequence[Record], login: Login) -> None:
    """Removes the files of secrets that may still be there, and what a `put` that was killed left of them.
    Raises SchedulerError where they may stay."""
    paths = [secrets.path_of(twin_of(record, login)) for record in records]
    left = [f"{words.quote(str(path))} {words.quote(f'{path.parent}/.{path.name}.')}*" for path in paths]
    _change(login, f"rm -f -- {' '.join(left)}", ())


def give_up(record: Record, login: Login) -> bool:
    """Takes the claim there for nobody, and says whether nobody has it: not where a job came first, and not
    where the folder is gone. Raises SchedulerError where the node cannot be asked."""
    claim = words.quote(str(twin_of(record, login).claim))
    body = f'(ln -sn {GIVEN_UP} {claim} 2>/dev/null; [ "$(readlink {claim})" = {GIVEN_UP} ]) </dev/null'
    return connection(login).run(body, LIMIT_S).status == 0


class Marks(Struct, frozen=True):
    """What jobs have left in a twin: the id of the job that has begun to run, how a chain ended
    (schedulers/links.py); and whether an sbatch holds the lock there. "" where there is none."""

    claim: str
    chain: str
    is_sent: bool


def bring_marks(records: Sequence[Record], login: Login) -> dict[str, Marks]:
    """Tag -> marks, which the records here have from then on too. Raises SchedulerError where the node
    cannot be asked, and OSError where a record cannot be written."""
    folders = " ".join(words.quote(str(twin_of(record, login).folder)) for record in records)
    body = (
        f'(for hl_d in {folders}; do [ -d "$hl_d" ] || {{ echo; echo; echo; continue; }}; '
        'cd "$hl_d" || exit; '
        f"readlink claim || echo; head -n 1 {CHAIN} 2>/dev/null || echo; "
        f"({locking(LOCK, '-s')}) && echo || echo sent; done) </dev/null"
    )
    done = connection(login).run(body, LIMIT_S)
    lines = done.out.decode("utf-8", "replace").split("\n")
    if done.status or len(lines) != 3 * len(records) + 1:
        raise SchedulerError(f"{login}: {_said(done.err)}")
    found = {}
    for index, record in enumerate(records):
        claim, chain, is_sent = lines[3 * index : 3 * index + 3]
        given_up = claim == GIVEN_UP
        if claim and not given_up and not index_of_jobs.JOB_ID.fullmatch(claim):
            raise SchedulerError(f"{login}: the claim of {record.tag} is no job id: {claim!r}")
        found[record.tag] = Marks("" if given_up else claim, chain, bool(is_sent))
        _keep(record, claim, chain)
    return found


def _keep(record: Record, claim: str, chain: str) -> None:
    if claim:
        with contextlib.suppress(FileExistsError):
            record.claim.symlink_to(claim)
    path = record.folder / CHAIN
    if chain and not path.exists():
        files.replace(path, f"{chain}\n".encode())


def _change(login: Login, body: str, data: Iterable[bytes]) -> None:
    """Nothing that is done here starts a job, so there is none where it fails, and it may be done again."""
    try:
        done = connection(login).run(body, LIMIT_S, data)
    except Lost as error:
        raise Busy(str(error)) from error
    if done.status:
        raise Refused(f"{login}: {_said(done.err)}", _ADVICE)


def _said(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it failed and said nothing"


def _archive(record: Record) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in (TOP, f"{TOP}/logs", f"{TOP}/work"):
            _add(archive, name, None)
        for path in sorted(record.folder.iterdir()):
            if path.is_file() and path.name not in _STAYS_HERE and not path.name.startswith("."):
                _add(archive, f"{TOP}/{path.name}", path.read_bytes())
        _add(archive, LAST, b"")
    return stream.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes | None) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o700 if data is None else 0o600
    info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
    info.size, info.mtime = len(data or b""), int(time.time())
    archive.addfile(info, io.BytesIO(data or b""))
