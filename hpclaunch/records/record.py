"""One submission's folder: `$HPCLAUNCH_HOME/jobs/<site>/<uuid>/`.

The folder appears complete before anything is sent, and from then on only `state.json` changes. So a
record without a job id says: the submission was under way, and the scheduler may or may not have it.
"""

import os
import re
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import Struct

from hpclaunch import __version__
from hpclaunch.records import files, index, sets
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import JobStatus
from hpclaunch.values.slurmaccess import SlurmAccess

SCHEMA = 1
GIVEN_UP = "nobody"  # what the claim of a submission is that was given up: no job's id
SITE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class Cluster(Struct, frozen=True):
    """Where on which Kubernetes cluster a job is. `kubeconfig` are absolute paths as KUBECONFIG has them, and
    `context` is the one of theirs that was used; both are "" within a pod, which has a cluster of its own."""

    namespace: str
    context: str = ""
    kubeconfig: str = ""


class Intent(Struct, frozen=True):
    """What was about to be sent. `tag` is the folder's name and goes with the submission; `slurm_conf` with
    `slurm`, or `cluster`, what the later commands need to reach the same cluster; `argv` the command line
    used, and `cwd` the folder in which ("": it was gone). `directory` is where the relative paths of job.yaml
    start. `tasks` are those of a job array, 0 for any other job; in a `chain` they follow each other. Where
    one command sends several jobs, `lock_of` is the record with the lock that it holds (records/sets.py), and
    `waits_for` has the tags of those that the job waits for, each with afterok or afterany; a `singleton`
    waits for all jobs of its name.
    """

    tag: str
    site: str
    scheduler: str
    name: str
    created: str
    argv: tuple[str, ...]
    versions: dict[str, str]
    directory: str
    cwd: str
    slurm_conf: str | None = None
    cluster: Cluster | None = None
    slurm: SlurmAccess | None = None
    tasks: int = 0
    chain: bool = False
    lock_of: str = ""
    waits_for: tuple[tuple[str, str], ...] = ()
    singleton: bool = False
    schema: int = SCHEMA

    @property
    def is_array(self) -> bool:
        """Whether its tasks are jobs side by side, each with a log of its own. The links of a chain are one
        job."""
        return self.tasks > 0 and not self.chain

    @property
    def claims(self) -> bool:
        """Whether its script makes the claim before it starts a rank."""
        return self.scheduler == "slurm"


class State(Struct, frozen=True, omit_defaults=True):
    """What is known since. `checked` is when the scheduler was asked for `status`, in seconds since 1970.
    `cancelled`: its end was asked for, where the scheduler itself forgets that. `given_up`: when, by
    `hpclaunch forget`."""

    job_id: str | None = None
    status: JobStatus | None = None
    checked: float = 0.0
    cancelled: bool = False
    given_up: str = ""
    schema: int = SCHEMA


T = TypeVar("T", Intent, State)


