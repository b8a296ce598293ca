"""Facts of a draft as the text of a job file: keys in the order of its schema, each with the lines that it
comes from, and questions as `<ask: ...>`."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct, structs

from hpclaunch.convert.draft import NULL, Fact, dotted
from hpclaunch.spec.forms import OPEN, OPEN_END
from hpclaunch.spec.job import Job
from hpclaunch.values.conversion import base_names, with_base_names
from hpclaunch.values.yamltext import beside, comment, finished, in_flow, value

_ORDER = tuple(Job.__struct_encode_fields__)
_WIDTH = 88  # of a list on one line
_MOST_PLACES = 4


class Node(Struct, frozen=True):
    """A key of the file: a fact, or those below it by their names or numbers."""

    fact: Fact | None
    below: dict[str | int, "Node"]


def text_of(facts: Iterable[Fact], made_from: Sequence[str]) -> str:
    """The file, whatever the facts are. With `made_from` it begins with those files and what is open."""
    facts = _by_base_names(list(facts), made_from)
    lines = [*_header(facts, made_from), "version: 1"]
    root = tree_of(facts).below
    known = [key for key in _ORDER if key in root]
    for name in [*known, *(key for key in root if key not in _ORDER)]:
        lines += _entry(str(name), root[name], "")
    return finished("\n".join(lines) + "\n")


def _header(facts: Sequence[Fact], made_from: Sequence[str]) -> Iterator[str]:
    if not made_from:
        return
    yield f"# Made by `hpclaunch convert` from {comment(_listed(made_from))}."
    yield "# Behind each value stand the lines that it comes from."
    asked = [dotted(fact.key) for fact in facts if fact.is_open]
    if asked:
        are = "One question is" if len(asked) == 1 else f"{len(asked)} questions are"
        yield f"# {are} still open ({OPEN.strip()} ...{OPEN_END}): {comment(_listed(asked))}."
        yield "# Write the values in their places, or give them with --set KEY=VALUE."


def _by_base_names(facts: list[Fact], made_from: Sequence[str]) -> list[Fact]:
    """The head of the file has the paths."""
    brief = base_names([*made_from, *(place.file for fact in facts for place in fact.places)])
    renamed = with_base_names(brief)
    return [
        structs.replace(
            fact,
            places=tuple(structs.replace(each, file=brief[each.file]) for each in fact.places),
            question=renamed(fact.question),
        )
        for fact in facts
    ]


def _listed(names: Sequence[str]) -> str:
    names = [*names[:6], f"{len(names) - 6} more"] if len(names) > 7 else list(names)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def tree_of(facts: Iterable[Fact]) -> Node:
    """The facts by their keys; a list without what was left out of it."""
    root = Node(None, {})
    for fact in sorted(facts, key=_place_in_lists):
        node = root
        for part in fact.key[:-1]:
            node = node.below.setdefault(part, Node(None, {}))
        last = fact.key[-1]
        old = node.below.get(last)
        node.below[last] = Node(fact, old.below if old else {})
    return root


def _place_in_lists(fact: Fact) -> tuple[int, ...]:
    """Facts of a list in the list's order; all others as they came."""
    return tuple(part for part in fact.key if isinstance(part, int))


def is_list(node: Node) -> bool:
    """Whether what is below a key are the entries of a list."""
    return bool(node.below) and all(isinstance(part, int) for part in node.below)


def _entry(name: str, node: Node, indent: str) -> list[str]:
    """A key with all that is below it."""
    head = f"{indent}{in_flow(name)}:"
    below = _whole(node)
    if not below:
        assert node.fact
        return _with_value(head, node.fact, indent + "  ")
    said = _places(node.fact) if node.fact and node.fact.value in (None, {}, [], ()) else ""
    lines = [beside(head, said)]
    if all(isinstance(part, int) for part in below):
        for each in below.values():
            lines += _item(each, indent + "  ")
    else:
        for part, each in below.items():
            lines += _entry(str(part), each, indent + "  ")
    return lines


def _whole(node: Node) -> dict[str | int, Node]:
    """What is below a key, where its own fact is a part of that: the short form of a value, or some of the
    entries."""
    if not node.below or node.fact is None:
        return node.below
    fact = node.fact
    if isinstance(fact.value, dict):
        parts: dict[str | int, Any] = dict(fact.value)
    elif isinstance(fact.value, list | tuple):
        rows = [Node(Fact(fact.key, each, fact.places), {}) for each in fact.value]
        return dict(enumerate([*rows, *node.below.values()]))
    else:
        return {"value": Node(fact, {}), **node.below}  # no map: the reader says so
    return {part: Node(Fact(fact.key, each, fact.places), {}) for part, each in parts.items()} | node.below


def _item(node: Node, indent: str) -> list[str]:
    """An entry of a list."""
    if node.below:
        fields = [
            line for part, each in node.below.items() for line in _entry(str(part), each, indent + "  ")
        ]
    elif node.fact and isinstance(node.fact.value, dict) and node.fact.value:
        fields = _fields(node.fact.value, _places(node.fact), indent + "  ")
    else:
        assert node.fact
        return _with_value(f"{indent}-", node.fact, indent + "  ")
    return [f"{indent}- {fields[0][len(indent) + 2 :]}", *fields[1:]]


def _with_value(head: str, fact: Fact, indent: str) -> list[str]:
    said = _places(fact)
    if fact.is_open:
        question = f"{OPEN}{' '.join(fact.question.split())}{OPEN_END}"
        return [beside(f"{head} {value(question)}", said)]
    return _plain(head, fact.value, said, indent)


def _plain(head: str, what: Any, said: str, indent: str) -> list[str]:
    if isinstance(what, dict):
        if not what:
            return [beside(f"{head} {{}}", said)]
        return [beside(head, said), *_fields(what, "", indent)]
    if isinstance(what, list | tuple):
        flow = f"{head} [{', '.join(_flow(each) for each in what)}]" if _is_flat(what) else ""
        if flow and len(flow) <= _WIDTH:
            return [beside(flow, said)]
        lines = [beside(head, said)]
        for each in what:
            if isinstance(each, dict) and each:
                fields = _fields(each, "", indent + "  ")
                lines += [f"{indent}- {fields[0][len(indent) + 2 :]}", *fields[1:]]
            else:
                lines += _plain(f"{indent}-", each, "", indent + "  ")
        return lines
    return [beside(f"{head} {'null' if what is None or what is NULL else value(what)}", said)]


def _fields(what: dict[str, Any], said: str, indent: str) -> list[str]:
    """The keys of a map, with the comment behind the first."""
    lines: list[str] = []
    for name, each in what.items():
        lines += _plain(f"{indent}{in_flow(name)}:", each, said if not lines else "", indent + "  ")
    return lines


def _is_flat(what: Sequence[Any]) -> bool:
    return all(isinstance(each, int) or (isinstance(each, str) and "\n" not in each) for each in what)


def _flow(what: str | int) -> str:
    return in_flow(what) if isinstance(what, str) else value(what)


def _places(fact: Fact) -> str:
    """The lines behind a fact, in a comment that a person reads."""
    if len(fact.places) == 1:
        return str(fact.places[0])
    shown = [str(place) for place in islice(dict.fromkeys(fact.places), _MOST_PLACES)]
    more = len(dict.fromkeys(fact.places)) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])
