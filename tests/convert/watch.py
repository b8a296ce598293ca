"""What the interpreter tells of a process that changes anything, runs anything or goes to the network.

The names are those of Python's table of audit events. What has none (os.mkfifo, os.umask) is not seen, and
resource.prlimit is what a program that may be started gets of limits.
"""

import os
import sys
from typing import Any

# Beginnings of the events' names.
CHANGES = (
    *("os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink", "os.truncate", "os.utime"),
    *("os.chmod", "os.chown", "os.chflags", "os.setxattr", "os.removexattr", "os.lockf"),
    *("os.chdir", "os.putenv", "os.unsetenv", "resource.setrlimit"),
    *("shutil.", "tempfile.", "syslog.", "sqlite3."),
)
PROGRAMS = (
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "pty.", "ctypes."),
    *("os.kill", "signal.pthread_kill", "subprocess.", "pickle.find_class", "webbrowser."),
)
NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "imaplib.", "poplib.", "nntplib.")
FORBIDDEN = (*CHANGES, *PROGRAMS, *NETWORK)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """`with Watch() as seen:` and what was done meanwhile stands in `seen`. `programs` may be started; where
    `is_blind` no file may be read either, but Python's own modules."""

    def __init__(self, programs: tuple[str, ...] = (), *, is_blind: bool = False) -> None:
        self.programs, self.is_blind = programs, is_blind
        self.seen: list[str] = []
        self._is_on = self._is_hooked = False

    def __enter__(self) -> list[str]:
        if not self._is_hooked:  # it cannot be taken back
            sys.addaudithook(self._hear)
            self._is_hooked = True
        self.seen.clear()
        self._is_on = True
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._is_on = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        # What Python keeps of a module read late is no deed of who imports it.
        if self._is_on and self._is_forbidden(event, arguments) and "__pycache__" not in str(arguments[:1]):
            self.seen.append(f"{event} {arguments}")

    def _is_forbidden(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "subprocess.Popen":
            return os.path.basename(str(arguments[1][0])) not in self.programs
        if event == "open":
            file, _, flags = arguments
            if isinstance(file, int):  # a pipe to a program, which is there already
                return False
            return bool(flags & WRITES) or (self.is_blind and not str(file).endswith((".py", ".pyc")))
        return event.startswith(FORBIDDEN)
