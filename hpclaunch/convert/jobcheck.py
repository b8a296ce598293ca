"""What the reader of job files says of facts that stand without the questions beside them."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from hpclaunch.convert.draft import Fact, Key
from hpclaunch.convert.jobtext import Node, is_list, text_of, tree_of
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError, Problem

# The field of the long form that the short form, one value, stands for.
SHORT = {"image": "ref", "trials": "count"}
_STAND_INS = {"name": "name", "command": "command"}
_SHORT_STAND_INS: dict[str, str | int] = {"image": "image", "trials": 1}


def groups_of(keys: Iterable[Key]) -> set[str]:
    """The names of the groups that have any of these keys."""
    return {str(key[1]) for key in keys if key[0] == "groups" and len(key) > 2}


def refused(facts: Sequence[Fact], groups: Collection[str]) -> tuple[Problem, ...]:
    """What the reader says of the facts alone, without the questions. `groups` are the names of all, also of
    those of which there are questions alone."""
    known = {fact.key[0] for fact in facts}
    stand_ins = [Fact((key,), text, ()) for key, text in _STAND_INS.items() if key not in known]
    keys = {fact.key for fact in facts}
    stand_ins += [
        Fact((key, short), _SHORT_STAND_INS[key], ())
        for key, short in SHORT.items()
        if any(other[0] == key and len(other) > 1 for other in keys) and not {(key,), (key, short)} & keys
    ]
    stand_ins += [
        Fact(("groups", name, "nodes"), 1, ()) for name in groups if ("groups", name, "nodes") not in keys
    ]
    try:
        parse_job(text_of([*facts, *stand_ins], ()), "", "/")
    except InputError as error:
        return error.problems
    return ()


def owners(facts: Sequence[Fact], problems: Sequence[Problem]) -> Iterator[tuple[Fact, str]]:
    """The fact behind each problem: the nearest above the path, else all below it."""
    tree = tree_of(facts)
    for problem in problems:
        node, owner = tree, None
        for part in problem.path:
            found = _below(node, part)
            if found is None:
                break
            node, owner = found, found.fact or owner
        for fact in [owner] if owner else _facts(node) if problem.path else ():
            yield fact, problem.message


def _below(node: Node, part: str | int) -> Node | None:
    if isinstance(part, int) and is_list(node):
        entries = list(node.below.values())  # what was left out has no number in the file
        return entries[part] if part < len(entries) else None
    return node.below.get(part)


def _facts(node: Node) -> Iterator[Fact]:
    if node.fact:
        yield node.fact
    for each in node.below.values():
        yield from _facts(each)
