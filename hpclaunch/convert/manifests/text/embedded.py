"""Manifests that stand as texts in other objects: in a template of Argo's, in a ConfigMap."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.text.api import OF_RANKS
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object
from hpclaunch.spec.tree import MappingNode, SequenceNode

_KIND = re.compile(rf"^[ \t]*kind:[ \t]*[\"']?(?P<kind>{'|'.join(OF_RANKS)})[\"']?[ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"^[ \t]*apiVersion:[ \t]*\S", re.MULTILINE)
_MOST_FIELDS = 2000


def say(others: Sequence[Object], draft: Draft) -> None:
    """Say of each text in these objects that is the manifest of ranks that it is not read as one."""
    for given in others:
        for field in _texts(given.root):
            kind = _KIND.search(field.peek())
            if kind is not None and _VERSION.search(field.peek()):
                what = f"the manifest of {_article(kind['kind'])} in {field.name} of {given.name}"
                why = "it stands there as a text, and a text is not read as a manifest"
                todo = "write it into a file of its own, from its first column on, and convert that"
                draft.say("left", [field.place], what, why=why, todo=todo)


def _article(kind: str) -> str:
    return f"an {kind}" if kind == "MPIJob" else f"a {kind}"


def _texts(root: Field) -> Iterator[Field]:
    waiting, seen = [root], 0
    while waiting and seen < _MOST_FIELDS:
        field = waiting.pop(0)
        seen += 1
        if isinstance(field.node, MappingNode):
            waiting += [below for _, below in field.fields()]
        elif isinstance(field.node, SequenceNode):
            waiting += field.items()
        else:
            yield field
