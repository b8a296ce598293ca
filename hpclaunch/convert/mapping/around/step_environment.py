"""What a step has of the environment otherwise than the run: a job's steps have that of its run, and a text
of the step sets or unsets the rest."""

import shlex
from collections import ChainMap
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert import shared_exports
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.texts import line, submitters
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.plain import by_env
from hpclaunch.convert.reading import Command
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.readback.shell.values import Value, known, program_of, shown

# What a variable of theirs changes is no more than how they say something.
_ALIKE = that("says", "looks", "devices", "caches", "copies", "files", "archives")


class Own(Struct, frozen=True):
    """`first` is a text for /bin/sh that comes before the step's command, `names` are variables that it takes
    from the job, and `doubt` says what no text can give it, "" where there is no such thing."""

    first: str = ""
    names: tuple[str, ...] = ()
    doubt: str = ""


def of(
    step: Command, words: Sequence[Value], run: Command, draft: Draft, *, after: bool, on_host: bool
) -> Own:
    """The environment of a step whose program is in `words`. `after`: it comes behind the run. What changes
    the loader a step `on_host` has from its own text alone: what starts it would have it too."""
    if program_of(words) in _ALIKE:
        return Own()
    in_front, of_step = _in_front(run), _in_front(step)
    its, own = ChainMap(in_front, shared_exports.of(run)), ChainMap(of_step, shared_exports.of(step))
    counters = {each.variable for each in run.loops}
    texts: list[str] = []
    names: list[str] = []
    of_loader = shared_exports.picked(step, _is_of_loader) if on_host else {}
    perhaps = (*shared_exports.unlike(step, run), *of_loader, *in_front, *of_step)
    for name in shared_exports.in_order(step, (each for each in perhaps if each in own)):
        value = own[name]
        is_of_loader = on_host and name.startswith("LD_") and known(value) is not None
        is_runs = name in its and (its[name] == value or bool(names_in(its[name]) & counters))
        if is_runs and not is_of_loader:
            continue  # what each round has of its own is a seed, or asked about
        written = line([("true",), value])
        if is_secret(name) or written.doubt:
            return Own(doubt=_doubt(name, value, its))
        of_value = written.plain if isinstance(written.plain, str) else shlex.join(written.plain)
        texts.append(f"export {name}={of_value.removeprefix('exec ').removeprefix('true ')}; ")
        names += submitters(written.names)
    # What the script exports behind a step does it no harm in general. What it gives to the run alone is
    # there to make a difference, as is all of it for the same program, and what it takes away behind the run.
    is_alike = after or program_of(words) == program_of(layers(run.words)[-1].words)
    of_run = shared_exports.unlike(run, step) if is_alike else ()
    given = shared_exports.in_order(run, (*of_run, *in_front))
    missing = [name for name in given if name not in own and ("env", name) in draft.facts]
    texts += [f"unset {' '.join(missing)}; "] if missing else []
    return Own("".join(texts), tuple(names))


def _is_of_loader(name: str) -> bool:
    return name.startswith("LD_")


def _in_front(command: Command) -> dict[str, Value]:
    """What the command alone has: A=1 srun, env A=1 srun."""
    return {**dict(command.prefix), **by_env(layers(command.words), ())[0]}


def _doubt(name: str, value: Value, of_run: Mapping[str, Value]) -> str:
    if is_secret(name):
        return f"{name} is another one for it than for the run, and a job has one environment"
    other = f"{shown(of_run[name])} for the run" if name in of_run else "not set for the run"
    return f"{name} is {shown(value)} for it and {other}, and a job has one environment"
