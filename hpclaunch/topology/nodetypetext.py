"""A discovered node type as the YAML file that a person reviews: one line for each device, its use with the
reason beside it, and what is not known at the top."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology.merge.machine import Merged

_WIDTH = 110
# As the specification has them; a file says them where they are otherwise.
_USUAL: Mapping[str, Any] = {"use": "compute", "port": 1, "switch": "", "memory_gib": None}


def dump(merged: Merged) -> str:
    """Text that `read_node_type` reads back as the same node type."""
    return "\n".join(_lines(merged)) + "\n"


def _lines(merged: Merged) -> Iterator[str]:
    machine = merged.node_type
    yield from _comment("Made by `hpclaunch topo discover` from captures. Look through it before use.")
    for title, said in (("Not known", merged.unknown), ("Concluded, not told", merged.assumed)):
        for each in said:
            yield from _comment(f"{title}: {each}")
    yield "version: 1"
    yield f"name: {_flow(machine.name)}"
    yield f"description: {_flow(machine.description)}"
    if machine.memory_gib is not None:
        yield f"memory_gib: {machine.memory_gib}"
    yield "numa:"
    yield from (f"  - {_entry(each)}" for each in machine.numa)
    if machine.distances:
        yield "distances:"
        yield from (f"  - {_flow(list(row))}" for row in machine.distances)
    if machine.gpus:
        yield "gpus:"
        yield from (f"  - {_entry(each)}" for each in machine.gpus)
    if machine.hcas:
        yield "hcas:"
        for hca in machine.hcas:
            why = merged.reasons.get(hca.pci, "")
            yield f"  - {_entry(hca)}" + (f"  # {_plain(why)}" if why else "")
    yield from _variants(machine)
    if machine.sources:
        yield "sources:"
        for source in machine.sources:
            yield f"  - of: {_flow(source.of)}"
            yield f"    source: {_flow(source.source)}"
            yield f"    confidence: {source.confidence}"


def _variants(machine: NodeType) -> Iterator[str]:
    if machine.variants:
        yield "variants:"
    for name, variant in machine.variants.items():
        yield f"  {_flow(name)}:"
        yield f"    when: {_flow(variant.when)}"
        yield f"    default: {'true' if variant.default else 'false'}"
        yield "    names:"
        yield from (f"      {_flow(pci)}: {_flow(device)}" for pci, device in variant.names.items())


def _entry(value: msgspec.Struct) -> str:
    """A device on one line, without what is as usual."""
    fields = msgspec.to_builtins(value)
    told = {key: part for key, part in fields.items() if key not in _USUAL or part != _USUAL[key]}
    if not told.get("l3", True):
        del told["l3"]
    return _flow({key: _lists(part) if key in ("threads", "l3") else part for key, part in told.items()})


class _CpuList(str):
    """Quoted in the file: other readers of YAML may take 8,136 for a number."""


def _lists(texts: Sequence[str]) -> list[_CpuList]:
    return [_CpuList(text) for text in texts]


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(
    _CpuList, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def _flow(value: Any) -> str:
    """A value on one line, quoted where YAML needs it."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=1_000_000, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...").removesuffix("\n")


def _comment(text: str) -> Iterator[str]:
    yield from textwrap.wrap(_plain(text), _WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _plain(text: str) -> str:
    """Captures may hold anything; a comment may not."""
    return "".join(character if character.isprintable() else "?" for character in text)
