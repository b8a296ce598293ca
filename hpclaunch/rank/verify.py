"""What ranks reported against the plan: every difference by rank and node, with its likely cause.

On whole nodes a rank's cores, memory and HCAs are those of the plan. On a part of a node Slurm chooses the
GPUs when the job starts, so there rules hold: cores next to the rank's own GPUs, siblings together, no core
in two ranks, memory and HCA beside them.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from hpclaunch.rank import checks, checks_of_part
from hpclaunch.rank.checks import Finding, Node
from hpclaunch.rank.expected import binding, may_run_again, shape_finder
from hpclaunch.rank.observed import Observed, Report, read_worlds
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.placement import NodeShape


class Difference(Struct, frozen=True):
    """One thing of a rank that is not as planned. `node` is "" for a rank that did not report, and `group`
    for one of a job without groups; where these are worlds of their own `rank` is the number in it."""

    rank: int
    node: str
    what: str
    expected: str
    observed: str
    cause: str
    group: str = ""


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


class _Part(Struct, frozen=True):
    """A group as a launch by itself: the number of its first rank, and what stands before its lines."""

    group: str
    plan: LaunchPlan
    first: int
    mark: bytes

    @property
    def ranks(self) -> int:
        return self.plan.common.nodes * self.plan.common.ranks_per_node


def of_log(plan: LaunchPlan, lines: Iterable[bytes], ended: str = "") -> Verdict:
    """What the lines of a job's log tell, each group held against its own plan. `ended` is as below."""
    parts = _parts(plan)
    worlds: dict[bytes, list[tuple[int, int]]] = {}
    for part in parts:
        worlds.setdefault(part.mark, []).append((part.ranks, part.plan.common.ranks_per_node))
    seen = read_worlds(lines, worlds)
    found = []
    for part in parts:
        one = compare(part.plan, _of_part(part, seen[part.mark]), ended, part.first)
        told = (structs.replace(each, group=part.group) for each in one.differences)
        found.append(structs.replace(one, differences=tuple(told)))
    return Verdict(
        sum(each.ranks for each in found),
        sum(each.reported for each in found),
        tuple(difference for each in found for difference in each.differences),
        tuple(dict.fromkeys(note for each in found for note in each.notes)),
    )


def _parts(plan: LaunchPlan) -> list[_Part]:
    groups = plan.common.groups
    if groups is None:
        return [_Part("", plan, 0, b"")]
    found, first = [], 0
    for index, group in enumerate(groups.members):
        alone = (
            plan.parts[index]
            if plan.parts
            else structs.replace(plan, common=structs.replace(plan.common, nodes=group.nodes))
        )
        apart = groups.world == "separate"
        # The script puts a group's name before its lines.
        found.append(_Part(group.name, alone, 0 if apart else first, f"{group.name}: ".encode() * apart))
        first += group.nodes * group.ranks_per_node
    return found


def _of_part(part: _Part, seen: Observed) -> Observed:
    """What was seen of its ranks alone; what was said of nodes counts for all on them."""
    own = range(part.first, part.first + part.ranks)
    return structs.replace(
        seen,
        reports={rank: report for rank, report in seen.reports.items() if rank in own},
        earlier={rank: reports for rank, reports in seen.earlier.items() if rank in own},
    )


def compare(plan: LaunchPlan, observed: Observed, ended: str = "", first: int = 0) -> Verdict:
    """All differences, by rank. `ended` says how the job ended, "" while it runs; `first` is the number of
    the first rank."""
    common = plan.common
    find = shape_finder(common)
    nodes: dict[str, Node] = {}
    notes: dict[str, None] = {}
    total = common.nodes * common.ranks_per_node
    ranks = range(first, first + total)
    found = [_missing(rank, observed, ended) for rank in ranks if rank not in observed.reports]
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
    together = _together(common.ranks_per_node, first, counted, observed)
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
    ranks_per_node: int, start: int, reports: Iterable[Report], observed: Observed
) -> Iterator[tuple[Report, Finding]]:
    """Ranks of one block are on one node, and have the local ranks of their order there."""
    cause = "ranks are not laid out in blocks: a --distribution of the site or the job"
    for report in reports:
        local = (report.rank - start) % ranks_per_node
        if report.local != local:
            yield report, Finding("local rank", str(local), str(report.local), cause)
        first = observed.reports.get(report.rank - local, report)
        if first.node != report.node:
            yield report, Finding("node", f"{first.node}, as rank {first.rank}", report.node, cause)
