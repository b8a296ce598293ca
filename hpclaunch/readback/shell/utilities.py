"""Names of utilities that programs of people's own have too: ./test is not the shell's test, nor ../sort the
system's.

The names are of the utilities that IEEE Std 1003.1-2024 (Shell & Utilities, chapters 2.15 and 3), GNU
coreutils, procps-ng (free, top, ps) and iproute2 (ip) have.
"""

_NAMES = frozenset(
    (
        *("test", "sort", "stat", "top", "wait", "diff", "id", "dd", "ip", "free", "select", "hash"),
        *("split", "join", "wc", "grep", "sed", "cat", "date", "echo", "true", "false", "seq", "head"),
        *("tail", "touch", "kill", "sync", "let", "trap", "return", "read", "sleep", "hostname", "cut", "tr"),
        *("paste", "type", "ls", "pwd", "ps", "du", "which", "printf", "set", "shift", "jobs", "times"),
        *("cmp", "od", "uniq", "expr", "find", "mv", "cp", "rm", "ln", "cd", "local", "exit"),
        "nproc",
    )
)
# Where a system has them: /bin, /usr/sbin, and the bin of whatever was installed.
_FOLDERS = ("/bin", "/sbin")


def is_own(path: str) -> bool:
    """Whether a program of somebody's own has the name of a utility."""
    folder, slash, name = path.rpartition("/")
    return bool(slash) and name in _NAMES and not (path.startswith("/") and folder.endswith(_FOLDERS))
