"""The check of a job's nodes before its ranks start, in a script of hpclaunch's."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct, structs

from hpclaunch.rank import beside as rank_beside
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.values import Unknown, Value, known
from hpclaunch.readback.slurm.options import Given
from hpclaunch.readback.slurm.runs import RANK
from hpclaunch.values.launch import Unbridged
from hpclaunch.values.preflight import JUDGE, LINKS

CHECK, TOGETHER = "hpclaunch-check", "hpclaunch-together"
# What the script tells all others of its nodes when it knows the good ones.
_TOLD = ("SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES")


class Preflight(Struct, frozen=True):
    """`wanted` are the nodes that must be good, and `settings` what of each is checked. `others` are the
    calls of the script but for these."""

    wanted: str
    settings: tuple[str, ...]
    others: tuple[Call, ...]
    unread: tuple[str, ...]

    def of_step(self, step: Call) -> Call:
        """What starts the ranks, without what it is told of the nodes."""
        return structs.replace(
            step, environment=tuple(each for each in step.environment if not each[0].startswith(_TOLD))
        )

    def options(self, given: Sequence[Given]) -> list[Given]:
        """The options of that srun but for the list of good nodes, which nobody knows before."""
        return [
            each
            for each in given
            if each.name != "nodelist" or not any(isinstance(part, Unknown) for part in each.value or ())
        ]

    def batch(self, given: Mapping[str, str], step: Mapping[str, str]) -> dict[str, str]:
        """The options of sbatch with the nodes that ranks get, where these are as many as must be good."""
        return {**given, "nodes": self.wanted} if step.get("nodes") == self.wanted else dict(given)

    def unbridged(self, nodes: str) -> Unbridged:
        """What another scheduler has nothing for; `nodes` is how many the job asks for."""
        names = ", ".join(dict.fromkeys(self.settings))
        what = f"preflight: of {nodes} nodes the ranks get {self.wanted} that are good ({names})"
        return Unbridged(outside(what), "Kubernetes checks no nodes before a job, and has no spare ones")


def chosen(words: Sequence[Value]) -> str:
    """What the script says of the nodes in its --nodelist where these are known only when they have been
    checked: from which words or which part of an array they come. "" where there is no such option."""
    for word in words:
        if word[:1] == ("--nodelist=",) and len(word) == 2 and isinstance(word[1], Unknown):
            return word[1].name
    return ""


def is_next(text: str, first: int, count: int) -> bool:
    """Whether `chosen` are so many of the good nodes, from that number on."""
    return re.fullmatch(rf"\w+:{first}:{count}", text) is not None


def is_of_component(text: str, index: int) -> bool:
    """Whether `chosen` are those good nodes that the component of a heterogeneous job has itself."""
    named = re.findall(r"(?<=HET_GROUP_)[0-9]+|(?<=--het-group=)[0-9]+", text)
    return {*named} == {str(index)}


def is_check(call: Call) -> bool:
    """Whether it is one of these."""
    return len(call.words) > 9 and known(call.words[3]) in (JUDGE, LINKS)


def preflight(calls: Sequence[Call]) -> Preflight | None:
    """None for a script that checks no nodes, as most do."""
    own = [call for call in calls if is_check(call)]
    if not own:
        return None
    unread: list[str] = []
    settings: list[str] = []
    wanted = {known(call.words[5]) or "" for call in own}
    others = tuple(call for call in calls if call not in own)
    wrappers = {call.words[call.words.index((RANK,)) - 1] for call in others if (RANK,) in call.words}
    for call in own:
        texts = [known(word) for word in call.words]
        if call.conditions:
            why = f"nodes are checked only under a condition ({call.conditions[0]})"
            unread.append(f"line {call.line}: {why}")
        if texts[3] == LINKS:
            settings.append(f"all_reduce between nodes {texts[7]}")
            unread += _of_links(call, texts, wrappers)
            continue
        at = texts.index(CHECK) if CHECK in texts else 0
        if texts[2] != rank_beside.text("preflight") or not at or texts[at - 1] != rank_beside.text("check"):
            unread.append(f"line {call.line}: {JUDGE} is not hpclaunch's own text")
        for text in texts[at + 1 :] if at else ():
            if text == "--":
                break
            name = (text or "").partition("=")[0]
            if name != "seconds":
                settings.append(name)
    if len(wanted) > 1:
        unread.append(f"line {own[0].line}: how many nodes must be good is not told")
    return Preflight(sorted(wanted)[0], tuple(settings), others, tuple(unread))


def _of_links(call: Call, texts: Sequence[str | None], wrappers: Set[Value]) -> Iterator[str]:
    """What is not understood of a measurement between nodes: it runs as a rank does, by the same wrapper."""
    at = texts.index(f"={TOGETHER}") if f"={TOGETHER}" in texts else 0
    own = (rank_beside.text("links"), f"={rank_beside.text('together')}")
    if not at or (texts[2], texts[at - 1]) != own:
        yield f"line {call.line}: {LINKS} is not hpclaunch's own text"
    rank = texts.index(RANK) if RANK in texts else 0
    if not rank or call.words[rank - 1] not in wrappers:
        yield f"line {call.line}: {LINKS} is not measured as ranks are run"
