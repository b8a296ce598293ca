"""What `--set KEY=VALUE` says of a job that is made: it answers a question, or says otherwise than the files.

Each text is taken as the other commands take it (spec/sets.py), over the job file as it would be without it.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from hpclaunch.convert.draft import NULL, Draft, Fact, Key, dotted, shown
from hpclaunch.convert.jobcheck import groups_of, owners, refused
from hpclaunch.convert.jobtext import text_of
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.secrets.texts import hide
from hpclaunch.spec.read import parse_job
from hpclaunch.spec.sets import node_of
from hpclaunch.spec.tree import MappingNode, Node, ScalarNode, is_null
from hpclaunch.values.conversion import Finding, Place
from hpclaunch.values.errors import InputError, Problem

OPTION = "--set "
_A_SECRET = (
    "a secret stands in no job file: give its name in `secrets`, which takes the value from the submitter "
    "when the job is sent"
)
_BOOLEANS = {"true": True, "false": False}


def put(draft: Draft, sets: Sequence[str]) -> None:
    """Put the values in, in their order. Raises InputError for one that the job cannot have."""
    if not sets:
        return
    _see_forms(draft, sets)
    for text in sets:
        name, _, written = text.partition("=")
        if hide(text) != text or (name.startswith("env.") and is_secret(name.removeprefix("env."))):
            raise InputError([Problem(_A_SECRET, "job", (), f"{OPTION}{hide(name)}")])
        key, value = _key(draft, name), node_of(name, written, "job")
        said = _words(plain(value))
        if hide(said) != said:  # the words of a list, as a shell has them: [--token, X]
            raise InputError([Problem(_A_SECRET, "job", (), f"{OPTION}{hide(name)}")])
        _put_one(draft, key, value)
    facts = [fact for fact in draft.facts.values() if not fact.is_open]
    problems = refused(facts, groups_of(draft.facts))
    if problems:
        keys = {fact.key for fact, _ in owners(facts, problems) if _is_given(fact)}
        where = ", ".join(f"{OPTION}{dotted(key)}" for key in keys) or OPTION.strip()
        raise InputError([structs.replace(each, where=where) for each in problems])


def unused(draft: Draft, sets: Sequence[str]) -> None:
    """Say that there is no job for these."""
    for text in sets:
        name = text.partition("=")[0]
        draft.say("without effect", [Place(f"{OPTION}{name}")], name, why="there is no job file to put it in")


def _see_forms(draft: Draft, sets: Sequence[str]) -> None:
    """Raises InputError for what the reader of job files says of these texts alone; that other keys are open
    is no matter of theirs."""
    try:
        parse_job(text_of(draft.facts.values(), ()), "the job file", "/", sets)
    except InputError as error:
        problems = [each for each in error.problems if each.where.startswith(OPTION.strip())]
        if problems:
            raise InputError(problems) from None


def _words(value: Any) -> str:
    """All texts of a value, in one line."""
    if isinstance(value, dict):
        return " ".join(f"{key}={_words(each)}" for key, each in value.items())
    return " ".join(map(_words, value)) if isinstance(value, list) else str(value)


def _is_given(fact: Fact) -> bool:
    return fact.places[0].file.startswith(OPTION)


def _key(draft: Draft, name: str) -> Key:
    """The key of the draft: a number where the key above has entries."""
    key: Key = ()
    for part in name.split("."):
        above = [each[len(key)] for each in draft.facts if each[: len(key)] == key and len(each) > len(key)]
        is_entry = part.isdecimal() and any(isinstance(each, int) for each in above)
        key = (*key, int(part) if is_entry else part)
    return key


def _put_one(draft: Draft, key: Key, value: Node) -> None:
    place = Place(f"{OPTION}{dotted(key)}")
    new = plain(value)
    whole = next((key[:length] for length in range(len(key) - 1, 0, -1) if key[:length] in draft.facts), None)
    if whole is not None and isinstance(draft.facts[whole].value, dict | list | tuple):
        fact = draft.facts[whole]
        changed = _within(fact.value, key[len(whole) :], new)
        draft.facts[whole] = structs.replace(fact, value=changed, places=(place, *fact.places))
        draft.say("carried", [place], dotted(key), became=f"{dotted(key)}: {shown(new)}", key=dotted(key))
        return
    old = draft.facts.get(key)
    if old is not None and not old.is_open and _is_same(old.value, new):
        draft.say("without effect", [place], dotted(key), why="the files tell the same", key=dotted(key))
        return
    gone = [each for each in draft.facts if each != key and each[: len(key)] == key]
    asked = [each for each in draft.findings if each.kind == "question" and _is_of(each, key)]
    draft.findings[:] = [_otherwise(each, key, place) for each in draft.findings if not _is_over(each, key)]
    for each in gone:
        del draft.facts[each]
    places = dict.fromkeys((place, *(line for each in asked for line in each.places)))
    why = f"it answers: {asked[0].why}" if asked else ""
    draft.facts[key] = Fact(key, new, tuple(places))
    draft.say(
        "carried", list(places), dotted(key), became=f"{dotted(key)}: {shown(new)}", why=why, key=dotted(key)
    )


def _is_of(finding: Finding, key: Key) -> bool:
    return finding.key == dotted(key) or finding.key.startswith(f"{dotted(key)}.")


def _is_over(finding: Finding, key: Key) -> bool:
    """Whether it says that nothing tells the key, or what counts where nothing does."""
    if finding.kind == "question":
        return _is_of(finding, key) or (not finding.key and f"`{key[0]}`" in finding.todo)
    return (
        finding.kind == "assumed" and _is_of(finding, key) and not any(each.line for each in finding.places)
    )


def _otherwise(finding: Finding, key: Key, place: Place) -> Finding:
    """What the files tell of the key is not in the job."""
    if finding.kind not in ("carried", "assumed") or not _is_of(finding, key):
        return finding
    why = f"{place} says otherwise, and counts"
    return structs.replace(finding, kind="left", became="", why=why, todo="", key="")


def _within(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """A map or a list with one part of it changed. Its form was looked at before."""
    if not path:
        return new
    if isinstance(value, list | tuple):
        index, rows = int(path[0]), list(value)
        rows[index : index + 1] = [_within(rows[index] if index < len(rows) else {}, path[1:], new)]
        return rows
    parts = dict(value) if isinstance(value, dict) else {}
    return {**parts, str(path[0]): _within(parts.get(str(path[0]), {}), path[1:], new)}


def plain(node: Node) -> Any:
    """What a fact has for a value of YAML."""
    if is_null(node):
        return NULL
    if isinstance(node, ScalarNode):
        text: str = node.value
        if node.style:
            return text
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        is_number = len(text) < 19 and text.isascii() and text.isdecimal() and str(int(text)) == text
        return int(text) if is_number else text
    if isinstance(node, MappingNode):
        return {key.value: plain(value) for key, value in node.value}
    return [plain(each) for each in node.value]


def _is_same(old: Any, new: Any) -> bool:
    return bool(list(old) == new if isinstance(old, tuple) else old == new)
