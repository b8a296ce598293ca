"""Commands of one input that start the script that another one is: sbatch run.sub WORDS, bash run.sub WORDS,
./run.sub WORDS; and srun run.sub WORDS, where that starts steps of its own."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.mapping.slurm.batch import export
from hpclaunch.convert.programs.layers import Layer, layers, may_be_many
from hpclaunch.convert.programs.names import SHELLS, STEPS, SUBMITTERS
from hpclaunch.convert.programs.plain import IN_FRONT, by_env, takes_away
from hpclaunch.convert.reading import Assigned, Started
from hpclaunch.convert.shell.choose import starts_steps
from hpclaunch.convert.shell.places import tells_file
from hpclaunch.readback.shell import inside
from hpclaunch.readback.shell.positional import handed_on, is_all
from hpclaunch.readback.shell.state import Variable
from hpclaunch.readback.shell.values import Unknown, Value, base_name, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_AROUND = frozenset((*SUBMITTERS, *IN_FRONT, "sudo"))


def starts(walker: "Walker", script: str) -> tuple[Started, ...]:
    """Those that were walked so far, each with the words behind the script's name."""
    found = []
    around = _AROUND.union(STEPS) if starts_steps(walker.files.text(script)) else _AROUND
    for command in walker.commands:
        if command.place.file == script:
            continue
        its = layers(command.words)
        if command.within and all(each.program not in SUBMITTERS for each in its):
            continue  # of sbatch a line takes the number of the job, which runs all the same
        words = list(its[-1].words)
        if not words and any(each.program == "sbatch" for each in its) and command.reads is not None:
            words = [command.reads]  # sbatch < run.sub
        if any(each.program not in around for each in its[:-1]) or not words:
            continue
        if base_name(words[0]) in SHELLS:
            words = behind_options(words[1:])
        if words and tells_file(words[0]) and walker.files.found(words[0], (command.place.file,)) == script:
            prefix = (*command.prefix, *by_env(its, command.environment)[0].items(), *_exports(its))
            row = (command.place, command.written, tuple(words[1:]), prefix, bool(command.loops))
            kept = _kept(
                its, {**dict(command.environment), **dict(command.prefix)}, walker.files.text(script)
            )
            found.append(Started(*row, any(map(takes_away, its)), kept))
    return tuple(found)


def _exports(its: Sequence[Layer]) -> tuple[tuple[str, Value], ...]:
    """The variables that --export of sbatch gives the job: it has them, whatever is known of their values."""
    options = [layer.option("export") for layer in its if layer.program in SUBMITTERS]
    named = (pair for each in options if each is not None for pair in export.named_by(each.value or ()))
    return tuple(named)


def _kept(its: Sequence[Layer], exported: Mapping[str, Value], script: str) -> frozenset[str] | None:
    """The variables that sbatch hands on of those that are exported to it, None for any other command."""
    layer = next((each for each in its if each.program in SUBMITTERS), None)
    if layer is None:
        return None
    option = layer.option("export")
    value = export.of_submission(None if option is None else option.value or (), exported, script)
    return frozenset(export.handed_to_job(value, exported))


def begin(walker: "Walker", found: Sequence[Started]) -> None:
    """Be in the script as these start it: it has what they export, their words, and no other variable of
    their file."""
    files = {each.place.file for each in found}
    bare = any(each.is_bare for each in found)
    for each in walker.assigned if found else ():
        variable = walker.state.get(each.name)
        is_kept = not bare and any(one.kept is None or each.name in one.kept for one in found)
        if each.place.file in files and variable is not None and not (is_kept and variable.exported):
            of_login = variable.exported and not bare and each.name in export.OF_LOGIN
            own: Value | None = (Unknown("variable", each.name),) if of_login else None
            walker.state.set(each.name, Variable(own, of_login))
    for name, place in {name: each.place for each in found for name, _ in each.prefix}.items():
        values = {dict(each.prefix).get(name) for each in found}
        value = values.pop() if len(values) == 1 else None
        if value is None:
            value = (Unknown("either", name),)  # each of them starts it with another
        walker.state.set(name, Variable(as_inside(value), exported=True))
        walker.assigned.append(Assigned(name, value, place, exported=True))
    words = words_of(found)
    walker.state.arguments = None if words is None else handed_on(tuple(map(as_inside, words)), None)


def words_of(found: Sequence[Started]) -> tuple[Value, ...] | None:
    """The words behind the script's name that all of them have, None where they differ or are not told: what
    a loop around them, or the words behind the other script's name, put there. Those that are handed on by
    "$@" are one word of them."""
    words = {each.words for each in found}
    if len(words) != 1:
        return None
    (only,) = words
    untold = [word for word in only if known(word) is None and not is_all(word)]
    if untold and (any(each.in_loop for each in found) or any(map(_is_from_outside, untold))):
        return None
    return only


def as_inside(value: Value) -> Value:
    """A value of Python's text as the shell has it."""
    return tuple(inside(part) if isinstance(part, str) else part for part in value)


def _is_from_outside(word: Value) -> bool:
    return may_be_many(word) or any(isinstance(part, Unknown) and part.kind != "variable" for part in word)


def behind_options(words: Sequence[Value]) -> list[Value]:
    """The script that a shell is given and what stands behind it; nothing where it is given a text."""
    rest = list(words)
    while rest and (option := known(rest[0]) or "").startswith(("-", "+")):
        rest.pop(0)
        if not option.startswith("--") and ("c" in option or "s" in option):
            return []
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            rest[:1] = []
    return rest
