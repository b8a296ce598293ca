"""What a script says of the check of its nodes."""

from collections.abc import Callable

from hpclaunch.rank import beside
from hpclaunch.values.launchplan import Common
from hpclaunch.values.preflight import Preflight
from hpclaunch.values.words import Option

_SPARED_S = 5  # so that a node whose programs hang says so before it is given up


def of_slurm(common: Common, check: Preflight, spelled: Callable[[Option], str]) -> dict[str, object]:
    """For the template of an sbatch script. `spelled` is how a setting stands in an array of bash."""
    return {
        "preflight": True,
        "check": check,
        "checked": list(map(spelled, check.on_host)),
        "nodes": common.nodes,
        "inner": check.seconds - _SPARED_S,
        "judge_text": beside.text("preflight"),
        "check_text": beside.text("check"),
    }
