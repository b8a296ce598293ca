"""What is said of the words behind the script's name: --args gives them, or a question that needs them says
so."""

import re
import shlex
from collections.abc import Iterable, Iterator

from msgspec import structs

from hpclaunch.convert.draft import Draft, dotted, sayable
from hpclaunch.convert.reading import Assigned, ShellReading
from hpclaunch.convert.shell.started import words_of
from hpclaunch.readback.shell.positional import is_all
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Finding, Place

_OPTION = Place("--args")
ARGUMENT = re.compile(r"\$\{?[1-9@*#]")  # a word behind the script's name, as a text has it
_OF_OTHERS = re.compile(r"(?<=[\s(=])'[^']*'|\\\$")  # awk '{print $1}' speaks of a field of its own
_WHOLE = re.compile(r"\$\{[1-9@*#]\d*\}")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Where a question names variables: in the shell's own words, and as what it speaks of. Its other words may be
# names of the script too: `nodes`, `config`, `run`.
_NAMED = re.compile(
    r"\$\(\([^$]{0,200}|\$\{?[#!]?[A-Za-z_]\w*|(?:^|[:;,] |\band |\bvalue of )[A-Za-z_]\w*(?= is\b|,|$)",
    re.ASCII,
)
_MOST_WAYS = 20
_MOST_SHOWN = 4
_SAID = "comes from the script's arguments, which --args gives"
# What a question says of the one part of a command that is not told, where it may have several.
_DOUBT = re.compile(r"and (\S.*) is known only where the script runs$", re.DOTALL)


def told(reading: ShellReading, draft: Draft) -> list[Finding]:
    """The findings for --args, and for what starts the script with words of its own, where something uses
    them. Where nobody gave them the questions that they would answer name --args."""
    given = words_of(reading.started)
    found = list(_starts(reading))
    own = {(each.places, each.what) for each in found}  # it is no step of the job
    draft.findings[:] = [
        each for each in draft.findings if each.kind != "left" or (each.places, each.what) not in own
    ]
    if not reading.asks:
        return found
    if reading.arguments is not None:
        what = f"the script's arguments: {shlex.join(reading.arguments) or 'none'}"
        why = "the commands that use them have their values"
        return [*found, Finding("carried", (_OPTION,), sayable(what), why=why)]
    if given is not None and not any(map(is_all, given)):
        return found
    several = _several(reading)
    names = _made_of_them(reading)
    asked: dict[str, int] = {}  # which finding asks for a key, the first of them
    for number, each in enumerate(draft.findings):
        if each.kind == "question":
            asked.setdefault(each.key, number)
    for key, fact in list(draft.facts.items()):
        number = asked.get(dotted(key), -1)
        if not fact.is_open or number < 0:
            continue
        finding = draft.findings[number]
        # Of a command the question has the words: arguments that were taken for none are no more in it.
        said = (fact.question,) if key == ("command",) else (finding.what, fact.question)
        if any(ARGUMENT.search(_OF_OTHERS.sub("", each)) for each in said) or not names.isdisjoint(
            _named(said)
        ):
            question = f"{fact.question}; {_which(fact.question)} {_SAID}{several}"
            todo = (
                f"write it in the job file, give --set {dotted(key)}=..., or convert again with --args "
                "'...', the words that stood behind the script's name"
            )
            draft.facts[key] = structs.replace(fact, question=question)
            draft.findings[number] = structs.replace(finding, why=question, todo=todo)
    return found


def _named(texts: Iterable[str]) -> Iterator[str]:
    """The variables that texts for people may name."""
    for text in texts:
        for each in _NAMED.findall(text):
            yield from _WORD.findall(each)


def _which(question: str) -> str:
    """What comes from the arguments: the argument itself where the question is about another part."""
    doubt, argument = _DOUBT.search(question), _WHOLE.search(_OF_OTHERS.sub("", question))
    return argument[0] if doubt and argument and not ARGUMENT.search(doubt[1]) else "it"


def _starts(reading: ShellReading) -> Iterator[Finding]:
    """What is said of the commands that start the script."""
    files = {each.place.file for each in reading.started}
    are_its_own = reading.arguments is not None and files.isdisjoint(each.file for each in reading.asks)
    given = None if are_its_own else words_of(reading.started)
    for each in reading.started:
        why = "it starts the script that the job is made of"
        if given and reading.asks:
            why += f", whose arguments are: {' '.join(map(shown, given))}"
        elif given is None and reading.asks:
            why += ", which has the arguments of --args" if reading.arguments is not None else ""
        yield Finding("carried", (each.place,), sayable(each.written), why=why)


def _several(reading: ShellReading) -> str:
    """That the words are told, and others in each place."""
    lines = dict.fromkeys(str(each.place) for each in reading.started if each.words)
    if len({each.words for each in reading.started}) < 2 and not any(
        each.in_loop for each in reading.started
    ):
        return ""
    return f" ({', '.join(lines)}: other words each time, and each of them is a job of its own)"


def of_default(reading: ShellReading, number: int) -> str:
    """Why an argument has its default: nobody gave it, or what starts the script gives others each time."""
    given = [each.words[number - 1] for each in reading.started if len(each.words) >= number]
    if not given or reading.arguments is not None:
        return "nobody gave it"
    ways = list(dict.fromkeys(map(shown, given)))
    more = ", ..." if len(ways) > _MOST_SHOWN else ""
    return f"what starts the script gives it words of its own ({', '.join(ways[:_MOST_SHOWN])}{more})"


def unused() -> Finding:
    """What is said of --args where nothing uses it."""
    return Finding("without effect", (_OPTION,), "--args", why="nothing in the files uses it")


def _made_of_them(reading: ShellReading) -> set[str]:
    """The variables that are made of the script's arguments, or by way of others."""
    lines = {(each.file, each.line) for each in reading.asks}
    found = {each.name for each in reading.assigned if _is_made_there(each, lines)}
    for _ in range(_MOST_WAYS):
        also = {each.name for each in reading.assigned if not found.isdisjoint(each.uses)}
        if also <= found:
            break
        found |= also
    return found


def _is_made_there(each: Assigned, lines: set[tuple[str, int]]) -> bool:
    places = [each.place, *(loop.place for loop in each.loops)]
    if any((place.file, place.line) in lines for place in places):
        return True
    conditions = (condition.split(": ", 1)[0].rpartition(":") for condition in each.conditions)
    return any(line.isdecimal() and (file, int(line)) in lines for file, _, line in conditions)
