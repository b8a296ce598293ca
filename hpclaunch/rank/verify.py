"""What ranks reported against the plan: every difference by rank and node, with its likely cause.

On whole nodes a rank's cores, memory and HCAs are those of the plan. On a part of a node Slurm chooses the
GPUs when the job starts, so there rules hold: cores next to the rank's own GPUs, siblings together, no core
in two ranks, memory and HCA beside them.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hpclaunch.rank import checks, checks_of_part
from hpclaunch.rank.checks import Finding, Node
from hpclaunch.rank.expected import binding, may_run_again, shape_finder
from hpclaunch.rank.observed import Observed, Report
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.placement import NodeShape


class Difference(Struct, frozen=True):
    """One thing of a rank that is not as planned. `node` is "" for a rank that did not report."""

    rank: int
    node: str
    what: str
    expected: str
    observed: str
    cause: str


class Verdict(Struct, frozen=True):
    """`reported` of `ranks` ranks reported. `notes` are what could not be checked, and lines of the log that
    look like reports and are none."""

    ranks: int
    reported: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def as_planned(self) -> bool:
        """Whether every rank reported, and all is as planned."""
        return not self.differences


def compare(plan: LaunchPlan, observed: Observed, ended: str = "") -> Verdict:
    """All differences, by rank. `ended` says how the job ended, "" while it runs."""
    common = plan.common
    find = shape_finder(common)
    nodes: dict[str, Node] = {}
    notes: dict[str, None] = {}
    total = common.nodes * common.ranks_per_node
    found = [_missing(rank, observed, ended) for rank in range(total) if rank not in observed.reports]
    counted = _counted(plan, observed)
    for report in counted:
        shape = find(report.node)
        if shape is None:
            kinds = ", ".join(each.hosts for each in common.shapes)
            cause = "the site file's `hosts` name it for no node type"
            found.append(Difference(report.rank, report.node, "node", f"one of {kinds}", report.node, cause))
            continue
        if report.node not in nodes:
            nodes[report.node] = _node(plan, shape, report.node, observed)
        for finding in _of_rank(plan, nodes[report.node], report):
            if finding.unknown:
                notes[f"{report.node}: {finding.what} not checked: {finding.observed}"] = None
            else:
                found.append(_difference(report, finding))
    together = _together(common.ranks_per_node, counted, observed)
    found += [_difference(report, finding) for report, finding in together]
    if not common.whole_node:
        shared = checks_of_part.among_ranks(nodes, observed.reports.values())
        found += [_difference(report, finding) for report, finding in shared]
    if observed.earlier:
        several = format_list(observed.earlier)
        why = (
            "as after a requeue, and the last counts"
            if may_run_again(plan)
            else "though the job runs once, and each counts: does it print the log of another job?"
        )
        notes[f"reported more than once, {why}: ranks {several}"] = None
    notes.update(dict.fromkeys(f"not a report, {broken}" for broken in observed.broken))
    found = sorted(dict.fromkeys(found), key=lambda difference: difference.rank)
    return Verdict(total, len(observed.reports), tuple(found), tuple(notes))


def _counted(plan: LaunchPlan, observed: Observed) -> list[Report]:
    """By rank. Of a job that runs once a rank reports once, so where its output has more of it, which one is
    its own is not known: each must be as planned."""
    again = may_run_again(plan)
    return [
        report
        for rank, last in sorted(observed.reports.items())
        for report in (*(() if again else observed.earlier.get(rank, ())), last)
    ]


def _difference(report: Report, finding: Finding) -> Difference:
    return Difference(
        report.rank, report.node, finding.what, finding.expected, finding.observed, finding.cause
    )


def _node(plan: LaunchPlan, shape: NodeShape, name: str, observed: Observed) -> Node:
    return Node(
        name=name,
        shape=shape,
        binding=binding(plan, shape),
        all_gpus=plan.common.gpus_per_node == len(shape.gpus),
        gpus=plan.common.gpus_per_node,
        said=observed.warnings.get(name, ()),
        node_of={cpu: part.node for part in shape.cores for core in part.cores for cpu in core},
        pool_of={cpu: part.pool for part in shape.cores for core in part.cores for cpu in core},
        core_of={cpu: core for part in shape.cores for core in part.cores for cpu in core},
    )


def _of_rank(plan: LaunchPlan, node: Node, report: Report) -> Iterator[Finding]:
    yield from checks.machine(node, report)
    if plan.common.whole_node:
        yield from checks.cores(node, report)
        yield from checks.memory(node, report, node.shape.seats[report.local].mems)
        yield from checks.hcas(node, report, node.shape.seats[report.local].hcas)
    else:
        yield from checks_of_part.rank(node, report)
    yield from checks.memlock(node, report)


def _missing(rank: int, observed: Observed, ended: str) -> Difference:
    failed = observed.failures.get(rank)
    cause = failed or (
        f"it did not start, or its node's output did not arrive: the job is {ended}"
        if ended
        else "it has not reported yet: the job waits, or still runs"
    )
    return Difference(rank, "", "report", "a report", "it ended at once" if failed else "none", cause)


def _together(
    ranks_per_node: int, reports: Iterable[Report], observed: Observed
) -> Iterator[tuple[Report, Finding]]:
    """Ranks of one block are on one node, and have the local ranks of their order there."""
    cause = "ranks are not laid out in blocks: a --distribution of the site or the job"
    for report in reports:
        local = report.rank % ranks_per_node
        if report.local != local:
            yield report, Finding("local rank", str(local), str(report.local), cause)
        first = observed.reports.get(report.rank - local, report)
        if first.node != report.node:
            yield report, Finding("node", f"{first.node}, as rank {first.rank}", report.node, cause)
