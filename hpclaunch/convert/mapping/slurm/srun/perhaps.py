"""Options that srun gets only where something is so that is not told: what they would say is asked for."""

import re
from collections.abc import Iterator

from msgspec import structs

from hpclaunch.convert.draft import Draft, Key, dotted
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, is_of_many
from hpclaunch.convert.mapping.slurm.batch.batch_options import GIVE
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.made import alternatives, decided
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.layers import STARTERS
from hpclaunch.convert.programs.srun import KEYS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import IfSet, Unknown, Value, base_name, known
from hpclaunch.readback.slurm.options import options

_SCRIPTS = (".sh", ".py", ".jl", ".R")
_INTERPRETER = re.compile(r"(?:\S*/)?(?:python[\d.]*|(?:ba|z)?sh|perl|Rscript|julia|exec)")
_OF_OPTIONS = re.compile(r"(?:ARG|OPT|OPTION|FLAG|PARAM)S?$", re.IGNORECASE)  # SRUN_ARGS
_MOUNTS = "container-mounts"  # a key of the job for each of them
_DECIDES = "give what decides it with --env and convert again, or write what it says in the job file"
_WRITE = "write what it says in the job file: what no key says is for sites.NAME.srun"


def ask(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Ask for the keys of the job that such options of the run would tell, when all else is in the draft."""
    asked = {each.what for each in draft.findings if (each.kind, each.key) == ("question", "")}
    for each in run.asked:
        names = list(_names(reading, each))
        keys: dict[Key, None] = {KEYS[name]: None for name in names if name in KEYS}
        if _MOUNTS in names and not _asks_for_mounts(draft):
            keys["mounts", draft.count("mounts")] = None
        if ("mpi",) not in draft.facts and any(_is_any_word(value) for value in _elements(reading, each)):
            keys[("mpi",)] = None  # one run's --mpi may be among them
        if any(_is_program(value) for values in _values(reading, each) for value in values[:1]):
            keys[("command",)] = None
        why = _why(reading, each)
        if each is run.asked[-1] and _may_be_program(reading, run, each):
            keys[("command",)] = None
            why = f"whether {each.written} is options of srun or the program itself is not told"
        todo = (_DECIDES if "--env" in why else _WRITE) if "it depends on" in why else GIVE
        if each.written in asked:  # of few options: there may be thousands of others
            _say_instead(each, why, todo, draft, keeps=not keys)
        for key in keys:
            draft.unsay(key)
            question = f"{dotted(key)}: {why or f'whether srun gets {each.written} is not told'}"
            draft.ask(key, question, each.places, each.written, todo=todo)


def _say_instead(each: Asked, why: str, todo: str, draft: Draft, *, keeps: bool) -> None:
    """What was asked of the option as a whole has its reason now, or is gone where its keys are asked for."""
    plain = ("question", each.written, "")
    rest = []
    for found in draft.findings:
        if (found.kind, found.what, found.key) != plain:
            rest.append(found)
        elif keeps:
            rest.append(structs.replace(found, why=why, todo=todo) if why else found)
    draft.findings[:] = rest


def _asks_for_mounts(draft: Draft) -> bool:
    """Whether those of such an option are asked for already, as those of ${M:+--container-mounts=$M}."""
    return any(key[0] == "mounts" and fact.is_open for key, fact in draft.facts.items())


def _why(reading: ShellReading, each: Asked) -> str:
    """What the word may be and what decides it, "" where the script gives it no value."""
    for part in each.value or () if not each.name else ():
        if not isinstance(part, IfSet | Unknown):
            continue
        if not reading.given(part.name):
            if isinstance(part, IfSet) and part.then == (Unknown("variable", part.name),):
                return f"no line that runs gives {part.name} a value, and who submitted it may have"
            continue
        if isinstance(part, Unknown) and part.kind == "either":
            return alternatives(reading, part.name)
        if any(given.conditions for given in reading.given(part.name)):
            return f"whether srun gets {each.written} {decided(reading, part.name)}"
    return ""


def _names(reading: ShellReading, each: Asked) -> Iterator[str]:
    """The options that may be meant by a word that is not known."""
    for values in _values(reading, each):
        words = [word for value in values for word in split(value, " ") if word]
        yield from (given.name for given in options("srun", words)[0])


def _may_be_program(reading: ShellReading, run: Step, each: Asked) -> bool:
    """Whether it may be the program, of which nothing is told, and what stands behind it no more than the
    program's first argument."""
    part = each.value[0] if is_of_many(each) and each.value else ""
    if not isinstance(part, Unknown) or reading.given(part.name) or not run.started:
        return False
    if _OF_OPTIONS.search(part.name):
        return False
    first = known(run.started[0]) or ""
    is_path = first.startswith(("/", "./", "../")) or first.endswith(_SCRIPTS)
    return not (is_path or base_name(run.started[0]) in STARTERS or _INTERPRETER.fullmatch(first))


def _is_program(value: Value) -> bool:
    """Whether it may begin with a program in front of the command, such as a profiler."""
    first = value[0] if value and isinstance(value[0], str) else ""
    return bool(first.strip()) and not first.lstrip().startswith("-")


def _is_any_word(value: Value) -> bool:
    """Whether it is no more than a word of which nothing is known, as of a function's arguments in a loop."""
    return len(value) == 1 and isinstance(value[0], Unknown)


def _elements(reading: ShellReading, each: Asked) -> Iterator[Value]:
    """The elements of the arrays that may stand there."""
    for part in each.value or () if not each.name else ():
        if isinstance(part, Unknown):
            yield from (value for given in reading.given(part.name) for value in given.array or ())


def _values(reading: ShellReading, each: Asked) -> Iterator[tuple[Value, ...]]:
    """What may stand there: words of one value, or the elements of an array."""
    if each.name or not each.value:
        return
    for part in each.value:
        if isinstance(part, IfSet) and part.then != (Unknown("variable", part.name),):
            yield (part.then,)
        elif isinstance(part, IfSet) or (isinstance(part, Unknown) and part.kind in ("variable", "either")):
            for assigned in reading.given(part.name):
                yield assigned.array or (assigned.value,)
