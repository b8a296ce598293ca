"""Options of docker for a command beside the ranks: the job's steps have the container and the variables of
its ranks, and what a command had of its own is put into its words, or said."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container.images import reference
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.programs.flags import cut
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place

# Each rank and each step has these from the scheduler.
_OF_SCHEDULER = frozenset(("srun", "daemons", "gpus", "rendezvous"))


def variables(step: Started, draft: Draft) -> tuple[list[Value], list[str]]:
    """NAME=VALUE for each variable of the command (-e) that ranks do not have like that, and the names of
    those whose value no line tells."""
    layer = step.container
    there = {**dict(step.command.environment), **dict(step.command.prefix)}
    found: dict[str, Value] = {}
    missing: dict[str, None] = {}
    for option in layer.all("env") if layer is not None else ():
        parts = cut(option.value or (), "=")
        name = parts[0] if parts else known(option.value or ()) or ""
        if not name.isidentifier() or owner(name) in _OF_SCHEDULER or _have_ranks(name, draft):
            continue
        value = parts[1] if parts else there.get(name)
        text = known(value) if value is not None else None
        fact = draft.facts.get(("env", name))
        if fact is not None and (text is None or fact.value == text):
            continue
        if text is None or is_secret(name):
            missing[name] = None
        else:
            found[name] = (f"{name}={text}",)
    return list(found.values()), list(missing)


def beside(step: Started, home: Started | None) -> list[str]:
    """What a container gives its processes that the job's own does not: variables, mounts, an image."""
    layer, its = step.container, home.container if home is not None else None
    if layer is None or its is None:
        return []
    found = []
    for name in ("env", "volume", "mount"):
        there = {shown(option.value or ()) for option in its.all(name)}
        for option in layer.all(name):
            text = shown(option.value or ())
            variable = text.partition("=")[0]
            if text in there or (name == "env" and owner(variable) in _OF_SCHEDULER):
                continue
            found.append(f"-e {variable}" if name == "env" else option.written)
    if layer.words and its.words and layer.words[0] != its.words[0]:
        found.append(f"the image {shown(layer.words[0])}")
    return list(dict.fromkeys(found))


def ask_for_hosts(step: Started, draft: Draft) -> None:
    """The question for each variable that the run has on another host, and not like this. Addresses and
    numbers of nodes are told by hpclaunch."""
    layer = step.container
    for option in layer.all("env") if layer is not None else ():
        parts = cut(option.value or (), "=")
        if parts is None or owner(parts[0]) in _OF_SCHEDULER or _have_ranks(parts[0], draft):
            continue
        name, value = parts
        key = ("env", name)
        fact = draft.facts.get(key)
        here = shown(value)
        if rendezvous.with_own_addresses(value) is not None or (fact is not None and fact.value == here):
            continue
        if is_secret(name) or (fact is None and rendezvous.without_addresses(here) != here):
            continue
        there = "nothing" if fact is None else "a question" if fact.is_open else fact.value
        question = f"the value of {name}: {there} on one host, and {here} on another"
        todo = "write `groups` with an env of their own where each part of the nodes has another one"
        draft.unsay(key)
        draft.ask(key, question, (step.command.place, *(fact.places if fact else ())), option.written, todo)


def _have_ranks(name: str, draft: Draft) -> bool:
    """Whether the job takes the variable from the submitter, or makes it for each trial."""
    return any(
        fact.value == name
        for key, fact in draft.facts.items()
        if key[0] in ("inherit", "secrets") or key == ("trials", "seed")
    )


def say_rest(step: Started, missing: Sequence[str], places: Sequence[Place], key: str, draft: Draft) -> None:
    """What the command had of its own and the step has not."""
    layer = step.container
    if layer is None:
        return
    if missing:
        why = "their values are known only where the script runs, and the step has those of the ranks"
        todo = "write them in env, or let the step make them"
        names = ", ".join(missing)
        draft.say("left", places, f"{layer.program} -e {names}", why=why, todo=todo)
    option = layer.option("workdir")
    folder = known(option.value or ()) if option is not None else None
    job = draft.facts.get(("workdir",))
    if option is not None and (folder is None or job is None or job.value != folder):
        why = "a step starts in the folder in which the ranks start"
        todo = f"let the step of {key} begin with: cd {shown(option.value or ())}"
        draft.say("left", places, f"{layer.program} {option.written}", why=why, todo=todo)


def other_image(step: Started, draft: Draft) -> str:
    """The image of a command that has a container of its own, "" where that is the job's or is not told."""
    layer = step.layer("docker run")
    if layer is None or step.layer("docker exec") is not None or not layer.words:
        return ""
    text = path(layer.words[0])
    fact = draft.facts.get(("image",)) or draft.facts.get(("image", "ref"))
    if text is None or fact is None or fact.is_open:
        return ""
    return text if reference(text) != fact.value else ""
