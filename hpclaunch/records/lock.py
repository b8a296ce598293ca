"""What a run was made of beside its job and site: `lock.json` of the record, and `changes.diff`.

It is written with the record, before anything is sent. What it would take a network to know is null, with
the reason.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from hpclaunch.records import files, repository
from hpclaunch.records.record import Record
from hpclaunch.records.repository import Repository
from hpclaunch.values.errors import HpclaunchError

NAME, CHANGES = "lock.json", "changes.diff"
SAMPLE = 1 << 20  # bytes from each end of an image file
Names = tuple[str, ...]
_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})$")


class Image(Struct, frozen=True, omit_defaults=True):
    """Which image it was. `digest` is the one that the reference names, or that is noted beside a file which
    was imported; `sha256` is noted there instead where no registry told one. Of a file that nobody imported
    there are its size in bytes, when it was changed, and `ends_sha256`: the sum of its first and last MiB,
    where a squashfs file has its superblock with the time of its making, and its tables; all of it would
    take minutes."""

    reference: str
    digest: str | None = None
    sha256: str = ""
    file: str = ""
    size: int | None = None
    modified: str = ""
    ends_sha256: str = ""
    reason: str = ""


class _Imported(Struct, frozen=True):
    """What is read of the note beside an image that was imported to a file that nodes share."""

    digest: str
    sha256: str


class Environment(Struct, frozen=True):
    """Names of variables from the submitter's shell: those that it had, those that it had not, and the
    secrets."""

    inherited: Names = ()
    not_set: Names = ()
    secrets: Names = ()


class Lock(Struct, frozen=True):
    """`site_file` is the site's file, or its name where it ships with hpclaunch; `versions` are those that
    the site says."""

    site_file: str
    versions: dict[str, str]
    environment: Environment
    image: Image | None
    repository: Repository | None
    schema: int = 1


def read(record: Record) -> Lock:
    """The lock of a record. Raises HpclaunchError for a damaged one, or where it is gone."""
    path = record.folder / NAME
    found = files.parsed(path, Lock)
    if found is None:
        raise HpclaunchError(f"the record's {path} is gone")
    return found


def files_of(lock: Lock, folder: str, secrets: Mapping[str, str]) -> dict[str, bytes]:
    """The files of a lock, with what git says of `folder`; no value of the `secrets` is in them."""
    found, diff = repository.look(folder).result()
    lock = msgspec.structs.replace(lock, repository=found)
    text = msgspec.json.format(msgspec.json.encode(lock), indent=2) + b"\n"
    texts = {NAME: text}
    if diff:
        texts[CHANGES] = repository.without(diff, secrets)
    return texts


def environment(
    inherit: tuple[str, ...], secrets: tuple[str, ...], environ: Mapping[str, str]
) -> Environment:
    """The names, divided."""
    return Environment(
        inherited=tuple(name for name in inherit if name in environ),
        not_set=tuple(name for name in inherit if name not in environ),
        secrets=secrets,
    )


def image_of_reference(reference: str) -> Image:
    """What a reference tells."""
    digest = _DIGEST.search(reference)
    if digest:
        return Image(reference, digest[1])
    return Image(reference, reason="the reference has no digest, and the registry is not asked")


@cache  # a sweep has one image
def image_of_file(reference: str, path: str) -> Image:
    """What a file tells, as far as it can be read here."""
    try:
        with open(path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            ends = hashlib.sha256(file.read(SAMPLE))
            if status.st_size > SAMPLE:
                file.seek(max(SAMPLE, status.st_size - SAMPLE))
                ends.update(file.read(SAMPLE))
    except OSError as error:
        return Image(reference, file=path, reason=f"the file cannot be read here: {error.strerror}")
    when = datetime.fromtimestamp(status.st_mtime, timezone.utc).isoformat(timespec="milliseconds")
    return Image(
        reference,
        file=path,
        size=status.st_size,
        modified=when.replace("+00:00", "Z"),
        ends_sha256=ends.hexdigest(),
        reason="a file has no digest of a registry's",
    )


def image_shared(reference: str, path: str, elsewhere: bool) -> Image:
    """Of an image that is imported to a file that nodes share what the reference and the note beside the file
    tell. The first job imports it: then there is no note yet. `elsewhere`: only the cluster sees the file."""
    known = image_of_reference(reference)
    if known.digest is not None or elsewhere:
        why = "" if known.digest is not None else "the file is on the cluster, which is not asked for it"
        return msgspec.structs.replace(known, file=path, reason=why)
    try:
        note = files.parsed(Path(f"{path}.json"), _Imported)
    except HpclaunchError:
        return Image(reference, file=path, reason=f"what is noted in {path}.json cannot be read")
    if note is None:
        return Image(reference, file=path, reason="it was not imported yet")
    why = "" if note.digest else "the registry told no digest when it was imported"
    return Image(reference, note.digest or None, note.sha256, path, reason=why)


def image_elsewhere(reference: str) -> Image:
    """A file that only the cluster sees."""
    return Image(reference, file=reference, reason="the file is on the cluster, which is not asked for it")
