"""Which commit of git's a folder is at, and what was changed since.

Git's own command is asked beside other work. A repository that is slow, broken or not there is a reason that
is noted, and never stops a submission.
"""

import atexit
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import IO

from msgspec import Struct, structs

LIMIT_S = 2.0
LARGEST = 1 << 20  # bytes of a diff, and of a list of files
MOST_UNTRACKED = 100
_SHORTEST_LINE = 8  # characters: a line of a secret that may stand for it
_COMMIT = re.compile("[0-9a-f]{40,64}")  # SHA-1, or SHA-256
_BRANCH = re.compile(rb"# branch\.(oid|head) (.*)", re.DOTALL)
# The user's settings, or the repository's, that would change what a diff looks like, or run programs.
_PLAIN = (
    *("-c", "core.fsmonitor=false", "-c", "diff.relative=false", "-c", "diff.noprefix=false"),
    *("-c", "diff.mnemonicPrefix=false", "-c", "color.ui=never"),
)
_COMMANDS = {
    "root": ("rev-parse", "--show-toplevel"),
    "status": ("status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty"),
    "diff": ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD"),
}


class Repository(Struct, frozen=True, omit_defaults=True):
    """What git says of a folder. `commit` is None where there is none to name, and `reason` says why.
    `changed` and `untracked` are files, the latter at most MOST_UNTRACKED. `diff_bytes` is the size of what
    tracked files differ in from the commit, of which the record has at most the first LARGEST."""

    folder: str
    root: str = ""
    commit: str | None = None
    branch: str = ""
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    diff_bytes: int = 0
    diff_complete: bool = True
    reason: str = ""

    @property
    def dirty(self) -> bool:
        """Whether the files are others than those of the commit."""
        return bool(self.changed or self.untracked)


class Looking:
    """Git at work in a folder."""

    def __init__(self, folder: str):
        self.folder = folder
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._found: tuple[Repository, bytes] | None = None
        self._asked = {name: _Asked(folder, words) for name, words in _COMMANDS.items()}

    def result(self) -> tuple[Repository, bytes]:
        """What was found, and the diff; waits until LIMIT_S after the beginning."""
        with self._lock:
            if self._found is None:
                end = self._began + LIMIT_S
                self._found = self._read({name: each.result(end) for name, each in self._asked.items()})
            return self._found

    def end(self) -> None:
        """Ends what is still at work."""
        for each in self._asked.values():
            each.end()

    def _read(self, answers: Mapping[str, "_Answer"]) -> tuple[Repository, bytes]:
        status, diff = answers["status"], answers["diff"]
        if status.reason:
            return Repository(self.folder, reason=status.reason), b""
        found = _of_status(self.folder, _text(answers["root"].out).rstrip("\n"), status.out)
        if found.commit is None:
            return found, b""
        if diff.reason:
            return structs.replace(found, diff_complete=False, reason=f"no diff: {diff.reason}"), b""
        # A diff that is too long to be read is cut.
        found = structs.replace(found, diff_bytes=len(diff.out), diff_complete=not diff.cut)
        return found, diff.out


@cache
def look(folder: str) -> Looking:
    """Begins to look, once for each folder; git ends with this process at the latest."""
    looking = Looking(folder)
    atexit.register(looking.end)
    return looking


def without(text: bytes, secrets: Mapping[str, str]) -> bytes:
    """The text with the name of each secret in place of its value, and of each longer line of that."""
    names: dict[bytes, bytes] = {}
    for name, value in secrets.items():
        lines = [line for line in value.splitlines() if len(line) >= _SHORTEST_LINE]
        for part in (value, value.strip(), *lines, *(line.strip() for line in lines)):
            if part:
                names[os.fsencode(part)] = b"<secret " + name.encode() + b">"
    for secret in sorted(names, key=len, reverse=True):
        text = text.replace(secret, names[secret])
    return text


class _Answer(Struct, frozen=True):
    out: bytes = b""
    cut: bool = False
    reason: str = ""


class _Asked:
    """One command of git's, whose output is read as it comes."""

    def __init__(self, folder: str, words: Iterable[str]):
        self._out = b""
        self._error = b""
        self._failed = ""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                ["git", "-C", folder, *_PLAIN, *words],
                cwd="/",
                env=_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # with all that it starts it can be ended
            )
        except FileNotFoundError:
            self._failed = "git is not on the PATH"
        except OSError as error:
            self._failed = f"git cannot be started: {error}"
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        if self._process is None:
            return
        out, error = self._process.stdout, self._process.stderr
        assert out is not None
        assert error is not None
        self._out = _first(out, LARGEST + 1)
        if len(self._out) > LARGEST:
            self.end()
        self._error = _first(error, LARGEST)
        self._process.wait()

    def end(self) -> None:
        """Ends the command, and all that it started."""
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def result(self, end: float) -> _Answer:
        """The answer, or the reason for none where it is not there at `end` of the monotonic clock."""
        self._reader.join(max(0.0, end - time.monotonic()))
        if self._process is None:
            return _Answer(reason=self._failed)
        if self._reader.is_alive():
            self.end()
            return _Answer(reason=f"git did not answer within {LIMIT_S:.0f} s")
        if len(self._out) > LARGEST:
            # Whole lines, so that no beginning of a secret's value is left.
            return _Answer(self._out[: self._out.rfind(b"\n", 0, LARGEST) + 1], cut=True)
        if self._process.returncode:
            said = _text(self._error).strip().splitlines()
            return _Answer(reason=said[0] if said else f"git ended with status {self._process.returncode}")
        return _Answer(self._out)


def _first(stream: IO[bytes], most: int) -> bytes:
    found = b""
    while len(found) < most and (part := stream.read(most - len(found))):
        found += part
    return found


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Where git's own files are is a matter of the folder, not of this shell (a hook has GIT_DIR set); and
    looking changes nothing, asks nobody, and fetches nothing."""
    own = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    return {**own, **quiet, "LC_ALL": "C"}


def _of_status(folder: str, root: str, status: bytes) -> Repository:
    """The output of status, as `git help status` has it under "Porcelain Format Version 2"."""
    words: dict[str, str] = {}
    changed: list[str] = []
    untracked: list[str] = []
    lines = iter(status.split(b"\0"))
    for line in lines:
        kind = line[:2]
        if match := _BRANCH.fullmatch(line):
            words[match[1].decode()] = _text(match[2])
        elif kind == b"? ":
            untracked.append(_text(line[2:]))
        elif kind in (b"1 ", b"u "):
            changed.append(_text(line.split(b" ", 8 if kind == b"1 " else 10)[-1]))
        elif kind == b"2 ":
            changed.append(_text(line.split(b" ", 9)[-1]))
            next(lines, b"")  # the name that it had
    said = words.get("oid", "")
    commit = said if _COMMIT.fullmatch(said) else None
    none = "it has no commit yet" if said == "(initial)" else "git named no commit"
    return Repository(
        folder=folder,
        root=root,
        commit=commit,
        branch=words.get("head", ""),
        changed=tuple(changed),
        untracked=tuple(untracked[:MOST_UNTRACKED]),
        reason="" if commit is not None else none,
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
