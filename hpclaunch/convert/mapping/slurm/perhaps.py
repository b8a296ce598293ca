"""Options that srun gets only where something is so that is not told: what they would say is asked for."""

from collections.abc import Iterator

from hpclaunch.convert.draft import Draft, dotted
from hpclaunch.convert.mapping.slurm.asked import Asked
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.srun import KEYS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import IfSet, Unknown, Value, shown
from hpclaunch.readback.slurm.options import options

_TODO = "give the variable with --env and convert again, or write what it says in the job file"


def ask(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Ask for the keys of the job that such options of the run would tell, when all else is in the draft."""
    for each in run.asked:
        keys = {KEYS[name]: None for name in _names(reading, each) if name in KEYS}
        if any(_is_program(value) for value in _values(reading, each)):
            keys[("command",)] = None
        if keys:
            plain = ("question", each.written, "")
            draft.findings[:] = [
                found for found in draft.findings if (found.kind, found.what, found.key) != plain
            ]
        for key in keys:
            draft.unsay(key)
            question = f"{dotted(key)}: whether srun gets {each.written} is not told"
            draft.ask(key, question, each.places, each.written, todo=_TODO)


def _names(reading: ShellReading, each: Asked) -> Iterator[str]:
    """The options that may be meant by a word that is not known."""
    for value in _values(reading, each):
        words = [word for word in split(value, " ") if word]
        yield from (given.name for given in options("srun", words)[0])


def _is_program(value: Value) -> bool:
    """Whether it may begin with a program in front of the command, such as a profiler."""
    first = value[0] if value and isinstance(value[0], str) else ""
    return bool(first.strip()) and not first.lstrip().startswith("-")


def _values(reading: ShellReading, each: Asked) -> Iterator[Value]:
    if each.name or not each.value:
        return
    for part in each.value:
        if isinstance(part, IfSet) and part.then != (Unknown("variable", part.name),):
            yield part.then
        elif isinstance(part, IfSet) or (isinstance(part, Unknown) and part.kind in ("variable", "either")):
            for assigned in reading.given(part.name):
                yield from assigned.array or (assigned.value,)


def is_of_many(each: Asked) -> bool:
    """Whether it is a word that may be any options, of which nobody gave anything."""
    written = (each.written, shown(each.value or ()))
    return not each.name and bool(each.value) and not any(text.startswith("-") for text in written)
