"""The job that renders to a given text: keys are tried one after the other, and what brings the rendered
text nearer to the given one stays."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hpclaunch.convert.draft import Draft, Fact, Key, dotted
from hpclaunch.convert.families import own_facts, own_groups
from hpclaunch.convert.families.own_text import WHOLE, Rendered, environment, read
from hpclaunch.convert.jobtext import text_of
from hpclaunch.convert.options import Render
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_FAR = 10**9
_ROUNDS = 3
_HEADER = "# "
_SHOWN = 3

Change = dict[Key, Any]


def search(found: Rendered, draft: Draft, render: Render, site: str) -> None:
    """Adds to the facts of `draft` those that make its rendering for the site the given text."""
    seeker = _Seeker(found, draft, render)
    for _ in range(_ROUNDS):
        before = seeker.distance
        for candidates in _candidates(found, site, seeker):
            seeker.best(candidates)
            if seeker.distance == 0:
                break
        if seeker.distance in (0, before):
            break
    for key, value in seeker.changes.items():
        if value is not None:
            draft.put(key, value, found.place_of(key), dotted(key))
    if seeker.distance == 0:
        same = "the same text" if seeker.is_same else "the same lines in another order"
        why = f"rendered again for {site} the job file gives {same}"
        draft.say("carried", [Place(found.name)], WHOLE, why=why)
    elif seeker.refused:
        draft.say(
            "left", [Place(found.name)], f"the site {site}", why=f"it refuses the job: {seeker.refused}"
        )
    else:
        lines = "; ".join(f"{line.strip()[:80]}" for line in seeker.missing()[:_SHOWN])
        why = f"rendered again for {site} the job file gives another text, without: {lines}"
        draft.say("left", [Place(found.name)], "a part of the text", why=why)


class _Seeker:
    """The facts so far, and how far the text that they render to is from the given one."""

    def __init__(self, found: Rendered, draft: Draft, render: Render):
        self._found = found
        self._wanted = Counter(_body(found.text))
        self._facts = dict(draft.facts)
        self._render = render
        self._here: Counter[str] = Counter()
        self.refused = ""
        self.changes: Change = {}
        self.text = ""
        self.distance = self._try({}, keep=True)

    def best(self, candidates: Sequence[Change]) -> None:
        """Keeps the change after which the text is nearest, if one brings it nearer."""
        distances = [(self._try(each), index) for index, each in enumerate(candidates)]
        nearest, index = min(distances, default=(_FAR, 0))
        if nearest < self.distance:
            self.distance = self._try(candidates[index], keep=True)

    def _try(self, change: Change, keep: bool = False) -> int:
        facts = {key: fact for key, fact in self._facts.items() if change.get(key, "") is not None}
        facts |= {key: Fact(key, value, ()) for key, value in change.items() if value is not None}
        try:
            text = self._render(text_of(facts.values(), ()), self._found.folder)
        except InputError as error:
            if keep:
                self.refused = str(error.problems[0])
            return _FAR
        here = Counter(_body(text))
        distance = (here - self._wanted).total() + (self._wanted - here).total()
        if keep:
            self._facts, self._here, self.text, self.refused = facts, here, text, ""
            self.changes.update(change)
        return distance

    def environment(self) -> Change:
        """The variables that the text sets and the rendered one does not, or otherwise."""
        if not self.text:
            return {}
        rendered = read("", self.text)
        here, wanted = (_environment(each) for each in (rendered, self._found))
        return {key: value for key, value in wanted.items() if here.get(key) != value}

    @property
    def is_same(self) -> bool:
        """Whether the rendered text is the given one but for the comments at its head."""
        return _body(self.text) == _body(self._found.text)

    def missing(self) -> list[str]:
        """Lines of the given text that the rendered one lacks."""
        return list((self._wanted - self._here).elements())


def _environment(found: Rendered) -> Change:
    """The variables of all ranks and those of groups."""
    of_all: Change = {("env", name): value for name, value in environment(found).items()}
    return of_all | own_groups.environment(found)


def _body(text: str) -> list[str]:
    """Without the comments at its head, which name the release that made it."""
    lines = text.split("\n")
    head = 1 if text.startswith("#!") else 0
    while head < len(lines) and lines[head].startswith(_HEADER):
        head += 1
    return lines[head:]


def _candidates(found: Rendered, site: str, seeker: _Seeker) -> Iterator[list[Change]]:
    """Changes in groups, of which one each is wanted at most. None is a key's default."""
    yield [{("mpi",): each} for each in ("pmix", "pmi2")]
    for key, value in own_facts.hints(found):
        yield [{("sites", site, key): value}]
    # What groups are told may bring the text nearer only together: alone it is for nodes that do not differ.
    of_groups = dict(own_groups.hints(found, site))
    yield [of_groups, of_groups | dict(own_groups.unlike_types(found, site))] if len(of_groups) > 1 else []
    for group_key, of_group in of_groups.items():
        yield [{group_key: of_group}]
    of_types = dict(own_groups.node_types(found, site))
    for type_key, node_type in of_types.items():
        yield [{type_key: node_type}]
    # One group with a type alone is told apart from the others, which the text may not do.
    yield [of_types, of_groups | of_types] if len(of_types) > 1 else []
    yield [seeker.environment()]
    folder = own_facts.imported_to(found)  # the site's, or one that the job itself names
    yield [{("image",): {"ref": found.launch.image, "import": how}} for how in ("shared", folder) if folder]
    yield [
        {("bind", "cpus"): cpus, ("bind", "smt"): smt, ("bind", "memory"): memory}
        for cpus in (None, "spread", "none")
        for smt in (None, False)
        for memory in (None, "prefer", "none")
    ]
    yield [
        {("bind", "hcas"): hcas, ("bind", "pairing"): pairing}
        for hcas in (None, "strict", "all", "none")
        for pairing in (None, "switch")
    ]
    for key, value in own_facts.seats(found.launch.tables):
        yield [{("bind", key): value}]
    kind = own_groups.gpu_kind(found.launch)
    yield [{("gpu_type",): kind}] if kind else []
    yield [{("locality",): "unit"}]
    yield [{("fabric", "sharp"): True}]
    yield [{("container", "hcas"): each} for each in ("compute", "all")]
    # Of these the script gives a value itself, and its reading says nothing of the submitter's.
    inherited = re.findall(r'^  \$\{(\w+)\+"\1=\$\1"\}', found.text, re.MULTILINE)
    yield [{("inherit",): inherited}] if {"USER", "LOGNAME", "HOME"} & set(inherited) else []
    # The job's own come first in the text, and others that the image must not set behind them.
    names = [name for name in found.srun.get("container-env", "").split(",") if name]
    yield [{("container", "env"): names[:count]} for count in range(1, len(names) + 1)]
