"""Whether the folder of all records is one that jobs can be submitted from."""

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hpclaunch.records import files
from hpclaunch.values.checkup import Check
from hpclaunch.values.errors import HpclaunchError

SUBJECT = "HPCLAUNCH_HOME"
LITTLE = 1 << 30  # bytes: logs of a few jobs
NOTHING = 10 << 20
_MOUNTS = Path("/proc/self/mounts")
# Types as /proc/self/mounts has them (proc(5)): on this machine alone, and on servers of a cluster. Of one in
# neither list (9p and virtiofs of virtual machines, sshfs) nobody knows who else sees it.
_LOCAL = frozenset(["btrfs", "ext2", "ext3", "ext4", "overlay", "ramfs", "tmpfs", "xfs", "zfs"])
_SHARED = frozenset(
    ["afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "gpfs", "lustre", "nfs", "nfs4", "panfs", "wekafs"]
)
# How a blank, a tab, a line break and a backslash stand in that file (mangle_path in Linux's fs/seq_file.c).
_ESCAPE = re.compile(r"\\([0-7]{3})")
_ELSEWHERE = "Set HPCLAUNCH_HOME to a folder of yours on a file system that the compute nodes see as well."


def home_checks(*, shared: bool) -> Iterator[Check]:
    """The folder: can it be written, is there room, and do other machines see it, where they have to."""
    try:
        home = files.home()
        files.private_folder(home)
        with tempfile.NamedTemporaryFile(dir=home, prefix=files.STAGING) as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    except (OSError, HpclaunchError) as error:
        yield Check(SUBJECT, "bad", f"it cannot be written: {error}", _ELSEWHERE)
        return
    yield Check(SUBJECT, "ok", f"{home} can be written")
    yield _room(home)
    if shared:
        yield _seen(home)


def _room(home: Path) -> Check:
    subject = "free space"
    room = os.statvfs(home)
    free = room.f_bavail * room.f_frsize
    text = f"{free / 2**30:.1f} GiB in {home}, as the file system says it"
    if free < NOTHING or (room.f_files and room.f_favail < 100):
        advice = "Remove old records and logs there; `quota -s` shows a limit of your own."
        return Check(subject, "bad", text if free < NOTHING else f"no more files fit in {home}", advice)
    if free < LITTLE:
        return Check(subject, "warning", text, "Logs of jobs go there: make room.")
    return Check(subject, "ok", text)


def _seen(home: Path) -> Check:
    subject = "compute nodes see it"
    kind = _file_system(home)
    if kind in _SHARED:
        return Check(subject, "ok", f"{home} is on {kind}")
    if kind in _LOCAL:
        return Check(
            subject, "warning", f"{home} is on {kind}, which is most often this machine's own", _ELSEWHERE
        )
    return Check(subject, "not known", f"{home} is on {kind or 'a file system without a name'}")


def _file_system(path: Path) -> str:
    """The type of the file system that `path` is on, "" where nobody tells."""
    best, kind = "", ""
    try:
        lines = os.fsdecode(_MOUNTS.read_bytes()).split("\n")
    except OSError:
        return ""
    real = os.path.realpath(path)
    for line in lines:
        words = line.split(" ")
        if len(words) < 3:
            continue
        point, name = (_ESCAPE.sub(lambda found: chr(int(found[1], 8)), word) for word in words[1:3])
        if len(point) >= len(best) and (real + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, name
    return kind
