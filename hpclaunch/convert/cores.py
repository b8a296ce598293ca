"""The cores and the memory that an input asks for: a job has those beside its GPUs, and without GPUs one core
for each rank."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from hpclaunch.convert.draft import Draft
from hpclaunch.values.conversion import Finding

CORES = (
    "`bind` says which cores a rank has: without it those beside its GPU, by the site's node type, and one "
    "where the job has no GPUs"
)
MEMORY = "a job gets all memory of whole nodes, and on a part of a node as much of it as of the GPUs"
# `_BESIDE` says what it comes to where the job has no GPUs.
BESIDE_ITS_GPU = "each rank gets the cores and the memory beside its GPU, by the site's node type"
CORES_OF_PODS = "a job has the cores beside its GPUs, by the site's node type"
MEMORY_OF_PODS = "a job has the memory beside its GPUs, by the site's node type"
_ONE = re.compile(r"(?<![\d.])0*1(?![\d.])\D*$|[1-9]\d{0,2}m$")  # a core, or a part of one (500m)
_ASKS = re.compile(r"cpus?\b|(?<!\S)-[cd]\b|--depth")  # for cores, and not where ranks are among them
# What is said of binding before it is known that there are no GPUs, and what it comes to then.
_BESIDE = (
    ("the cores and the memory beside its GPU, by the site's node type", "one core, as the job has no GPUs"),
    ("the cores and memory beside its GPU", "one core"),
    ("the cores beside the rank's GPU", "one core for each rank"),
    ("the cores beside its GPU", "one core"),
)
_WHY = "a job without GPUs has one core for each rank, and the memory beside that, whatever was asked for"
_TODO = "where the program needs more, ask for GPUs beside which they are, or add ranks in place of threads"


def has_none(draft: Draft) -> bool:
    """Whether the job is known to have no GPUs."""
    return {fact.value for key, fact in draft.facts.items() if key[-1] == "gpus_per_node"} == {0}


def settle(draft: Draft, sets: Sequence[str] = ()) -> None:
    """Say what is lost of them where the job has no GPUs, or is to have none by `sets` (--set), which are put
    in later; to be done when all else is told."""
    answers = [text.partition("=")[2].strip() for text in sets if text.startswith("gpus_per_node=")]
    if answers[-1:] == ["0"] or (not answers and has_none(draft)):
        draft.findings[:] = map(_of_no_gpus, draft.findings)


def _of_no_gpus(finding: Finding) -> Finding:
    of_cores = finding.why in (CORES, CORES_OF_PODS)
    if not (of_cores or finding.why in (MEMORY, MEMORY_OF_PODS)):
        return _beside_none(finding)
    if of_cores and not _ASKS.search(finding.what):
        return finding
    if of_cores and _ONE.search(finding.what):
        return replace(finding, why="a rank has one core without GPUs")
    return replace(finding, kind="left", why=_WHY, todo=_TODO)


def _beside_none(finding: Finding) -> Finding:
    """What is said of binding, where no rank has a GPU."""
    for given, instead in _BESIDE:
        if given in finding.why or given in finding.became:
            why, became = (each.replace(given, instead) for each in (finding.why, finding.became))
            return replace(finding, why=why, became=became)
    return finding
