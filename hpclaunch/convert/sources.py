"""Shell inputs, mended where no shell would take them, and walked."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from hpclaunch.convert import left_empty, placeholders, template_lines
from hpclaunch.convert.draft import Draft, shown
from hpclaunch.convert.inputs import Input
from hpclaunch.convert.reading import MOST, Setter, ShellReading, Source
from hpclaunch.convert.shell import walk
from hpclaunch.convert.shell.choose import chosen
from hpclaunch.convert.shell.recover import Repair, recovered
from hpclaunch.convert.shell.skipped import WITH_VALUE
from hpclaunch.convert.shell.syntax.commands import NOT_READ
from hpclaunch.readback.shell import inside, outside
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError, Problem

# What families read beside the shell's own texts.
_BESIDE = frozenset(("binding", "mounts", "hostfile", "mca", "env file", "program", "accelerate"))
_MOST_EMPTY = 20  # variables that a template leaves empty: each costs a walk, of a long text seconds
_LONG = 50_000  # characters
_MEND = "mend it, and convert again"
_LOOK = "look at this line yourself"


def read(
    inputs: Sequence[Input],
    environment: Mapping[str, str],
    draft: Draft,
    arguments: Sequence[str] | None = None,
) -> ShellReading:
    """The walk through the shell inputs; what was changed or left out for it goes to `draft`. Scripts that
    run beside ranks are among its sources; their programs, lists of cores, mounts and hosts, and Open MPI's
    parameters, are `beside`.

    Raises InputError, with file and line, where the launcher cannot be read at all.
    """
    sources = [Source(each.name, _ended(each.text)) for each in inputs if each.role == "shell"]
    of_ranks = [Source(each.name, _ended(each.text)) for each in inputs if each.role == "rank script"]
    if not sources:
        sources, of_ranks = of_ranks, []
    sources = placeholders.put_in(template_lines.taken_out(sources, draft), draft)
    try:
        reading = walk.read(sources, environment, arguments=arguments, most=MOST)
        is_long = sum(len(each.text) for each in sources) > _LONG
        for _ in range(2 if is_long else _MOST_EMPTY):
            again = left_empty.filled(sources, reading, draft)
            if again is None:
                break
            sources = again
            reading = walk.read(sources, environment, arguments=arguments, most=MOST)
    except (ScriptError, InputError):
        mended, left_out = _mended(sources, draft)
        try:
            reading = walk.read(mended, environment, arguments=arguments)
        except ScriptError as error:
            raise InputError(error.message) from None
        reading = structs.replace(reading, setters=(*reading.setters, *left_out))
    tables = tuple(Source(each.name, each.text) for each in inputs if each.role in _BESIDE)
    return structs.replace(reading, sources=(*reading.sources, *of_ranks), beside=tables)


def _ended(text: str) -> str:
    """The text as bash reads a file: with nothing behind it a backslash at its end is none (bash 5.2, and not
    so in the text of -c)."""
    backslashes = len(text) - len(text.rstrip("\\"))
    return text[: len(text) - backslashes % 2]


def _mended(sources: Sequence[Source], draft: Draft) -> tuple[list[Source], list[Setter]]:
    """The sources that a shell takes, after as few changes as that needs, and what may be set by the lines
    that were left out for it."""
    launcher = chosen(sources)
    found = []
    setters = []
    problems = []
    for source in sources:
        try:
            text, repairs = recovered(inside(source.text))
        except ScriptError as error:
            where = f"{source.name}:{error.line}" if error.line else source.name
            problems.append((source.name, Problem(outside(error.message), where=where)))
            place = Place(source.name, error.line)
            draft.say("unread", [place], source.name, why=outside(error.message), todo=_MEND)
            continue
        for each in repairs:
            _say(each, source.name, draft)
            if each.kind == "left out" and (names := WITH_VALUE.findall(outside(each.was))):
                setters.append(Setter(Place(source.name, each.line), "", outside(each.was), tuple(names)))
        found.append(structs.replace(source, text=outside(text)))
    if not found or any(name == launcher for name, _ in problems):
        raise InputError([problem for _, problem in problems])
    return found, setters


def _say(repair: Repair, name: str, draft: Draft) -> None:
    place, was, complaint = (
        Place(name, repair.line),
        shown(outside(repair.was)),
        shown(outside(repair.complaint)),
    )
    if repair.kind == "left out":
        why = complaint if complaint == NOT_READ else f"no shell takes it ({complaint})"
        draft.say("unread", [place], was, why=why, todo=_LOOK)
    else:
        became, why = shown(outside(repair.now)), f"no shell takes it as it is ({complaint})"
        draft.say("repaired", [place], was, became=became, why=why, todo=_LOOK)
