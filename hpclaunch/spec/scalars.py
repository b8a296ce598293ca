"""The text of one scalar -> its value, by our rules and not by YAML's.

Each function raises ValueError with what is wrong and what would be right.
"""

import re

UNLIMITED = 0
LONGEST_MINUTES = (2**31 - 1) // 60  # Slurm counts a limit's seconds in a C int (time_str2secs)

TRUE = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
FALSE = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}

_TIME_FORMS = "30 (minutes), MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS, 30m, 2h, 1d12h, 90s or UNLIMITED"

# Variables that bash or dash set, refuse or drop by themselves, so that no shell can hand on a job's value
# byte for byte. Found by running `export NAME=value; exec env` in bash 5.2, dash and busybox.
_SHELL_OWNED = """
_ BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_LINENO BASH_SOURCE
BASH_SUBSHELL BASH_VERSINFO DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO
OLDPWD OPTIND PPID PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID
"""
SHELL_OWNED = frozenset(_SHELL_OWNED.split())


def whole_number(text: str) -> int:
    """A decimal whole number. The forms in which YAML 1.1 hides other bases are refused, not guessed."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{shown(text)} is not a whole number in decimal digits, such as 8")
    if len(digits) > 1 and digits[0] == "0":
        raise ValueError(f"{shown(text)} begins with 0, which YAML reads as octal: write {int(digits[:18])}")
    if len(digits) > 18:
        raise ValueError(f"{shown(text)} is too large")
    return int(text)


def boolean(text: str) -> bool:
    """true or false, in any spelling of YAML 1.1."""
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    raise ValueError(f"{shown(text)} is neither true nor false")


def minutes(text: str) -> int:
    """A time limit in whole minutes, rounded up as Slurm does; 0 for UNLIMITED or INFINITE.

    Takes the forms of Slurm's --time (sbatch(1)), and numbers with d, h, m, s. As in Slurm, a part may be
    larger than the next unit: 00:70:00 is 70 minutes.
    """
    if text.upper() in ("UNLIMITED", "INFINITE"):
        return UNLIMITED
    seconds = _seconds(text)
    if seconds is None:
        raise ValueError(f"{shown(text)} is not a time limit; write {_TIME_FORMS}")
    if seconds == 0:
        raise ValueError(f"{shown(text)} leaves no time to run; for no limit write UNLIMITED")
    whole = -(-seconds // 60)
    if whole > LONGEST_MINUTES:
        raise ValueError(f"{shown(text)} is longer than Slurm can count; for no limit write UNLIMITED")
    return whole


def span(text: str) -> int:
    """A span of time in seconds, in the forms of `minutes` but for UNLIMITED: a bare number is minutes."""
    seconds = _seconds(text)
    if seconds is None:
        raise ValueError(f"{shown(text)} is not a span of time; write 90s, 2m, 00:02:00 or minutes alone")
    return seconds


def _seconds(text: str) -> int | None:
    found = _slurm_seconds(text)
    return _unit_seconds(text) if found is None else found


def _slurm_seconds(text: str) -> int | None:
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    texts = [days, *parts] if dash else parts
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in texts):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, mins, secs = numbers + [0] * (3 - len(numbers))
        return ((int(days) * 24 + hours) * 60 + mins) * 60 + secs
    if len(numbers) == 3:
        return (numbers[0] * 60 + numbers[1]) * 60 + numbers[2]
    return numbers[0] * 60 + (numbers[1] if len(numbers) == 2 else 0)


def _unit_seconds(text: str) -> int | None:
    found = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text, re.ASCII)
    if not found or not text or len(text) > 48:
        return None
    days, hours, mins, secs = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + mins) * 60 + secs


def variable_name(text: str) -> str:
    """The name of an environment variable that every shell hands on unchanged."""
    if not (text.isascii() and text.isidentifier()):
        raise ValueError(
            f"{shown(text)} is not the name of a variable: letters, digits and _, no digit first"
        )
    if text in SHELL_OWNED:
        raise ValueError(f"{text} belongs to the shell, which sets it itself: use another name")
    if text.startswith("hl_"):
        raise ValueError(f"{text}: names with hl_ belong to the wrapper that starts a rank: use another")
    return text


def carried(text: str) -> str:
    """`text`, where an argument or a variable of a process can carry it."""
    if "\0" in text:
        raise ValueError("a NUL character, which no argument and no variable can carry")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("not valid Unicode: half of a surrogate pair") from None
    return text


def shown(text: str, limit: int = 60) -> str:
    """`text` in quotes for a message, on one line and not long."""
    return ascii_safe(text if len(text) <= limit else text[: limit - 3] + "...")


def ascii_safe(text: str) -> str:
    """repr, with what a terminal cannot print escaped."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return ascii(text)
    return repr(text)
