"""What the walk through the input knows of its statements."""

from collections.abc import Sequence, Set
from functools import cached_property

from hpclaunch.convert import other_starts
from hpclaunch.convert.mapping.environment.sourced import by_ranks
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.beside import PLUMBING, that
from hpclaunch.convert.programs.layers import STARTERS
from hpclaunch.convert.reading import Command, ShellReading, Sourced, Statement
from hpclaunch.convert.shell import aliases, shopt
from hpclaunch.convert.shell.choose import of_other_jobs
from hpclaunch.readback.shell.statements import Function
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place

Line = tuple[str, int]
_PRINTS = that("words", "texts", "edits")


_OF_TEMPLATES = ("{%", "{%-", "{%+")


class Walk:
    """What the walk through the input knows of its statements. `used` are the variables whose values are in
    what is told, `left` those that ranks do not get, and `perhaps` those that lines may use that are not
    understood; `no_run`: it is asked for what the ranks execute, as nothing is known to start any."""

    def __init__(self, reading: ShellReading, used: Set[str], left: Set[str] = frozenset()):
        self.used, self.left = used, left
        self.perhaps: Set[str] = frozenset()
        self.no_run = False
        parts = (each.part for each in reading.statements)
        self.functions = frozenset(part.name for part in parts if isinstance(part, Function))
        self._reading = reading
        self._written: dict[tuple[str, int, int, str], bool] = {}
        self._of_ranks: dict[str, bool] = {}

    def gives(self, place: Place) -> bool:
        """Whether it gave a variable a value there."""
        return line_of(place) in self._given

    def is_of_another_job(self, place: Place) -> bool:
        """Whether it is in a script that another one of the input submits for a job of its own."""
        return place.file in self._other_jobs and not self._is_reached(place.file)

    @cached_property
    def _other_jobs(self) -> frozenset[str]:
        reading = unwrapped(self._reading)
        return of_other_jobs(reading.sources, reading.script)

    def _is_reached(self, file: str) -> bool:
        its = unwrapped(self._reading)
        return any(each.place.file == file for found in (its.commands, its.assigned) for each in found)

    def follows(self, place: Place) -> bool:
        """Whether what is started there is a script that it went through."""
        return line_of(place) in self._followed

    @cached_property
    def _followed(self) -> set[Line]:
        return set(map(line_of, unwrapped(self._reading).followed))

    def may_start_another(self, statement: Statement) -> bool:
        """Whether its text may start a file that is none of those which it went through from there."""
        if self.follows(statement.place):
            return False
        names = (each.name for each in self._reading.sources)
        return other_starts.may_start(statement.written, statement.place.file, names)

    def repeats(self, place: Place) -> bool:
        """Whether a loop that begins there has more in it than what only says or looks at something."""
        return line_of(place) in self._repeating

    @cached_property
    def _repeating(self) -> set[Line]:
        its = (each for each in self._reading.commands if each.loops and each.program not in PLUMBING)
        return {line_of(loop.place) for each in its for loop in each.loops}

    def sourced(self, place: Place) -> Sourced | None:
        """What is sourced there."""
        return self._sourced.get(line_of(place))

    def is_of_ranks(self, place: Place) -> bool:
        """Whether a shell of the ranks sources the file."""
        if place.file not in self._of_ranks:
            self._of_ranks[place.file] = by_ranks(self._reading, place.file)
        return self._of_ranks[place.file]

    def commands(self, place: Place) -> Sequence[Command]:
        """Those that it came to on these lines."""
        if place.last <= place.line:
            return self._commands.get((place.file, place.line), ())
        lines = range(place.line, place.last + 1)
        return [each for line in lines for each in self._commands.get((place.file, line), ())]

    def writes_with_others(self, place: Place, program: str) -> bool:
        """Whether the commands of that program on these lines write a file that a group of commands writes
        into, none of which starts anything: else it is a log."""
        key = (place.file, place.line, place.last, program)
        if key not in self._written:  # a line may have thousands of them
            own = [each for each in self.commands(place) if each.program == program and each.writes]
            self._written[key] = any(id(each.writes[-1]) in self._groups for each in own)
        return self._written[key]

    @cached_property
    def expands_aliases(self) -> bool:
        """Whether a command may be the alias of another."""
        text = next((each.text for each in self._reading.sources if each.name == self._reading.script), "")
        return aliases.are_expanded(text) or any(shopt.ALIASES in each.text for each in self._reading.sources)

    def feeds(self, place: Place, program: str) -> bool:
        """Whether what that program says there is read by one behind it in its pipeline that starts something
        or keeps what it makes of it."""
        return (line_of(place), program) in self._feeding

    @cached_property
    def _feeding(self) -> set[tuple[Line, str]]:
        found: set[tuple[Line, str]] = set()
        is_read = False
        for each in reversed(self._reading.commands):
            at, count = each.pipeline
            if at == count - 1 or each.within:
                is_read = False
            if is_read:
                found.add((line_of(each.place), each.program))
            is_read |= count > 1 and not each.within and _keeps(each)
        return found

    def writes_script(self, place: Place, *, of_another: bool = False) -> bool:
        """Whether a command on these lines writes a script that sbatch is given, and that is read: the one
        that the job is made of, or one `of_another` job."""
        its, others = self._of_sbatch
        files = others - its if of_another else its
        return bool(files) and any(
            _file(output.path) in files for each in self.commands(place) for output in each.writes
        )

    @cached_property
    def _of_sbatch(self) -> tuple[set[str], set[str]]:
        """The scripts that are written and submitted where the job is, and where others are."""
        its = [each for each in self._reading.of("sbatch") if each.script is not None]
        if not its:
            return set(), set()
        job = unwrapped(self._reading)
        taken = line_of(job.followed[-1]) if job is not self._reading and job.followed else None
        own, others = set[str](), set[str]()
        for each in its:
            files = own if line_of(each.place) == taken else others
            files.update(_file(word) for word in each.words[1:])
        return own, others

    def stays_in_subshell(self, place: Place) -> bool:
        """Whether what the shell is told there is that of a ( ) alone, in which nothing starts ranks."""
        its = self.commands(place)
        return bool(its) and all(each.shells and each.shells not in self._starting for each in its)

    @cached_property
    def _starting(self) -> set[tuple[int, ...]]:
        """The subshells that are around commands which start ranks."""
        around = {each.shells for each in self._reading.of(*STARTERS)}
        return {shells[:count] for shells in around for count in range(1, len(shells) + 1)}

    def writes_unread_script(self, place: Place) -> bool:
        """Whether a command on these lines writes a script that sbatch is given, and that is not read."""
        lines = {id(each) for each in self.unread}
        return bool(lines) and any(id(each) in lines for each in self.commands(place))

    @cached_property
    def unread(self) -> Sequence[Command]:
        """The commands that write such scripts."""
        its = [each for each in self._reading.of("sbatch") if each.script is None]
        given = [srun.read(each.words)[1] for each in its]
        files = {_file(words[0]) for words in given if words} - {""}
        if not files:
            return ()
        commands = self._reading.commands
        return [each for each in commands if any(_file(output.path) in files for output in each.writes)]

    @cached_property
    def _groups(self) -> set[int]:
        """The outputs that are files, by their ids, which the commands of a group share."""
        found: dict[int, bool] = {}
        for each in self._reading.commands:
            for output in each.writes:
                is_file = not output.tee and output.descriptor in ("", "1") and not is_device(output.path)
                found[id(output)] = found.get(id(output), is_file) and each.program in PLUMBING
        return {number for number, is_file in found.items() if is_file}

    def passes_by(self, statement: Statement) -> bool:
        """Whether the walk went by it, since a condition does not hold. Of the body of a function it is not
        known who else calls it."""
        in_function = line_of(statement.place) in self._bodies
        return not (self.commands(statement.place) or self._has_gaps or in_function)

    @cached_property
    def _has_gaps(self) -> bool:
        """Whether lines were not read, or a template has conditions of its own: {% if x %}."""
        return any(each.unread for each in self._reading.unclear) or bool(self._reading.of(*_OF_TEMPLATES))

    def is_handed_on(self, statement: Statement) -> bool:
        """Whether it is of a function that a command has in its text, or exports one."""
        if line_of(statement.place) in self._handed_on:
            return True
        words = statement.written.split()
        return words[:2] == ["export", "-f"] and not self._handed_names.isdisjoint(words[2:])

    @cached_property
    def _handed_names(self) -> set[str]:
        uses = (name for each in self._reading.commands for name in each.uses)
        return {name.removesuffix("()") for name in uses if name.endswith("()")}

    @cached_property
    def _handed_on(self) -> set[Line]:
        return self._lines_of(self._handed_names) if self._handed_names else set()

    @cached_property
    def _bodies(self) -> set[Line]:
        return self._lines_of(self.functions)

    def _lines_of(self, names: Set[str]) -> set[Line]:
        """The lines of these functions."""
        found: set[Line] = set()
        reached: Line = ("", 0)
        for each in self._reading.statements:
            if isinstance(each.part, Function) and each.part.name in names:
                file, first = line_of(each.place)
                last = first + each.part.written.count("\n") + 1  # `{` may stand on a line of its own
                first = max(first, reached[1] + 1) if file == reached[0] else first
                found.update((file, line) for line in range(first, last + 1))
                reached = file, max(last, first)
        return found

    @cached_property
    def _given(self) -> set[Line]:
        return {line_of(each.place) for each in self._reading.assigned}

    @cached_property
    def _sourced(self) -> dict[Line, Sourced]:
        return {line_of(each.place): each for each in self._reading.sourced}

    @cached_property
    def _commands(self) -> dict[Line, list[Command]]:
        found: dict[Line, list[Command]] = {}
        for each in self._reading.commands:
            found.setdefault(line_of(each.place), []).append(each)
        return found


def _keeps(command: Command) -> bool:
    """Whether more comes of it than what it prints of the text that it reads."""
    if command.program in PLUMBING:
        return False
    return command.program not in _PRINTS or any(not is_device(each.path) for each in command.writes)


def _file(path: Value) -> str:
    """Its name without its folder, which it need not be submitted from."""
    return shown(path).rpartition("/")[2]


def line_of(place: Place) -> Line:
    """The line on which it begins."""
    return place.file, place.line


def is_device(path: Value) -> bool:
    """Whether what is written there is kept nowhere."""
    return (known(path) or "").startswith("/dev/")
