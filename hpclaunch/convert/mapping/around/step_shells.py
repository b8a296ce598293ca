"""What the shell of a step does first: srun and the scripts of a launcher had modules, environments and
exported variables of the script's own shell, and a step starts without them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import surroundings
from hpclaunch.convert.mapping.environment import set_again
from hpclaunch.convert.mapping.environment.in_order import Export, in_order, moment_of
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.words.texts import is_here, line
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.readback.shell.values import Value, program_of, shown

# They are the same programs in each environment.
_ANYWHERE = that("says", "looks", "devices", "caches", "copies", "files", "archives")


class Shell(Struct, frozen=True):
    """The commands that it runs `before`, the variables that it exports behind them, the `names` of all that
    it sets, and those that it `lacks`, which the script had exported."""

    before: Sequence[Sequence[Value]] = ()
    exports: Sequence[Export] = ()
    names: frozenset[str] = frozenset()
    lacks: Sequence[str] = ()


def of(
    reading: ShellReading,
    command: Command,
    words: Sequence[Value],
    later: Sequence[str],
    stand_ins: Mapping[str, str],
    draft: Draft,
    *,
    goes: bool,
) -> Shell:
    """The shell of a step on the host, whose command is `words`. `later` are the variables that the command
    of the run sets itself, since their values are known only beside the rank. `goes`: it does not start where
    the ranks do."""
    if program_of(words) in _ANYWHERE:
        return Shell()
    own = dict(command.environment)
    its = [name for name in later if name in own and ("env", name) not in draft.facts]
    exports = [(name, own[name]) for name in its if _is_told(own[name], stand_ins, goes)]
    before = surroundings.before(reading, command)
    own_names = {name for name, _ in exports}
    again = set_again.exports(reading, command, before, draft, says=False)
    exports += [each for each in again if each[0] not in own_names]
    ordered = in_order(reading, command, before, exports)
    names = frozenset(name for name, _ in exports)
    addresses = [name for name in rendezvous.COMPUTED if name in own and ("env", name) not in draft.facts]
    lacks = dict.fromkeys(name for name in (*its, *addresses) if name not in names)
    return Shell(*ordered, names, tuple(lacks))


def say_behind(reading: ShellReading, run: Command, command: Command, goes: bool, draft: Draft) -> None:
    """Say what a step of `after` does first of that which stands between it and the run: `goes` to another
    folder, loads a module."""
    start, end = (moment_of(reading, each) for each in (run, command))
    found = [(each.place, each.words, each.moment) for each in surroundings.before(reading, command)]
    if goes:
        folders = reading.of(*FOLDERS)
        found += [(each.place, each.words, moment_of(reading, each)) for each in folders]
    between = [(place, words) for place, words, moment in found if start < moment < end]
    told = {place for each in draft.findings for place in each.places} if between else set()
    for place, words in between:
        if place not in told:
            what = " ".join(map(shown, words))
            why = "a step begins with nothing of the script's shell, and does it itself"
            draft.say("carried", (place,), what, became=f"after: {what}; ...", why=why, key="after")


def _is_told(value: Value, stand_ins: Mapping[str, str], goes: bool) -> bool:
    return not (goes and any(map(is_here, value))) and not line([value], stand_ins).doubt
