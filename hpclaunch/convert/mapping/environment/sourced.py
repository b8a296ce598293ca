"""Variables that no line sets, behind a `source` of a file that was not given: asked for."""

import re

from msgspec import structs

from hpclaunch.convert.draft import Draft, Fact, dotted
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.reading import ShellReading, Sourced
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Place

# What a login has of these the submitter's shell has too; the others set variables of their own alone.
_OF_LOGIN = re.compile(
    r"(?:^|/)(?:\.bashrc|\.bash_profile|\.bash_login|\.profile|\.bash_aliases|activate|conda\.sh|mamba\.sh"
    r"|setup-env\.sh|modules\.sh|init/(?:ba)?sh)$|^/etc/(?:profile(?:\.d/[\w.-]+)?|bash\.?bashrc|bashrc)$"
)


def ask(reading: ShellReading, draft: Draft) -> None:
    """What would be taken from the submitter's shell may be set by such a file: ask for it instead."""
    missing = [
        each
        for each in reading.sourced
        if not each.file and each.place not in _by_ranks(draft) and not _OF_LOGIN.search(shown(each.name))
    ]
    rows = [fact for key, fact in draft.facts.items() if key[0] == "inherit" and len(key) == 2]
    if not missing:
        return
    _doubt_defaults(reading, missing, draft)
    by = {fact.key: _setter(reading, fact, missing) for fact in rows}
    if not any(by.values()):
        return
    said = {each.key: each for each in draft.findings}
    draft.drop("inherit", [place for fact in rows for place in fact.places])
    for fact in rows:
        finding, each = said[dotted(fact.key)], by[fact.key]
        if each is None:
            key = ("inherit", draft.count("inherit"))
            draft.put(key, fact.value, fact.places, finding.what, why=finding.why)
            continue
        name, file = fact.value, shown(each.name)
        question = f"the value of {name}: {file}, which was not given, may set it"
        todo = (
            f"convert again with {file}, or give --set env.{name}=VALUE; where the submitter's shell has it "
            f"take it out there and write inherit: [{name}]"
        )
        draft.ask(("env", name), question, (each.place, *fact.places), finding.what, todo=todo)
    for place, file in {each.place: shown(each.name) for each in by.values() if each is not None}.items():
        why = "it was not given, and what else it exports reached the ranks too"
        draft.say("left", (place,), f"source {file}", why=why, todo="give it beside the others")


def _doubt_defaults(reading: ShellReading, missing: list[Sourced], draft: Draft) -> None:
    """${NAME:-default} behind such a file: the default counts, and it is said that the file may set it."""
    first = missing[0]
    lines = {each.name: each.place for each in reading.assumed if _is_before(first.place, each.place)}
    for number, each in enumerate(draft.findings):
        if each.kind == "assumed" and each.what in lines and lines[each.what] in each.places:
            why = f"{each.why}; {shown(first.name)}, which was not given, may set it"
            draft.findings[number] = structs.replace(each, why=why)


def _by_ranks(draft: Draft) -> set[Place]:
    """Where the script sources what the job's command sources in each rank."""
    carried = (each for each in draft.findings if (each.kind, each.key) == ("carried", "command"))
    return {place for each in carried if each.what.startswith("source ") for place in each.places}


def _setter(reading: ShellReading, fact: Fact, missing: list[Sourced]) -> Sourced | None:
    """The last of the files that may set the variable before a line asks for it."""
    if owner(fact.value) == "login":
        return None
    uses = reading.wanted.get(fact.value, fact.places)
    return next(
        (each for each in reversed(missing) if any(_is_before(each.place, use) for use in uses)), None
    )


def _is_before(place: Place, use: Place) -> bool:
    return place.file != use.file or place.line <= use.line
