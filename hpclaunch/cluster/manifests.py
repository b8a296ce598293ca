"""Objects of the Kubernetes API as the YAML text that `kubectl apply -f` and `oc apply -f` take."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from hpclaunch.values import pods

# An object of the API, and what an administrator should know of it.
Document = tuple[str, dict[str, Any]]
Manifest = dict[str, Any]

HEADER = "# {} for the site {}, for its administrator. Change the site file, and export again."
MANAGED = {pods.MANAGED[0]: pods.MANAGED[1]}
_WIDTH = 110
_LINE = 80  # of a list's items

# Go's YAML 1.1 readers take these for true and false, and PyYAML, which never did, would write them bare.
_BOOLEANS_OF_OTHERS = frozenset("yYnN")


class _Dumper(yaml.SafeDumper):
    """Keys in the order given, lists of maps indented, texts with line breaks as blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Quotes around all that another reader could take for a number, a time or a boolean."""
    style = None
    if "\n" in text:
        style = "|"
    elif not (text[:1].isalpha() or text[:1] == "/") or text in _BOOLEANS_OF_OTHERS:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    """Words on one line, where there is room."""
    words = all(isinstance(item, str) for item in items)
    short = words and sum(len(item) + 2 for item in items) < _LINE
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def manifest_text(header: str, documents: Sequence[Document]) -> str:
    """The documents after the header, each below its comment."""
    parts = [f"{header}\n"]
    for comment, body in documents:
        parts.append(f"---\n{comment_lines(comment)}{_dumped(body)}")
    return "".join(parts)


def comment_lines(text: str) -> str:
    """A text as comment lines of an even width; "" for none."""
    if not text:
        return ""
    lines = textwrap.wrap(text, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def metadata(name: str, namespace: str | None = None, labels: Iterable[tuple[str, str]] = ()) -> Manifest:
    """The metadata of an object that an export makes."""
    found: Manifest = {"name": name}
    if namespace is not None:
        found["namespace"] = namespace
    return {**found, "labels": {**MANAGED, **dict(labels)}}


def _dumped(body: Manifest) -> str:
    text: str = yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return text
