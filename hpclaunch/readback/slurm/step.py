"""The srun that starts the ranks, among all that a script runs."""

from collections.abc import Sequence

from msgspec import Struct, structs

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call, Reading
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Value, known, program_of
from hpclaunch.readback.slurm import rankgroups
from hpclaunch.readback.slurm.beside import FUNCTIONS, Beside, beside, without
from hpclaunch.readback.slurm.options import Given, options
from hpclaunch.readback.slurm.preflight import Preflight, chosen, preflight
from hpclaunch.readback.slurm.runs import RANK


class Step(Struct, frozen=True):
    """The `call` of srun that starts the ranks, with the options and the command that are its own. With
    `separate` it stands for those of groups in worlds of their own. `check` is that of the nodes before."""

    call: Call
    given: list[Given]
    command: list[Value]
    separate: bool
    besides: Beside
    check: Preflight | None
    unread: tuple[str, ...]


def step_of(reading: Reading) -> Step:
    """The step of the ranks. Raises ScriptError for a script without an srun."""
    reading, separate, of_groups = rankgroups.joined(reading)
    check = preflight(reading.calls)
    calls = reading.calls if check is None else check.others
    besides = beside(calls) or _alone(calls)
    call = besides.main if check is None else check.of_step(besides.main)
    given, command = options("srun", call.words[1:])
    unread = [*(f"line {note.line}: {note.text}" for note in reading.notes), *of_groups, *besides.unread]
    if check is not None:
        given = check.options(given)
        unread += check.unread
        if not separate and not chosen(call.words):
            unread.append(f"line {call.line}: this srun is not told which nodes were found good")
    return Step(
        call=call,
        given=_of_ranks(given, besides),
        command=list(without(command, besides.variables)),
        separate=separate,
        besides=besides,
        check=check,
        unread=tuple(unread),
    )


def _alone(calls: Sequence[Call]) -> Beside:
    """The srun that starts the ranks, and what else is run, of a script that is not of hpclaunch's form."""
    steps = [call for call in calls if program_of(call.words) == "srun"]
    if not steps:
        raise ScriptError("no srun in it starts ranks")
    last = ([call for call in steps if (RANK,) in call.words] or steps)[-1]
    others = (call for call in calls if call is not last and program_of(call.words) not in FUNCTIONS)
    return Beside(last, tuple(others))


def _of_ranks(given: Sequence[Given], besides: Beside) -> list[Given]:
    """The options of the ranks' srun but for the name by which steps find their container, and with the image
    in place of the file that it was imported to."""
    found = []
    for each in given:
        imported = dict(besides.images).get(outside(known(each.value or ()) or ""))
        if each.name == "container-image" and imported is not None:
            each = structs.replace(each, value=(imported,))
        if not (each.name == "container-name" and besides.one_container):
            found.append(each)
    return found
