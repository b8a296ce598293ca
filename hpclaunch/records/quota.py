"""How much of a user's own limit on a file system is left, as the programs `quota` and `lfs quota` tell it.

Both print a line with the file system and eight values: KiB used, soft and hard limit, grace, and the same of
files, 0 being no limit (quota.c of quota-tools 4, with -p; print_quota of lustre/utils/lfs.c). A * stands
after what is beyond a limit, Lustre puts [] round what a server did not tell, and breaks the line after a
long name. `quota` leaves out where there is no limit, and ends with 1 beyond one.
"""

import re
from collections.abc import Callable, Sequence

from hpclaunch.values.checkup import Check

# A command -> its exit status, standard output and error. Raises OSError where it cannot be run.
Run = Callable[[Sequence[str]], tuple[int, str, str]]

_NEARLY = 0.95
_NUMBER = r"\[?(\d+)\]?\*?\]?"
_HALF = rf"\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+\S+"
_ROW = re.compile(rf"^\s*\S.*?{_HALF}{_HALF}\s*$", re.MULTILINE | re.DOTALL)


def quota_check(mount: str, kind: str, uid: str, run: Run, subject: str = "quota") -> Check:
    """What is left for the user on the file system of type `kind` that is mounted at `mount`."""
    if kind == "lustre":
        command = ["lfs", "quota", "-q", "-u", uid, mount]
    else:
        command = ["quota", "-u", "-w", "-p", "-f", mount]
    try:
        status, out, err = run(command)
    except FileNotFoundError:
        return Check(subject, "not known", f"no program {command[0]} is here to ask about {mount}")
    except OSError as error:
        return Check(subject, "not known", f"{command[0]} does not tell of {mount}: {error}")
    row = _ROW.search(out.partition("grace\n")[2] if "grace\n" in out else out)
    if row is None and (status or kind == "lustre"):
        said = (err.strip() or out.strip() or f"it ended with status {status}").splitlines()[-1]
        return Check(subject, "not known", f"{command[0]} does not tell of {mount}: {said}")
    if row is None:
        return Check(subject, "ok", f"no limit of yours is in use on {mount}")
    kib, soft_kib, hard_kib, files, soft_files, hard_files = map(int, row.groups())
    told = [
        _half(kib / 2**20, soft_kib / 2**20, hard_kib / 2**20, "{:,.1f} GiB"),
        _half(files, soft_files, hard_files, "{:,.0f} files"),
    ]
    text = f"{' and '.join(text for _, text in told)} on {mount}"
    worst = max(used for used, _ in told)
    if worst < _NEARLY:
        return Check(subject, "ok", text)
    advice = "Remove what you need no longer there, or set HPCLAUNCH_HOME to another file system."
    return Check(subject, "bad" if worst >= 1 else "warning", text, advice)


def _half(used: float, soft: float, hard: float, form: str) -> tuple[float, str]:
    """The part of the limit that is used, 0 without one, and both in words. Beyond the soft one there is a
    while left, in which the hard one holds."""
    shown = form.format(used)
    if not (soft or hard):
        return 0, shown
    most = hard or soft
    part = used / most
    if soft and used > soft:
        part = max(part, _NEARLY)
    return part, f"{shown} of {form.format(most)}"
