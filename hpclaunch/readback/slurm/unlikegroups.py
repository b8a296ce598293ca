"""Groups of ranks that differ in more than command and variables: a part of the launch for each, with options
of srun of its own. In one world they are components of one srun, with a : between them, else an srun each."""

from collections.abc import Sequence

from msgspec import Struct, structs

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call, Reading
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.readback.slurm.options import options
from hpclaunch.readback.slurm.preflight import chosen, is_check, is_next, is_of_component
from hpclaunch.readback.slurm.rankgroups import MEMBER, labels
from hpclaunch.values.launch import Launch

_SETTING = "local_ranks="  # each such group has it, and no other launch
_PLACE = ("relative", "het-group")
# What the ranks of all groups have alike.
_ALIKE = (
    "image",
    "cwd",
    "environment",
    "before",
    "mounts",
    "groups",
    "seconds",
    "rights",
    "wrapper",
    "one_failure_ends_all",
    "retries",
    "tasks",
    "notify",
)


class Parts(Struct, frozen=True):
    """The reading as it would be of each group alone; `places` say where each is, as options of srun, `nodes`
    the same where its nodes are known only when they have been checked, and `settings` are those of all
    groups' wrappers."""

    readings: tuple[Reading, ...]
    places: tuple[dict[str, str], ...]
    nodes: tuple[str, ...]
    world: str
    settings: tuple[str, ...]
    unread: tuple[str, ...]


def parts(reading: Reading) -> Parts | None:
    """The groups' parts, None where there are no such groups."""
    found = [call for call in reading.calls if _is_step(call)]
    if not found:
        return None
    world = "one" if len(found) == 1 else "separate"
    steps = _components(found[0]) if world == "one" else found
    others = [call for call in reading.calls if call not in found and not labels(call) and not _orders(call)]
    unread, readings, places = [], [], []
    for index, step in enumerate(steps):
        texts = [known(word) or "" for word in step.words]
        member = [text for text in texts if text.startswith(MEMBER)]
        if member != ([] if world == "one" else [f"{MEMBER}{index}"]):
            unread.append(f"line {step.line}: this srun is not that of the next group")
        given, _ = options("srun", step.words[1:])
        places.append({each.name: outside(shown(each.value or ())) for each in given if each.name in _PLACE})
        own = {*member, *(f"--{name}={value}" for name, value in places[-1].items())}
        words = tuple(
            word for word, text in zip(step.words, texts, strict=True) if text not in own or not text
        )
        calls = (*_of_component(others, index), structs.replace(step, words=words))
        readings.append(structs.replace(reading, calls=calls))
    settings = tuple(setting for step in steps for setting in _settings(step))
    nodes = tuple(chosen(step.words) for step in steps)
    return Parts(tuple(readings), tuple(places), nodes, world, settings, tuple(unread))


def together(launches: Sequence[Launch], of: Parts, nodes: str | None, checked: bool) -> Launch:
    """The launch of all groups. `nodes` are those of the one allocation that carries them all, None where
    each has its own; with `checked` which of them a group gets is known when they have been checked."""
    first, unread, before = launches[0], list(of.unread), 0
    for index, (each, place) in enumerate(zip(launches, of.places, strict=True)):
        name = first.groups[index].name if index < len(first.groups) else str(index)
        differing = [field for field in _ALIKE if getattr(each, field) != getattr(first, field)]
        unread += [f"group {name}: its {field} is not that of the first" for field in differing]
        expected = {"relative": str(before)} if nodes is not None else {"het-group": str(index)}
        expected = {} if checked and nodes is not None else expected
        if place != expected or not _has_its_own(of.nodes[index], index, before, each, nodes, checked):
            unread.append(f"group {name}: its nodes are not the next ones of the job")
        if index >= len(first.groups) or first.groups[index].ranks != each.nodes * each.ranks_per_node:
            unread.append(f"group {name}: groups= does not say how many ranks it has")
        before += each.nodes
    if len(first.groups) != len(launches):
        unread.append(f"groups= names {len(first.groups)} groups, and {len(launches)} are started")
    if nodes is not None and nodes != str(before):
        unread.append(f"the groups have {before} of the job's {nodes} nodes")
    return structs.replace(
        first,
        nodes=before,
        tables=(),
        settings=(),
        parts=tuple(structs.replace(each, unread=(), unbridged=()) for each in launches),
        world=of.world,
        unread=tuple(dict.fromkeys((*unread, *(text for each in launches for text in each.unread)))),
        unbridged=tuple(dict.fromkeys(each for launch in launches for each in launch.unbridged)),
    )


def _has_its_own(
    chosen: str, index: int, before: int, each: Launch, nodes: str | None, checked: bool
) -> bool:
    """Whether a group whose nodes are checked gets those of the good ones that are its own."""
    if not checked:
        return not chosen
    if nodes is not None:
        return is_next(chosen, before, each.nodes)
    return is_of_component(chosen, index)


def _of_component(calls: Sequence[Call], index: int) -> list[Call]:
    """The calls but for those that check the nodes of another component."""
    found = []
    for call in calls:
        whose = [text for word in call.words if (text := known(word) or "").startswith("--het-group=")]
        if not (is_check(call) and whose not in ([], [f"--het-group={index}"])):
            found.append(call)
    return found


def _is_step(call: Call) -> bool:
    texts = [known(word) or "" for word in call.words]
    return texts[:1] == ["srun"] and any(text.startswith(_SETTING) for text in texts)


def _orders(call: Call) -> bool:
    """Whether Slurm is asked if nodes are in the order of their names."""
    words = [known(word) or "" for word in call.words[:3]]
    return words[:2] == ["scontrol", "show"] and words[2] in ("hostlist", "hostlistsorted")


def _components(call: Call) -> list[Call]:
    """An srun for each component (srun(1): a word : is between them, wherever it stands)."""
    found = []
    words = [call.words[0]]
    for word in call.words[1:]:
        if known(word) == ":":
            found.append(structs.replace(call, words=tuple(words)))
            words = [call.words[0]]
        else:
            words.append(word)
    return [*found, structs.replace(call, words=tuple(words))]


def _settings(call: Call) -> list[str]:
    """What the rank wrapper is told before the first --."""
    texts = [known(word) or "" for word in call.words]
    if "hpclaunch-rank" not in texts:
        return []
    told = texts[texts.index("hpclaunch-rank") + 1 :]
    return told[: told.index("--")] if "--" in told else []
