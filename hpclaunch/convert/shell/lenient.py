"""What a variable is that nobody gave: unset where the script is ready for that, else unknown and wanted."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hpclaunch.convert.reading import Assumed
from hpclaunch.readback.shell import pieces
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.pieces import Parameter
from hpclaunch.readback.shell.state import State
from hpclaunch.readback.shell.values import Unknown, Value

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

# Set by the shell, the login or the scheduler, to something that no input tells.
_OTHERS = frozenset(
    (
        "HOME",
        "USER",
        "LOGNAME",
        "PWD",
        "OLDPWD",
        "HOSTNAME",
        "RANDOM",
        "SRANDOM",
        "EUID",
        "UID",
        "PATH",
        "SHELL",
    )
    + ("PPID", "SECONDS", "TMPDIR", "LINENO", "BASHPID", "BASH_SOURCE", "FUNCNAME", "BASH", "BASH_VERSION")
)
_OF_SCHEDULERS = ("SLURM_", "SLURMD_", "PBS_", "LSB_", "SGE_")


def is_others(name: str) -> bool:
    """Whether a script finds the variable set, by others than the operator."""
    return name in _OTHERS or name.startswith(_OF_SCHEDULERS)


class LenientExpander(Expander):
    """Expands words, and tells the walk which variables it missed."""

    def __init__(
        self, walker: "Walker", state: State, output_of: Callable[[pieces.Command], Value], budget: Budget
    ):
        super().__init__(state, output_of, budget)
        self._walker = walker

    def untouched(self, expansion: Parameter) -> list[Value] | None:
        name = expansion.name
        if is_others(name):
            return [(Unknown("variable", name),)]
        if expansion.operator in ("", ":?", "?") or not expansion.operator:
            self._walker.wanted.setdefault(name, []).append(self._walker.place)
            return [(Unknown("variable", name),)]
        if expansion.operator in (":-", "-", ":=", "=", ":+", "+"):
            self._walker.assumed.append(Assumed(name, self._walker.place))
            return []
        return [(Unknown("variable", name),)]
