"""What a script says of the check of its nodes."""

from collections.abc import Callable, Iterator

from hpclaunch.rank import beside as texts
from hpclaunch.values.launchplan import Common, SlurmSteps
from hpclaunch.values.preflight import FAILED, LOST, Preflight
from hpclaunch.values.words import Option

_SPARED_S = 5  # so that a node whose programs hang says so before it is given up


def of_slurm(
    common: Common, check: Preflight, beside: SlurmSteps | None, spelled: Callable[[Option], str]
) -> dict[str, object]:
    """For the template of an sbatch script. `spelled` is how a setting stands in an array of bash; `beside`
    are the options of the job's other steps, where it has some."""
    within = any(step.where == "container" for step in common.steps)
    on_each = within or bool(common.stage_in) or any(step.where == "host" for step in common.steps)
    links = check.links
    requeue = common.long_run is not None and common.long_run.requeue
    return {
        "preflight": True,
        "check": check,
        "checked": list(map(spelled, check.on_host)),
        "wanted": common.nodes,
        "inner": check.seconds - _SPARED_S,
        "judge_text": texts.text("preflight"),
        "check_text": texts.text("check"),
        "links_text": texts.text("links") if links else "",
        "together_text": texts.text("together") if links else "",
        "linked": [f"={word}" for word in links.command] if links else [],
        "failed": FAILED,
        "lost": LOST if check.spares and not requeue else 0,
        "bare": beside is not None and beside.one_container and bool(check.command or links),
        "hl_nodes": beside is not None and (on_each or beside.one_container),
        "hl_first_node": beside is not None and (within or bool(beside.image)),
        "group_nodes": list(_places(common)),
    }


def _places(common: Common) -> Iterator[tuple[int, int]]:
    """Of each group the first of its nodes, counted over all, and how many they are."""
    first = 0
    for group in common.groups.members if common.groups else ():
        yield first, group.nodes
        first += group.nodes
