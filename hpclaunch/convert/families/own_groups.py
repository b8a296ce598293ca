"""The groups of a rendered script: what each has of its own, and which nodes they ask for."""

import re
from collections.abc import Iterator

from hpclaunch.convert.draft import Draft, Key
from hpclaunch.convert.families.own_text import Rendered, command, settable
from hpclaunch.convert.mapping.slurm.batch.batch_options import HINTS
from hpclaunch.spec.groups import GroupHints
from hpclaunch.values.launch import Launch, SeenGroup

_OF_GROUP = frozenset(GroupHints.__struct_fields__)
_OF_JOB = re.compile(r"^# \S.* on \S+: \d+ nodes? of type (.+), \d+ ranks? on each", re.MULTILINE)
_TYPE = r"^own_{index}\(\) \{{ # .*: \d+ nodes? of type (.+), \d+ ranks? on each$"


def facts(found: Rendered) -> Iterator[tuple[Key, object, str]]:
    """What the text alone tells for certain, as `own_facts.facts`."""
    launch = found.launch
    if launch.world == "separate":
        yield ("world",), "separate", "each group has a world of its own"
    for index, group in enumerate(launch.groups):
        part = _part(launch, index)
        yield ("groups", group.name, "nodes"), _nodes(launch, group, part), f"nodes of {group.name}"
        yield ("groups", group.name, "command"), command(group.argv), f"what ranks of {group.name} execute"
        for key in ("ranks_per_node", "gpus_per_node"):
            if getattr(part, key) != getattr(launch, key):
                yield ("groups", group.name, key), getattr(part, key), f"{key} of {group.name}"


def settings(launch: Launch) -> dict[str, str]:
    """What the rank wrapper is told; of groups that are unlike the first's, which the job's keys made."""
    return dict(_part(launch, 0).settings)


def environment(found: Rendered) -> dict[Key, str]:
    """The variables of each group whose values are in the text, but for those that no job can set."""
    return {
        ("groups", group.name, "env", each.name): each.value
        for group in found.launch.groups
        for each in group.environment
        if each.source == "text" and settable(each.name)
    }


def gpu_kind(launch: Launch) -> str:
    """The type of GPU that all of the job's nodes are asked for, "" for any, and where groups differ."""
    return launch.gpu_kind if all(each.gpu_kind == launch.gpu_kind for each in launch.parts) else ""


def shared_hints(found: Rendered) -> dict[str, str]:
    """What every allocation of the job is asked for in the same words: keys of `sites.NAME`."""
    return {
        key: found.sbatch[option]
        for option, key in HINTS.items()
        if option in found.sbatch and (key not in _OF_GROUP or _is_shared(found, option))
    }


def hints(found: Rendered, site: str) -> Iterator[tuple[Key, str]]:
    """What the allocations of groups are asked for, each in other words, and their types of GPU."""
    for index, group in enumerate(found.launch.groups):
        part = _part(found.launch, index)
        if part.gpu_kind and not gpu_kind(found.launch):
            yield ("groups", group.name, "gpu_type"), part.gpu_kind
        if not found.components:
            continue
        for option, key in HINTS.items():
            if key in _OF_GROUP and option in found.components[index] and not _is_shared(found, option):
                yield ("groups", group.name, "sites", site, key), found.components[index][option]


def node_types(found: Rendered, site: str) -> Iterator[tuple[Key, str]]:
    """The type of node that the text says of the job, and of each group, where it is one."""
    told = _OF_JOB.search(found.text[:2000])
    if told and not found.launch.groups and " or " not in told[1]:
        yield ("sites", site, "node_type"), told[1]
    for group, types in _types(found).items():
        if " or " not in types:
            yield ("groups", group, "sites", site, "node_type"), types


def unlike_types(found: Rendered, site: str) -> Iterator[tuple[Key, str]]:
    """Those of groups of which the text does not say the same."""
    if len(set(_types(found).values())) > 1:
        yield from node_types(found, site)


def _types(found: Rendered) -> dict[str, str]:
    """What the text says of the nodes of each group: "dgx-a100 or dgx-h100"."""
    names = [group.name for group in found.launch.groups]
    shown = (re.search(_TYPE.format(index=index), found.text, re.MULTILINE) for index in range(len(names)))
    return {name: each[1] for name, each in zip(names, shown, strict=True) if each}


def say_unlike_seats(found: Rendered, draft: Draft) -> None:
    """The cores of groups that differ in ranks: a job has lists of them for all of its ranks alone."""
    if found.launch.parts:
        why = "each group's ranks get the cores, memory and HCAs by the node type of the site that it is for"
        draft.say("assumed", found.place("bind"), "cores, memory and HCAs of each group", why=why)


def _is_shared(found: Rendered, option: str) -> bool:
    return all(each.get(option) == found.sbatch.get(option) for each in found.components)


def _part(launch: Launch, index: int) -> Launch:
    return launch.parts[index] if index < len(launch.parts) else launch


def _nodes(launch: Launch, group: SeenGroup, part: Launch) -> int:
    return part.nodes if launch.parts else max(1, group.ranks // launch.ranks_per_node)
