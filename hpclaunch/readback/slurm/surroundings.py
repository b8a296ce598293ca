"""What ranks get from around their wrapper: variables that the script exports, those of the shell that
submits it, and secrets."""

from collections.abc import Iterable

from msgspec import Struct

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.launch import SeenVariable, Unbridged

# Of the place: who runs the job, and what Slurm itself says. Bash does not pass on the last two.
_OF_PLACE = ("PATH", "HOME", "USER", "LOGNAME", "SLURMD_NODENAME", "BASHOPTS", "SHELLOPTS")
_OF_SLURM = ("SLURM_", "SRUN_", "SBATCH_", "SPANK_", "PYXIS_")
# The file of a submission's secrets is the script's argument.
_SECRETS: Value = (Unknown("input", "${1}"),)


class Surroundings(Struct, frozen=True):
    """`exported` are variables with their values, `secrets` names."""

    exported: tuple[SeenVariable, ...]
    secrets: tuple[str, ...]
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]


def surroundings(call: Call, container_env: Iterable[str], inherited: Iterable[str]) -> Surroundings:
    """What srun has around it. `container_env` are the names that the container takes from outside, and
    `inherited` those of the submitter's that its ranks are given by name."""
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
        elif name.startswith(_OF_SLURM):
            unread.append(f"line {call.line}: {name} is exported, which srun or Pyxis may follow")
        elif text is None:
            unread.append(
                f"line {call.line}: {name} is exported as {shown(value)}, which the text does not tell"
            )
        if text is not None:
            exported.append(SeenVariable(name, outside(text)))
    names = {variable.name for variable in exported}
    secrets: tuple[str, ...] = ()
    for value in call.unnamed:
        if value != _SECRETS:
            unread.append(
                f"line {call.line}: exported under a name that the text does not tell: {shown(value)}"
            )
        else:
            secrets = tuple(
                name for name in container_env if name not in names and name not in set(inherited)
            )
            if not secrets:
                unread.append("the names of the secrets in the job's file are not in the text")
    return Surroundings(
        tuple(exported), secrets, (*unread, *_from_outside(call, set(inherited))), tuple(unbridged)
    )


def _from_outside(call: Call, inherited: set[str]) -> list[str]:
    """What else the submitter's shell may give to the job."""
    if not call.outside.closed:
        return ["nothing clears the environment of the shell that submits: all of it reaches the ranks"]
    return [
        f"{pattern} of the shell that submits reaches the ranks"
        for pattern in call.outside.keep
        if pattern not in _OF_PLACE and not pattern.startswith("SLURM_") and pattern not in inherited
    ]
