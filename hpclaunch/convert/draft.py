"""The job as it grows: facts with the lines that support them, questions, and findings."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from shlex import quote
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Finding, Kind, Place
from hpclaunch.values.yamltext import flow

Key = tuple[str | int, ...]

STEPS = ("setup", "before_each", "after")  # the keys of what a job does beside its ranks
# Why the command gives a variable once more what env gives it.
MAY_SET = "what the command does before it may set it too"
_LONG = 1000  # characters
# What a command does before it starts its program.
_IN_FRONT = re.compile(r"command: (?:export |.*; \.\.\.'?$)")
_UNSAYABLE = re.compile("[\0\ud800-\udfff]")


class Null:
    """The value `null` of a job file, which says that the key is not to have its default."""

    def __str__(self) -> str:
        return "null"


NULL = Null()

# What to do about an input that cannot be converted.
WRITE_ONE = "write a job file with what is told here: `hpclaunch schema job` has its keys, examples/ has some"


class Fact(Struct, frozen=True):
    """A value of the job file as plain YAML (text, number, boolean, list, map, NULL), or a question where
    `value` is None. `places` are never empty: what no line supports is not put into a job."""

    key: Key
    value: Any
    places: tuple[Place, ...]
    question: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is a question."""
        return self.value is None


class Draft:
    """What is known of the job so far. Keys are those of the job file: ("nodes",), ("env", "NCCL_DEBUG"),
    ("mounts", 0), ("bind", "cpus"). `site` is the name of the site under which the job file has what is about
    the user there, "" where the user named none."""

    def __init__(self, site: str = "") -> None:
        self.site = site
        self.facts: dict[Key, Fact] = {}
        self.findings: list[Finding] = []
        self.hints: dict[str, Any] = {}
        self.of_hints: dict[Finding, str] = {}  # findings that say a hint, and its key
        self.of_script: dict[Finding, int] = {}  # those that say the script's nodes, where its run has others
        self.refused = ""
        self.not_given = ""  # the name of a script that a job is, and that is not among the files
        self.walked: ShellReading | None = (
            None  # with sizes that only the launch tells, where it was walked anew
        )
        self.by_scripts: dict[str, Place] = {}  # variables that the ranks' own scripts set, with a line
        self.to_fill_in: set[str] = set()  # variables for what others fill in: no shell has them
        self.secrets: dict[str, str] = {}  # values of secrets that no text has beside their names, with these
        self._counts: Counter[str] = Counter()
        self._entries: dict[tuple[str | int, str], Key] = {}  # where a list has a text
        self._told: set[str] = set()  # keys that `say` was given: of any other there is nothing to look for

    def put(
        self, key: Key, value: Any, places: Sequence[Place], what: str, why: str = "", kind: Kind = "carried"
    ) -> None:
        """A fact of the job, and the finding that says so. The last one put under a key counts."""
        assert places, f"no line supports {key}"
        was = self.facts.get(key)
        if was is not None and was.is_open:
            self._answered(dotted(key), what)
        elif was is not None and was.value != value:
            self._overridden(dotted(key), what)
        self._set(Fact(key, value, tuple(places)))
        self.say(kind, places, what, became=f"{dotted(key)}: {shown(value)}", why=why, key=dotted(key))

    def _answered(self, told: str, what: str) -> None:
        """Another line tells what was asked: who would have told it first is left, with its reason."""
        for number, each in enumerate(self.findings):
            if (each.kind, each.key) == ("question", told):
                why = f"{each.why}; it is from {sayable(what)} now"
                todo = f"see that {told} is right"
                self.findings[number] = replace(each, kind="left", why=why, todo=todo)

    def _overridden(self, told: str, what: str) -> None:
        """Another line tells something else of a key: what was told before is in no job."""
        for number, each in enumerate(self.findings):
            if each.key == told and each.kind in ("carried", "replaced", "assumed") and each.became:
                why = f"{sayable(what)} counts"
                self.findings[number] = replace(each, kind="replaced", became="", why=why, key="")

    def _doubted(self, told: str, what: str) -> None:
        """What was told of a key that is asked for now is in no job."""
        for number, each in enumerate(self.findings):
            if each.key == told and each.kind in ("carried", "replaced") and each.became:
                why, todo = f"{sayable(what)} says otherwise", f"answer what is asked of {told}"
                self.findings[number] = replace(each, kind="left", became="", why=why, todo=todo, key="")

    def add(self, key: str, value: Any, places: Sequence[Place], what: str, why: str = "") -> None:
        """An entry of a list, such as `mounts` or `setup`."""
        self.put((key, self.count(key)), value, places, what, why)

    def unsay(self, *keys: Key) -> None:
        """Take back all that was said of these keys, of which other things are said now. What a command does
        first is so whatever the command is."""
        told = {sayable(dotted(key)) for key in keys}
        self.findings[:] = [
            each
            for each in self.findings
            if each.key not in told or (each.kind == "carried" and _IN_FRONT.match(each.became))
        ]

    def drop(self, key: str, places: Sequence[Place]) -> None:
        """Take out the entries of a list that these lines tell, and their findings."""
        lines = set(places)
        self._drop(key, lambda fact: not lines.isdisjoint(fact.places))

    def drop_values(self, key: str, values: Collection[str]) -> list[Fact]:
        """Take out these entries of a list of texts, and their findings. Returns those that it had."""
        return self._drop(key, lambda fact: fact.value in values)

    def _drop(self, key: str, goes: Callable[[Fact], bool]) -> list[Fact]:
        """Take out entries of a list. Those that stay are counted from 0 again, in their findings too."""
        rows = [fact for each, fact in self.facts.items() if each[0] == key and len(each) == 2]
        now: dict[str, str] = {}  # "" for those that are gone
        self._counts[key] = 0
        for fact in rows:
            del self.facts[fact.key]
        for fact in rows:
            stays = not goes(fact)
            own = (key, self.count(key))
            now[dotted(fact.key)] = dotted(own) if stays else ""
            if stays:
                self._set(replace(fact, key=own))
        kept = [each for each in self.findings if now.get(each.key, each.key) or not each.key]
        self.findings[:] = [_renamed(each, now.get(each.key, each.key)) for each in kept]
        return [fact for fact in rows if not now[dotted(fact.key)]]

    def number(self, key: str) -> int | None:
        """What is known of a key that is a number, such as `nodes`."""
        fact = self.facts.get((key,))
        return fact.value if fact is not None and isinstance(fact.value, int) else None

    def is_size(self, text: str | None) -> bool:
        """Whether the text is the number of all ranks, as far as that is known."""
        nodes, per_node = self.number("nodes"), self.number("ranks_per_node")
        return nodes is not None and per_node is not None and text == str(nodes * per_node)

    def places_of(self, *keys: str) -> set[Place]:
        """The lines that tell what stands under these keys."""
        return {place for key, fact in self.facts.items() if key[0] in keys for place in fact.places}

    def count(self, key: str) -> int:
        """How many entries the list has."""
        return self._counts[key]

    def lists(self, key: str, text: str) -> bool:
        """Whether the list has this entry."""
        fact = self.facts.get(self._entries.get((key, text), ()))
        return fact is not None and fact.value == text

    def _set(self, fact: Fact) -> None:
        if len(fact.key) == 2 and isinstance(fact.value, str):
            self._entries[fact.key[0], fact.value] = fact.key
        if fact.key not in self.facts and len(fact.key) == 2:
            self._counts[str(fact.key[0])] += 1
        self.facts[fact.key] = fact

    def ask(self, key: Key, question: str, places: Sequence[Place], what: str, todo: str = "") -> None:
        """The job needs this and the input does not tell it: the job file has a question in its place, which
        `--set` answers. `what` names the construct (the variable) that would have told."""
        assert places, f"no line asks for {key}"
        was = self.facts.get(key)
        self._set(Fact(key, None, tuple(places), sayable(question)))
        # What was taken for granted is in question now.
        told = dotted(key)
        if told in self._told:
            gone = (("question", told), ("assumed", told))
            self.findings[:] = [each for each in self.findings if (each.kind, each.key) not in gone]
        if told == "command":
            if was is not None and not was.is_open:
                # The command as a whole is what is asked for, and nothing in front of it.
                whole = f"{told}: {shown(was.value)}"
                self.findings[:] = [each for each in self.findings if each.became != whole]
            self.findings[:] = [_of_the_command(each) for each in self.findings]
        elif was is not None and not was.is_open:
            self._doubted(told, what)
        self.say("question", places, what, why=question, todo=todo or self.answer(told), key=told)

    @staticmethod
    def answer(key: str) -> str:
        """How any question about a key is answered. Of one that nobody knows a better answer for it is what
        is left to do."""
        value = "none (or pmix, pmi2)" if key == "mpi" else "..."
        return f"write it in the job file, or give --set {key}={value}"

    def say(
        self,
        kind: Kind,
        places: Sequence[Place],
        what: str,
        *,
        became: str = "",
        why: str = "",
        todo: str = "",
        key: str = "",
    ) -> None:
        """A finding."""
        self._told.add(key)
        texts = (sayable(text) for text in (what, became, why, todo, key))
        self.findings.append(Finding(kind, tuple(dict.fromkeys(places)), *texts))

    def of_user(
        self, key: str, value: Any, places: Sequence[Place], what: str, why: str = "", kind: Kind = "carried"
    ) -> None:
        """One of the keys that a job may have under sites.NAME: a hint where the user named no site."""
        if self.site:
            self.put(("sites", self.site, key), value, places, what, why, kind)
        else:
            self.hint(key, value, places, what, why, kind)

    def hint(
        self,
        key: str,
        value: Any,
        places: Sequence[Place],
        what: str,
        why: str = "",
        kind: Kind = "carried",
    ) -> None:
        """Something about the person and the place: it belongs to `sites` (a key without a dot) or to a site
        file, and not to the job. `value` is of the type that it has there."""
        self.hints[key] = told = _sayable(value)
        self.say(kind, places, what, became=f"site hint {key}: {flow(told)}", why=why)
        self.of_hints[self.findings[-1]] = key

    def refuse(self, reason: str, places: Sequence[Place], what: str, todo: str = "") -> None:
        """The input as a whole cannot be converted. What is known of it so far is told all the same."""
        self.refused = reason
        self.say("left", places, what, why=reason, todo=todo)


