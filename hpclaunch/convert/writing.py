"""A draft as a job file: each fact with the lines that it comes from, each question as `<ask: ...>`.

The text is read by the reader of job files itself. What that reader or its checks refuse is not written: it
becomes a question where the job is incomplete without it, and else is left out, with the check's own message.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from hpclaunch.convert import answers
from hpclaunch.convert.draft import NULL, Draft, Fact, dotted, sayable
from hpclaunch.convert.jobcheck import SHORT, groups_of, owners, refused
from hpclaunch.convert.jobtext import text_of
from hpclaunch.spec.job import TrialsSpec
from hpclaunch.spec.scalars import variable_name
from hpclaunch.spec.source import LIMIT
from hpclaunch.spec.wording import dotted as path_text
from hpclaunch.values.conversion import Finding, Place
from hpclaunch.values.words import LONGEST
from hpclaunch.values.yamltext import value

# Without these a job is another one: a value that cannot stand there leaves a question.
_NEEDED = frozenset(
    (
        *("name", "command", "image", "nodes", "gpus_per_node", "ranks_per_node", "time", "workdir", "bind"),
        *("mounts", "stage_in", "setup", "before_each", "after", "sweep"),
    )
)
_TRIALS = frozenset((("trials",), ("trials", "count")))
_ONCE = frozenset(("inherit", "secrets"))
_SEED = TrialsSpec(1).seed
_WHAT = "the job file's own check"


def write(draft: Draft, made_from: Sequence[str], sets: Sequence[str] = ()) -> str:
    """The job file, with `--set KEY=VALUE` texts put in. `made_from` are the files that its first lines name.

    Facts that no job file can have are taken out of `draft`, which gets the questions or findings in their
    place. "" where the draft is refused. Raises InputError for a --set that the job cannot have.
    """
    if draft.refused:
        answers.unused(draft, sets)
        return ""
    _complete(draft, made_from)
    _own_seed(draft)
    _in_long_form(draft)
    _once(draft)
    _secret_alone(draft)
    before = dict(draft.facts)
    wrong = not _check(draft)
    replaced = [fact for key, fact in before.items() if draft.facts.get(key) is not fact]
    draft.findings[:] = _without(draft.findings, replaced)
    if wrong:
        answers.unused(draft, sets)
        return ""
    answers.put(draft, sets)
    text = text_of(draft.facts.values(), made_from)
    if len(text.encode()) > LIMIT:
        draft.refuse(
            f"the job file would have more than {LIMIT:,} bytes, and none is read",
            _all(made_from),
            "its size",
        )
        return ""
    return text


def _complete(draft: Draft, made_from: Sequence[str]) -> None:
    """What no job goes without is asked for, where nothing told it."""
    for name, question in (("name", "the job's name"), ("command", "what each rank executes")):
        known = any(key[0] == name or key[::2] == ("groups", name) for key in draft.facts)
        if not known:
            draft.ask((name,), f"{question}: none of the files tells it", _all(made_from), name)
    for name, short in SHORT.items():
        below = [fact for key, fact in draft.facts.items() if key[0] == name]
        if below and not any(fact.key in ((name,), (name, short)) for fact in below):
            draft.ask((name, short), "no file tells it", below[0].places, f"{name}.{short}")


def _own_seed(draft: Draft) -> None:
    """Where the job sets the variable itself that trials set by default they leave it alone."""
    key = ("trials", "seed")
    fact = draft.facts.get(("env", str(_SEED)))
    others = draft.lists("inherit", str(_SEED)) or draft.lists("secrets", str(_SEED))
    if ("trials", "count") not in draft.facts or key in draft.facts or (fact is None and not others):
        return
    places = fact.places if fact is not None else draft.facts["trials", "count"].places
    why = f"each trial has the same {_SEED}, and none of its own"
    draft.put(key, NULL, places, str(_SEED), why=why)


def _all(files: Sequence[str]) -> list[Place]:
    return [Place(name) for name in files] or [Place("the input")]


def _in_long_form(draft: Draft) -> None:
    """A value whose key has others below it goes beside them."""
    for key, short in SHORT.items():
        fact = draft.facts.get((key,))
        below = any(other[0] == key and len(other) > 1 for other in draft.facts)
        if fact is None or not below or isinstance(fact.value, dict):
            continue
        long = structs.replace(fact, key=(key, short))
        facts = [long if old is fact else old for old in draft.facts.values()]
        draft.facts = {each.key: each for each in facts}
        for index, each in enumerate(draft.findings):
            if each.key == key:
                draft.findings[index] = structs.replace(each, key=dotted(long.key))


def _once(draft: Draft) -> None:
    """A name may have come from several lines."""
    seen: dict[tuple[str | int, Any], Fact] = {}
    for key, fact in list(draft.facts.items()):
        if key[0] in _ONCE and len(key) == 2 and not fact.is_open:
            first = seen.setdefault((key[0], fact.value), fact)
            if first is not fact:
                places = tuple(dict.fromkeys((*first.places, *fact.places)))
                merged = Fact(first.key, first.value, places)
                draft.facts[first.key] = seen[key[0], fact.value] = merged
                del draft.facts[key]


def _secret_alone(draft: Draft) -> None:
    """A variable that is a secret is asked for by the secret: `env` may not have it beside."""
    names = (fact.value for key, fact in draft.facts.items() if key[0] == "secrets" and len(key) == 2)
    secrets = {name for name in names if isinstance(name, str)}
    for key, fact in list(draft.facts.items()):
        if key[0] == "env" and len(key) == 2 and fact.is_open and key[1] in secrets:
            del draft.facts[key]
            draft.unsay(key)
            why = "it is among the secrets: where the job is submitted the shell has its value"
            draft.say("left", fact.places, sayable(dotted(key)), why=why)


def _check(draft: Draft) -> bool:
    """Takes out what the reader of job files refuses, until it refuses nothing. False where that is not to
    be had: the draft is refused then."""
    for fact in list(draft.facts.values()):
        try:
            if not fact.is_open:
                _carriable(fact.value)
            if fact.key[0] == "env" and len(fact.key) == 2:  # the reader stops after some: there may be many
                variable_name(str(fact.key[1]))
        except ValueError as error:
            _replace(draft, fact, str(error))
    while True:
        facts = [fact for fact in draft.facts.values() if not fact.is_open]
        groups = groups_of(draft.facts)
        problems = refused(facts, groups)
        if not problems:
            return True
        wrong = {fact.key: message for fact, message in owners(facts, problems)}
        if not wrong:
            draft.refuse(str(problems[0]), _all(()), _WHAT)
            return False
        for key, message in wrong.items():
            _replace(draft, draft.facts[key], message)


def _carriable(what: Any) -> None:
    """Raises ValueError for a text that no YAML has, or no process."""
    if isinstance(what, dict):
        what = [*what.keys(), *what.values()]
    if isinstance(what, list | tuple):
        for part in what:
            _carriable(part)
    elif isinstance(what, str):
        if len(what.encode(errors="replace")) > LONGEST:
            raise ValueError(f"Linux takes no more than {LONGEST:,} bytes of one text (execve(2))")
        value(what)


def _replace(draft: Draft, fact: Fact, message: str) -> None:
    """What stands for a fact that the file cannot have."""
    name = dotted(fact.key)
    said = " ".join(message.split()).removeprefix(f"{path_text(fact.key)}: ")
    if (fact.key[0] in _NEEDED or fact.key in _TRIALS) and not fact.is_open:
        draft.ask(fact.key, f"what the input has cannot stand here: {said}", fact.places, name)
    else:
        del draft.facts[fact.key]
        if fact.is_open:
            draft.unsay(fact.key)  # nobody could answer it
        draft.say("left", fact.places, name, why=said, todo="see whether the job needs it, in another form")


def _without(findings: Sequence[Finding], facts: Sequence[Fact]) -> list[Finding]:
    """The findings without those that say of these facts that they are in the job file."""
    gone = {sayable(dotted(fact.key)): set(fact.places) for fact in facts}
    return [
        each
        for each in findings
        if each.kind not in ("carried", "assumed")
        or each.key not in gone
        or not gone[each.key].issuperset(each.places)
    ]
