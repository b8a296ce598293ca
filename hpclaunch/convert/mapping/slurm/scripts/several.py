"""Programs of one launch, each converted as a script of its own -> the job's `groups`."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft, Fact, Key, dotted
from hpclaunch.convert.mapping.slurm.batch import allocation
from hpclaunch.convert.mapping.slurm.numbers.sizes import sizes
from hpclaunch.convert.mapping.slurm.scripts.components import Components, components
from hpclaunch.convert.mapping.slurm.srun.step_options import ONE_AT_A_TIME
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Value, base_name
from hpclaunch.spec.groups import GroupHints, GroupSpec
from hpclaunch.values.conversion import Finding, Kind
from hpclaunch.values.yamltext import flow

Convert = Callable[[ShellReading, Draft, Options], None]

# What a group may have of its own, and always has.
_OWN = frozenset(GroupSpec.__struct_fields__) - {"env", "sites"}
_ALWAYS = ("nodes", "command")
_HINTS = frozenset(GroupHints.__struct_fields__)
# What a job with groups has not.
STEPS = ("trials", "stage_in", "setup", "before_each", "after")
_IN_GROUPS = "the programs are groups of one job: all run at the same time, each on nodes of its own"
_SHELLS = re.compile(r"^(?:(?:ba|da|z)?sh|python[\d.]*|env|time|numactl)$")
_UNSUITED = re.compile(r"[^A-Za-z0-9_.-]+|^[^A-Za-z0-9]+")
_LONGEST = 40


def put(reading: ShellReading, draft: Draft, options: Options, convert: Convert) -> None:
    """Put what the script launches into the draft, by `convert` for a launch of one program."""
    found = components(reading)
    if found is None:
        convert(reading, draft, options)
        return
    drafts = []
    for each in found.readings:
        drafts.append(Draft(draft.site))
        convert(each, drafts[-1], options)
    if _overlap(reading, found, drafts):
        convert(reading, draft, options)
        return
    _merge(found, _names(found), drafts, draft)
    for other in found.others:
        why = "it starts several programs at once, and a job starts its own once: the last such line counts"
        todo = "submit it as a job of its own"
        draft.say("left", (other.place,), other.brief(), why=why, todo=todo)


def _overlap(reading: ShellReading, found: Components, drafts: Sequence[Draft]) -> bool:
    """Whether programs share nodes of one allocation: a group has its own."""
    if any(each.directives != found.readings[0].directives for each in found.readings):
        return False
    numbers = [count for each in drafts if (count := each.number("nodes")) is not None]
    there = sizes(reading).nodes
    if len(numbers) < len(drafts) or there is None or sum(numbers) > there:
        return True
    return found.world == "separate" and sum(numbers) != there  # srun may put these on one node


def _merge(found: Components, names: Sequence[str], drafts: Sequence[Draft], draft: Draft) -> None:
    lines = tuple(dict.fromkeys(each.place for each in found.commands))
    if found.world == "separate":
        draft.put(("world",), "separate", lines, "each srun is a launch by itself")
    keys = dict.fromkeys(key for each in drafts for key in each.facts)
    lists = dict.fromkeys(key[0] for key in keys if len(key) > 1 and isinstance(key[1], int))
    for key in keys:
        if key[0] in STEPS or key[0] in lists:
            continue
        facts = [each.facts.get(key) for each in drafts]
        of_first = found.of_first and facts[0] is not None and not any(facts[1:])
        if _is_own(key) and (key[0] in _ALWAYS or not (of_first or _alike(facts))):
            for name, each, fact in zip(names, drafts, facts, strict=True):
                if fact is not None:
                    _put(draft, ("groups", name, *key), fact, each)
            continue
        known_ones = [(each, fact) for each, fact in zip(drafts, facts, strict=True) if fact is not None]
        told = next((pair for pair in known_ones if not pair[1].is_open), known_ones[0])
        one = key[0] == "mpi" or key == ("name",) or found.of_first or _alike(facts)
        if key == ("rendezvous",) and not told[1].is_open:
            _rendezvous(told, len(known_ones) < len(drafts), found, draft)
        elif one:
            _put(draft, key, told[1], told[0])
        else:
            _ask(draft, key, [fact for _, fact in known_ones])
    for name, command in zip(names, found.commands, strict=True):
        if ("groups", name, "nodes") not in draft.facts:
            question = f"how many nodes: no line says it of {name}, and a group has nodes of its own"
            draft.ask(("groups", name, "nodes"), question, (command.place,), name)
    for key_of_list in lists:
        _put_list(str(key_of_list), drafts, draft, found)
    apart = {hint for hint in _HINTS if len({str(each.hints.get(hint)) for each in drafts}) > 1}
    _say(names, drafts, draft, apart)
    if found.world != "separate" and ("mpi",) not in draft.facts and ("rendezvous",) not in draft.facts:
        draft.findings[:] = [each for each in draft.findings if each.key != "mpi"]  # of one rank by itself
        question = "pmix, pmi2 or none: the programs are one launch, whose ranks may be one world of MPI"
        draft.ask(("mpi",), question, lines, "srun without --mpi")
    draft.findings[:] = [
        structs.replace(each, why=_IN_GROUPS) if each.why == ONE_AT_A_TIME else each
        for each in draft.findings
    ]
    for each in reversed(drafts):
        draft.hints.update({key: value for key, value in each.hints.items() if key not in apart})


def _rendezvous(told: tuple[Draft, Fact], not_all: bool, found: Components, draft: Draft) -> None:
    """The address of a first node. In a world of its own each program has one, where the script had the first
    node of all; in one world it is the same node, and also ranks that asked for none have its variables."""
    of, fact = told
    said = next((each for each in of.findings if each.key == "rendezvous"), None)
    what = said.what if said is not None else "rendezvous"
    if found.world == "separate" and (what.startswith("$") or what == "MASTER_ADDR"):
        question = (
            f"whose first node MASTER_ADDR is: {what} was that of the script, and each group has its own"
        )
        todo = (
            "give --set rendezvous=torch where each program's ranks are to meet on their own nodes; else none"
        )
        draft.ask(fact.key, question, fact.places, what, todo=todo)
        return
    why = "the ranks of all programs get these variables, also of those that name none" if not_all else ""
    kind: Kind = "assumed" if not_all else "carried"
    draft.put(fact.key, fact.value, fact.places, what, why or (said.why if said else ""), kind)


def _is_own(key: Key) -> bool:
    if key[0] == "sites":
        return len(key) > 2 and key[2] in _HINTS
    return key[0] in _OWN or (key[0] == "env" and len(key) == 2)


def _alike(facts: Sequence[Fact | None]) -> bool:
    first = facts[0]
    return first is not None and all(
        each is not None and (each.value, each.question) == (first.value, first.question) for each in facts
    )


def _put(draft: Draft, key: Key, fact: Fact, of: Draft) -> None:
    """The fact under its new key, as its finding had it."""
    said = _said(of, dotted(fact.key))
    what, why = (said.what, said.why) if said is not None else (dotted(key), "")
    if fact.is_open:
        draft.ask(key, fact.question, fact.places, what)
    else:
        kind = said.kind if said is not None and said.kind != "question" else "carried"
        draft.put(key, fact.value, fact.places, what, why, kind)


def _said(of: Draft, key: str) -> Finding | None:
    """What is said of the key; of the command, behind what is done before it, the last."""
    found = [each for each in of.findings if each.key == key]
    return found[-1 if key == "command" else 0] if found else None


def _ask(draft: Draft, key: Key, facts: Sequence[Fact]) -> None:
    question = f"{dotted(key)}: it is not the same for all programs of the launch, and a job has one"
    draft.ask(key, question, [place for fact in facts for place in fact.places], dotted(key))


def _put_list(name: str, drafts: Sequence[Draft], draft: Draft, found: Components) -> None:
    """A list such as `mounts`, which is all programs'. Names of variables are put together."""
    rows = [[fact for key, fact in each.facts.items() if key[0] == name] for each in drafts]
    if name in ("inherit", "secrets"):
        for facts, of in zip(rows, drafts, strict=True):
            for fact in facts:
                if all(each.value != fact.value for key, each in draft.facts.items() if key[0] == name):
                    _put(draft, (name, draft.count(name)), fact, of)
        return
    if name in STEPS:
        return
    values = [[fact.value for fact in facts] for facts in rows]
    if found.of_first or all(each == values[0] for each in values):
        for fact in rows[0]:
            _put(draft, fact.key, fact, drafts[0])
    else:
        _ask(draft, (name,), [fact for facts in rows for fact in facts])