def _of_the_command(finding: Finding) -> Finding:
    """What the command was to have (command: export NAME=...), now that it is asked for."""
    kind, _, text = finding.became.partition(": ")
    if (finding.kind, finding.key, kind) != ("carried", "command", "command"):
        return finding
    why = "the command, which is asked for, has to do it"
    if finding.why == MAY_SET:
        why = f"env has it, and {why} again: {MAY_SET}"
    todo = f"write it in front of the command: {text}"
    return replace(finding, kind="left", became="", why=why, todo=todo, key="")


def _renamed(finding: Finding, key: str) -> Finding:
    if finding.key == key:
        return finding
    return replace(finding, key=key, became=key + finding.became.removeprefix(finding.key))


def dotted(key: Key) -> str:
    """The key as `--set` takes it."""
    return ".".join(map(str, key))


def sayable(text: str) -> str:
    """Text that every output can hold: NUL and halves of surrogate pairs ($'\\ud800') are replaced."""
    return _searched(text) if len(text) < _LONG else _searched_once(text)


def _searched(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return _UNSAYABLE.sub("\ufffd", text)


_searched_once = lru_cache(maxsize=64)(_searched)  # a command of a megabyte is named for each of its words


def _sayable(value: Any) -> Any:
    if isinstance(value, dict):
        return {sayable(str(key)): _sayable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(each) for each in value]
    return sayable(value) if isinstance(value, str) else value


def shown(value: Any, limit: int = 120) -> str:
    """A value in one line, for people."""
    text = " ".join(_words(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_words(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(quote(each) if _is_several(each) else _words(each) for each in value)
    return str(value)


def _is_several(word: Any) -> bool:
    """Whether it would be read as several words, or as none."""
    return isinstance(word, str) and word.split() != [word]
