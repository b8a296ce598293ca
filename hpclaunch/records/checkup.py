"""Whether the folder of all records is one that jobs can be submitted from."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hpclaunch.records import files
from hpclaunch.records.quota import quota_check
from hpclaunch.values.checkup import Check
from hpclaunch.values.errors import HpclaunchError

SUBJECT = "HPCLAUNCH_HOME"
LITTLE = 1 << 30  # bytes: logs of a few jobs
NOTHING = 10 << 20
_ASK_S = 20
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
    room = os.statvfs(home)
    yield room_check(str(home), room.f_bavail * room.f_frsize, not room.f_files or room.f_favail >= 100)
    mount, kind = _file_system(home)
    yield quota_check(mount, kind, str(os.getuid()), _run)
    if shared:
        yield _seen(home)


def room_check(home: str, free: int, files_fit: bool = True, subject: str = "free space") -> Check:
    """What `free` bytes in the folder mean, and whether it takes more files."""
    text = f"{free / 2**30:.1f} GiB in {home}, as the file system says it"
    if free < NOTHING or not files_fit:
        advice = "Remove old records and logs there."
        return Check(subject, "bad", text if files_fit else f"no more files fit in {home}", advice)
    if free < LITTLE:
        return Check(subject, "warning", text, "Logs of jobs go there: make room.")
    return Check(subject, "ok", text)


def _run(command: Sequence[str]) -> tuple[int, str, str]:
    """For a program that may ask a server, which may be silent."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_S,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"no answer within {_ASK_S} s") from error
    return done.returncode, done.stdout, done.stderr


def _seen(home: Path) -> Check:
    subject = "compute nodes see it"
    _, kind = _file_system(home)
    if kind in _SHARED:
        return Check(subject, "ok", f"{home} is on {kind}")
    if kind in _LOCAL:
        return Check(
            subject, "warning", f"{home} is on {kind}, which is most often this machine's own", _ELSEWHERE
        )
    return Check(subject, "not known", f"{home} is on {kind or 'a file system without a name'}")


def _file_system(path: Path) -> tuple[str, str]:
    """Where the file system that `path` is on is mounted, and its type, "" where nobody tells."""
    best, kind = "", ""
    try:
        lines = os.fsdecode(_MOUNTS.read_bytes()).split("\n")
    except OSError:
        return "", ""
    real = os.path.realpath(path)
    for line in lines:
        words = line.split(" ")
        if len(words) < 3:
            continue
        point, name = (_ESCAPE.sub(lambda found: chr(int(found[1], 8)), word) for word in words[1:3])
        if len(point) >= len(best) and (real + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, name
    return best, kind
