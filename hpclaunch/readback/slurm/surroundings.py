"""What ranks get from around their wrapper: variables that the script exports, those of the shell that
submits it, and secrets."""

from collections.abc import Iterable

from msgspec import Struct, structs

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.launch import SeenVariable, Unbridged
from hpclaunch.values.names import PMIX_FENCE

# Of the place: who runs the job, and what Slurm itself says. Bash does not pass on the last two.
_OF_PLACE = ("PATH", "HOME", "USER", "LOGNAME", "SLURMD_NODENAME", "BASHOPTS", "SHELLOPTS")
_OF_SLURM = ("SLURM_", "SRUN_", "SBATCH_", "SPANK_", "PYXIS_")
# The file of a submission's secrets is the script's second argument.
_SECRETS = Unknown("input", "${2}")


class Surroundings(Struct, frozen=True):
    """`exported` are variables with their values, `secrets` names."""

    exported: tuple[SeenVariable, ...]
    secrets: tuple[str, ...]
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]


def surroundings(call: Call, inherited: Iterable[str]) -> Surroundings:
    """What srun has around it. `inherited` are variables of the submitter's that ranks are given by name."""
    exported: list[SeenVariable] = []
    unread: list[str] = []
    unbridged: list[Unbridged] = []
    for name, value in call.environment:
        text = known(value)
        if name in _OF_PLACE and (text is None or name in ("BASHOPTS", "SHELLOPTS")):
            continue
        if name == "SLURM_NETWORK":
            unbridged.append(
                Unbridged(f"SLURM_NETWORK={shown(value)}", "Kubernetes asks no network for anything")
            )
        elif name.startswith(_OF_SLURM) and (name != PMIX_FENCE or text is None):
            unread.append(f"line {call.line}: {name} is exported, which srun or Pyxis may follow")
        elif text is None:
            unread.append(
                f"line {call.line}: {name} is exported as {shown(value)}, which the text does not tell"
            )
        if text is not None:
            exported.append(SeenVariable(name, outside(text)))
    secrets: tuple[str, ...] = ()
    for value in call.unnamed:
        found = _of_secrets(value)
        if not found:
            word = outside(shown(value))
            unread.append(f"line {call.line}: exported under a name that the text does not tell: {word}")
        secrets += found
    return Surroundings(
        tuple(exported), secrets, (*unread, *_from_outside(call, set(inherited))), tuple(unbridged)
    )


def _of_secrets(value: Value) -> tuple[str, ...]:
    """The names of secrets that an exported NAME=value of their file may have; none for any other word."""
    part = value[0] if len(value) == 1 else ""
    if not isinstance(part, Unknown) or structs.replace(part, like=()) != _SECRETS:
        return ()
    names = tuple(pattern.removesuffix("=*") for pattern in part.like)
    return names if all(map(is_name, names)) else ()


def _from_outside(call: Call, inherited: set[str]) -> list[str]:
    """What else the submitter's shell may give to the job."""
    if not call.outside.closed:
        return ["nothing clears the environment of the shell that submits: all of it reaches the ranks"]
    return [
        f"{pattern} of the shell that submits reaches the ranks"
        for pattern in call.outside.keep
        if pattern not in _OF_PLACE and not pattern.startswith("SLURM_") and pattern not in inherited
    ]
