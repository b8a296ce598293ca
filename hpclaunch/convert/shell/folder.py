"""The folder that a script is in, where the user says in which one it was submitted (--env PWD=/FOLDER)."""

from collections.abc import Mapping
from posixpath import join, normpath
from typing import TYPE_CHECKING

from hpclaunch.readback.shell import inside
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.values import Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

# sbatch starts a script in the folder where it was typed, and names that (sbatch(1), OUTPUT ENVIRONMENT).
_OF_SUBMISSION = "SLURM_SUBMIT_DIR"
_ELSEWHERE = Unknown("output", "the folder that the script has gone to")


def submitted(shell: "Walker", environment: Mapping[str, str]) -> None:
    """Give the script what Slurm tells it of the folder, too."""
    folder = environment.get("PWD")
    if folder and _OF_SUBMISSION not in environment:
        shell.state.set(_OF_SUBMISSION, Variable((inside(folder),)))


def change(shell: "Walker", words: list[Value]) -> None:
    """What cd, pushd and popd make of a folder that is known."""
    here = _here(shell)
    if here is None:
        return
    rest = [text for word in words[1:] if (text := known(word)) not in ("-P", "-L", "--")]
    folder = rest[0] if len(rest) == 1 and known(words[0]) != "popd" else None
    there: Value = (_ELSEWHERE,)
    if folder and not folder.startswith(("-", "+", "~")):
        there = (normpath(join(here, folder)),)
    shell.state.set("PWD", Variable(there))


def printed(shell: "Walker", words: list[Value]) -> Value | None:
    """What pwd writes, None where the folder is not known, and for any other command."""
    here = _here(shell) if known(words[0]) == "pwd" and len(words) < 3 else None
    return None if here is None else (f"{here}\n",)


def _here(shell: "Walker") -> str | None:
    variable = shell.state.get("PWD")
    if variable is None or variable.value is None or isinstance(variable.value, Array):
        return None
    return known(variable.value)