class Record(Struct, frozen=True):
    """A record on disk. `intent` never changes; `state()` is read afresh."""

    folder: Path
    intent: Intent

    @classmethod
    def create(
        cls,
        *,
        site: str,
        scheduler: str,
        name: str,
        script: str,
        plan: bytes,
        job_yaml: str,
        site_yaml: str,
        directory: str,
        argv: Sequence[str],
        scheduler_version: str,
        slurm_conf: str | None = None,
        cluster: Cluster | None = None,
        slurm: SlurmAccess | None = None,
        tasks: int = 0,
        chain: bool = False,
        tag: str = "",
        more: Mapping[str, bytes] = MappingProxyType({}),
        among: sets.Among = sets.ALONE,
        take: sets.Take = sets.take_alone,
    ) -> "Record":
        """Writes the record of a submission that has not been sent yet. `tag` is one from `new_tag` that
        other records know it by, and `more` are files beside those that every record has. `take` writes
        it: of several that one command sends, with the others that it is `among`.

        Raises HpclaunchError where the folder cannot be written.
        """
        if not SITE_NAME.fullmatch(site):
            raise HpclaunchError(f"{site!r} cannot be the name of a site: letters, digits and . _ - only")
        tag = tag or new_tag()
        intent = Intent(
            tag=tag,
            site=site,
            scheduler=scheduler,
            name=name,
            created=now("microseconds"),  # of many that one command makes each its own, in their order
            argv=_words(tuple(argv)),
            versions={**own_versions(), "scheduler": scheduler_version},
            directory=directory,
            cwd=_shown(_cwd()),
            slurm_conf=slurm_conf,
            cluster=cluster,
            slurm=slurm,
            tasks=tasks,
            chain=chain,
            lock_of=among.lock_of,
            waits_for=among.waits_for,
            singleton=among.singleton,
        )
        contents = {
            **more,
            "intent.json": _pretty(intent),
            "job.yaml": job_yaml.encode(),
            "site.yaml": site_yaml.encode(),
            "plan.json": plan,
            _script_name(intent): script.encode(),
        }
        folder = files.home() / "jobs" / site / tag
        take(folder, contents, ("logs", "work"))
        return cls(folder, intent)

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """The record in `folder`. Raises HpclaunchError for one that is damaged or of a newer hpclaunch."""
        intent = _decode(folder / "intent.json", Intent)
        if intent is None:
            raise HpclaunchError(f"{folder} is not a record: it has no intent.json")
        return cls(folder, intent)

    @property
    def tag(self) -> str:
        """The submission's own name, which no other has."""
        return self.intent.tag

    @property
    def script(self) -> Path:
        """What was sent: a script, or a manifest."""
        return self.folder / _script_name(self.intent)

    @property
    def log(self) -> Path:
        """Where the job's standard output and error go."""
        return self.folder / "logs" / "output.log"

    def log_of(self, task: int) -> Path:
        """The same of a task of a job array; the links of a chain have one."""
        return self.log if self.intent.chain else self.log.with_name(f"output-{task}.log")

    @property
    def work(self) -> Path:
        """The folder in which the script starts."""
        return self.folder / "work"

    @property
    def claim(self) -> Path:
        """The link that a job of this submission makes before anything else: to the id of the job, and of an
        array the array's."""
        return self.folder / "claim"

    def claimed_by(self) -> str | None:
        """The id of the job that has begun to run, if any. Raises OSError where nobody can tell."""
        # By reading the folder: of a single name NFS may remember that it was not there.
        owner = os.readlink(self.claim) if self.claim.name in os.listdir(self.folder) else None
        return owner if owner != GIVEN_UP else None

    def state(self) -> State:
        """What is known since the submission began. Raises HpclaunchError for a damaged file."""
        return _decode(self.folder / "state.json", State) or State()

    def submitted(self, job_id: str) -> None:
        """Notes the scheduler's id. Raises OSError."""
        with files.locked(self.folder / "lock"):
            self._write(msgspec.structs.replace(self.state(), job_id=job_id))
        index.add(self.folder.parent, job_id, self.tag)

    def give_up(self, status: JobStatus) -> None:
        """Notes the last that is known of what the user gave up. Raises OSError."""
        with files.locked(self.folder / "lock"):
            self._write(msgspec.structs.replace(self.state(), status=status, given_up=now()))

    def cancelled(self, asked: bool = True) -> None:
        """Notes that the job's end is asked for, or after all not. Raises OSError."""
        with files.locked(self.folder / "lock"):
            self._write(msgspec.structs.replace(self.state(), cancelled=asked))

    def update(
        self, status: JobStatus, checked: float | None = None, instead_of: State | None = None
    ) -> None:
        """Notes a status asked for at `checked` (default: now). One that is older than what is known is
        dropped, and so is one in place of a state (`instead_of`) that is not the known one any more: else two
        processes side by side could bring an ended job back to life. Raises OSError."""
        moment = time.time() if checked is None else checked
        with files.locked(self.folder / "lock"):
            known = self.state()
            # What bears a time that is still to come was noted before a clock was put right.
            later = moment >= known.checked or known.checked > time.time()
            if later and instead_of in (None, known):
                given_up = known.given_up if status.state == "UNKNOWN" else ""  # it is there after all
                self._write(msgspec.structs.replace(known, status=status, checked=moment, given_up=given_up))

    def _write(self, state: State) -> None:
        files.replace(self.folder / "state.json", _pretty(state))


def new_tag() -> str:
    """A name for a submission, which no other has."""
    return str(uuid.uuid4())


def own_versions() -> dict[str, str]:
    """Of what makes records."""
    return {"hpclaunch": __version__, "python": ".".join(map(str, sys.version_info[:3]))}


def _script_name(intent: Intent) -> str:
    return "manifest.yaml" if intent.scheduler == "kubernetes" else "script.sh"


def now(to_the: str = "milliseconds") -> str:
    """This moment as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec=to_the).replace("+00:00", "Z")


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


@cache  # of many jobs that one command submits each record has them all
def _words(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_shown, argv))


def _shown(text: str) -> str:
    """Text from outside as JSON can hold it: bytes that are not UTF-8 become \\xff."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def _pretty(value: Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _decode(path: Path, kind: type[T]) -> T | None:
    """As `files.parsed`. Raises HpclaunchError for a form of a newer hpclaunch, too."""
    value = files.parsed(path, kind)
    if value is not None and value.schema > SCHEMA:
        raise HpclaunchError(
            f"{path} was written by a newer hpclaunch (form {value.schema}, known: {SCHEMA})"
        )
    return value
