"""Two launches beside each other, for a terminal."""

from collections.abc import Iterable, Sequence

from hpclaunch.report.table import aligned
from hpclaunch.values.amount import counted
from hpclaunch.values.launch import Difference, Launch

_WIDEST = 44


def summary(launch: Launch) -> str:
    """What was compared and found the same."""
    parts_of_nodes = launch.parts or (launch,)
    tables = [table for each in parts_of_nodes for table in each.tables]
    bound = any(seat.cpus for table in tables for seat in table.seats)
    hcas = max((len(table.hcas) for table in tables), default=0)
    parts = [
        f"{counted(len(launch.argv), 'word')} of the command",
        "image and working folder",
        counted(len(launch.environment), "variable"),
        counted(len(launch.mounts), "mount"),
        "cores and memory of each rank" if bound else "no binding",
        f"{counted(launch.gpus_per_node, 'GPU')} and {counted(hcas, 'HCA')} of a node",
        "numbering, time limit, retries and rights",
    ]
    ranks = sum(each.nodes * each.ranks_per_node for each in parts_of_nodes)
    return (
        f"the same launch: {counted(ranks, 'rank')} on {counted(launch.nodes, 'node')}\n"
        f"compared: {', '.join(parts)}"
    )


def table(names: Sequence[str], differences: Iterable[Difference]) -> str:
    """A row for each difference, with the two sites' values and what is behind them."""
    rows = [(_cut(each.what), _cut(each.a), _cut(each.b), each.why) for each in differences]
    return aligned(("WHAT", *names, "WHY"), rows)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."
