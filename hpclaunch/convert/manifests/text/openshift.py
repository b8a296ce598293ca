"""A Template of OpenShift -> its objects, with the values of its parameters in them.

`oc process` puts them in: a value into ${NAME} wherever it stands in a text, and what is no text, such as a
number, in place of a whole "${{NAME}}" (docs.openshift.com, "Using templates"; Parameter in openshift/api,
template/v1/types.go). Other names than those of its parameters stay: they are the container's shell's.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object, object_of
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.spec import scalars
from hpclaunch.spec.tree import MappingNode, Node, ScalarNode, SequenceNode
from hpclaunch.values.conversion import Place

BY = "oc process"
_VERSIONS = ("template.openshift.io/v1", "v1")
_PLACE = re.compile(r"\$\{(\w{1,200})\}", re.ASCII)
_WHOLE = re.compile(r"\$\{\{(\w{1,200})\}\}", re.ASCII)
_MOST_LINES = 5


class Unfolded(Struct, frozen=True):
    """The objects of a Template, and its parameters of which nobody told a value."""

    objects: tuple[Object, ...]
    untold: frozenset[str] = frozenset()


class _Parameter(Struct, frozen=True):
    """`value`: None where who processes the Template gives it, it is drawn by chance, or it is a secret."""

    name: str
    value: str | None
    places: tuple[Place, ...]


def unfolded(given: Object, environment: Mapping[str, str], draft: Draft) -> Unfolded | None:
    """None for another object. A value of --env counts over that of the Template, as with `oc process -p`."""
    inside = given.root.get("objects")
    if given.kind != "Template" or given.version not in _VERSIONS or inside is None or not inside.is_list:
        return None
    if not inside.items():
        return None
    values = {each.name: each for each in _parameters(given.root, environment)}
    used: dict[str, list[Place]] = {}
    for item in inside.items():
        _put_in(item, values, used)
    for name, places in used.items():
        if values[name].value is not None:
            told = [*values[name].places, *places[:_MOST_LINES]]
            draft.say(
                "carried", told, name, why="a parameter of the Template: its value is put into these lines"
            )
    labels = given.root.get("labels")
    if labels is not None:
        why = "it puts them on each of its objects, and they are for people and controllers of one cluster"
        draft.say("left", [labels.place], f"labels of {given.name}", why=why)
    untold = frozenset(name for name in used if values[name].value is None)
    return Unfolded(tuple(map(object_of, inside.items())), untold)


def _parameters(root: Field, environment: Mapping[str, str]) -> Iterator[_Parameter]:
    listed = root.get("parameters")
    for each in listed.items() if listed is not None else ():
        name = each.get("name")
        if name is None:
            continue
        word, value = name.text(), each.get("value")
        if is_secret(word):  # its value is put into no line, and the job has the name alone
            yield _Parameter(word, None, (name.at,))
        elif word in environment:
            yield _Parameter(word, environment[word], (Place(f"--env {word}"), name.at))
        elif value is not None and value.peek():
            yield _Parameter(word, value.peek(), (value.at,))
        else:
            required = each.get("required")
            is_open = each.get("generate") is not None or (
                required is not None and required.peek() in scalars.TRUE
            )
            yield _Parameter(word, None if is_open else "", (name.at,))


def _put_in(item: Field, values: Mapping[str, _Parameter], used: dict[str, list[Place]]) -> None:
    """The values in place of the names, in all texts of an object."""
    waiting: list[Node] = [item.node]
    seen: set[int] = set()  # an alias is the node that it names
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            waiting += node.value
        elif isinstance(node, MappingNode):
            waiting += [part for entry in node.value for part in entry]
        elif isinstance(node, ScalarNode) and "${" in node.value:
            _put_into(node, item, values, used)


def _put_into(
    node: ScalarNode, item: Field, values: Mapping[str, _Parameter], used: dict[str, list[Place]]
) -> None:
    place = item.book.place(node)

    def value(found: re.Match[str]) -> str:
        known = values.get(found[1])
        if known is None:
            return found[0]
        used.setdefault(known.name, []).append(place)
        return f"${{{known.name}}}" if known.value is None else known.value

    whole = _WHOLE.fullmatch(node.value)
    if whole is not None and whole[1] in values:
        node.style = None
    node.value = value(whole) if whole is not None else _PLACE.sub(value, node.value)
