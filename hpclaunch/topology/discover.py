"""Where discovery gets its captures: files, standard input, this machine, a script that ran elsewhere."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence

from hpclaunch.topology import captures
from hpclaunch.topology.captures import Used
from hpclaunch.topology.readers import nvidia_smi, sysfs
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError, Problem

STANDARD_INPUT = "-"
_SMI_S = 30.0  # nvidia-smi starts the driver where no persistence daemon runs
_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "capture.sh")


def script() -> str:
    """The POSIX sh text that prints what discovery needs of the machine it runs on."""
    with open(_SCRIPT, encoding="utf-8") as file:
        return file.read()


def from_files(names: Sequence[str]) -> Used:
    """Every capture in these files; `-` is standard input, a folder stands for the files in it, and a folder
    with a /sys in it for that machine.

    Raises InputError for what cannot be read, for a broken capture, and for a file named here in which no
    known format is found.
    """
    seen: list[Seen] = []
    unused: list[str] = []
    problems: list[Problem] = []
    for name in names:
        try:
            used = _from_path(name)
        except InputError as error:
            problems += error.problems
            continue
        seen += used.seen
        unused += used.unused
    if problems:
        raise InputError(problems)
    return Used(tuple(seen), tuple(unused))


def _from_path(name: str) -> Used:
    if name != STANDARD_INPUT and os.path.isdir(name):
        if os.path.isdir(os.path.join(name, "sys", "devices", "system", "cpu")):
            return Used((sysfs.read_live(name),), ())
        return _from_folder(name)
    shown = "standard input" if name == STANDARD_INPUT else name
    used = captures.read(captures.decode(_bytes(name), shown), shown)
    if not used.seen:
        raise InputError(f"{name}: no known capture is in it. Known: {captures.KNOWN}")
    return used


def _from_folder(folder: str) -> Used:
    """A support bundle holds much else: what fits no format is only named."""
    seen: list[Seen] = []
    unused: list[str] = []
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        if not os.path.isfile(path):
            continue
        try:
            text = captures.decode(_bytes(path), path)
        except InputError as error:
            unused.append(str(error))
            continue
        used = captures.read(text, path)
        seen += used.seen
        unused += used.unused
    if not seen:
        raise InputError(f"{folder}: no file in it has a known capture. Known: {captures.KNOWN}")
    return Used(tuple(seen), tuple(unused))


def _bytes(name: str) -> bytes:
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read(captures.LIMIT + 1)
    try:
        # A pipe (`<(ssh dgx001 lscpu)`) is as good as a file; a device is not.
        mode = os.stat(name).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise InputError(f"{name}: neither a file nor a folder with captures")
        with open(name, "rb") as stream:
            return stream.read(captures.LIMIT + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else "not the name of a file"
        raise InputError(f"{name}: {reason}") from None


def from_text(text: str, name: str) -> Used:
    """The captures in the output of `script`, which ran elsewhere. Raises InputError where it is none."""
    used = captures.read(text, name)
    if not used.seen:
        raise InputError(f"{name}: it printed no capture")
    return used


def from_this_machine() -> Used:
    """This machine: /sys, and what nvidia-smi says of distances where it is there and answers.

    Raises HpclaunchError where /sys is no help.
    """
    seen = [sysfs.read_live()]
    unused = []
    program = shutil.which("nvidia-smi")
    if program:
        try:
            done = subprocess.run(
                [program, "topo", "-m"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SMI_S
            )
            text = done.stdout.decode("utf-8", "replace")
            if done.returncode == 0 and nvidia_smi.looks_like(text):
                seen.append(nvidia_smi.read(text, "nvidia-smi topo -m"))
            else:
                unused.append("nvidia-smi topo -m printed no matrix: nothing of it is used")
        except subprocess.TimeoutExpired:
            unused.append(f"nvidia-smi topo -m did not answer within {_SMI_S:.0f} s: nothing of it is used")
        except OSError as error:
            unused.append(f"nvidia-smi cannot be started ({error.strerror}): nothing of it is used")
    return Used(tuple(seen), tuple(unused))