def _say(names: Sequence[str], drafts: Sequence[Draft], draft: Draft, apart: set[str]) -> None:
    """What else was found, each once; steps beside the run are left, and the hints `apart` are the user's to
    write, whose site's name nobody gave."""
    told: dict[Finding, None] = {}
    asked = set(map(dotted, draft.facts))
    for name, each in zip(names, drafts, strict=True):
        own = _said(each, "command")
        for finding in each.findings:
            first = finding.key.partition(".")[0]
            if finding.what == allocation.NO_LIMIT and ("time",) in draft.facts:
                continue  # another program's line gives one
            if first in STEPS and finding.kind in ("carried", "assumed", "question"):
                why = f"a job with groups has no {first}"
                todo = "do it in the groups' commands, or in a job of its own before this one"
                told[Finding("left", finding.places, finding.what, why=why, todo=todo)] = None
            elif each.of_hints.get(finding) in apart:
                key = each.of_hints[finding]
                todo = f"write groups.{name}.sites.SITE.{key}: {flow(each.hints[key])}"
                why = "the groups' nodes are asked for in other words"
                told[Finding("left", finding.places, finding.what, why=why, todo=todo)] = None
            elif not finding.key or (finding.kind == "assumed" and finding.key not in asked):
                told[finding] = None
            elif finding.kind not in ("carried", "question", "assumed") or (
                finding.key == "command" and finding.kind == "carried" and finding is not own
            ):
                told[structs.replace(finding, key=f"groups.{name}.{finding.key}")] = None
    draft.findings += _of_all(told, drafts)


def _of_all(told: Iterable[Finding], drafts: Sequence[Draft]) -> Iterator[Finding]:
    """The findings, with what each program says of the script's nodes once, of all programs; and not where
    these have all of them."""
    used = sum(each.number("nodes") or 0 for each in drafts)
    nodes = {finding: count for each in drafts for finding, count in each.of_script.items()}
    said = False
    for each in told:
        if each not in nodes:
            yield each
        elif not said and nodes[each] != used:
            said = True
            why = f"its programs are on {used} of them, and a job has the nodes of its programs"
            yield structs.replace(each, why=why)


def _names(found: Components) -> list[str]:
    """A name for each group, by its program."""
    names: list[str] = []
    for index, command in enumerate(found.commands):
        base = next(_candidates(command.words), "") or f"group-{index}"
        name = base[:_LONGEST]
        if name in names:
            name = f"{base[: _LONGEST - 3]}-{index}"
        names.append(name)
    return names


def _candidates(words: Sequence[Value]) -> Iterator[str]:
    for word in layers(words)[-1].words:
        text = base_name(word)
        if text and not text.startswith("-") and not _SHELLS.match(text):
            stem = re.sub(r"\.(?:py|sh|exe|x)$", "", text)
            yield _UNSUITED.sub("-", stem).strip("-.")
