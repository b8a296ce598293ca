"""A shell that runs nothing, and notes what a launcher would do: its commands, and where values come from."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import structs

from hpclaunch.convert.reading import TRAP, Output, Source, Sourced
from hpclaunch.convert.shell import (
    aliases,
    arguments,
    child_shell,
    flows,
    folder,
    loops,
    outputs,
    redirections,
    rematch,
    shopt,
    slurm_outputs,
    sums,
    traps,
    written_files,
)
from hpclaunch.convert.shell.lenient import LenientExpander
from hpclaunch.convert.shell.listing import name_of_output
from hpclaunch.convert.shell.names import (
    is_default,
    lines_of,
    python,
    separators,
    spaced,
    used,
    uses_of,
    with_names,
    words_of,
)
from hpclaunch.convert.shell.syntax.reader import read as parse
from hpclaunch.convert.shell.texts import Texts
from hpclaunch.convert.shell.values import Context
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.flow import Flow
from hpclaunch.readback.shell.pieces import Command as Substitution
from hpclaunch.readback.shell.pieces import Process, Word
from hpclaunch.readback.shell.positional import handed_on
from hpclaunch.readback.shell.reads import Input
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.statements import Assignment, Group, Redirection, Simple
from hpclaunch.readback.shell.statements import Statement as Part
from hpclaunch.readback.shell.values import Unknown, Value, known, known_parts

# What is no command of its own: it asks, or it is told as a value that a variable is given.
_SILENT = frozenset(
    (
        *(":", "true", "false", "test", "[", "declare", "typeset", "local", "export", "readonly", "let"),
        *("shift", "type", "hash", "compgen", "getopts", "jobs", "times", "unalias", "enable"),
    )
)
# The shell's own that are told as commands.
_TOLD = (frozenset(BUILTINS) - _SILENT) | {"exit", "return", "break", "continue", "eval"}
# What may change variables of the shell, also where others stand in front of it: IFS=, read A B.
_CHANGE = frozenset(BUILTINS) | {"eval", "command", "builtin"}
# Followed here, and not where scripts are only read.
_FOLLOWED = {**arguments.TAKE, "alias": aliases.note, "unalias": aliases.note}
_NOTED = {"set": shopt.set_by, "shopt": shopt.note, **dict.fromkeys(folder.FOLDERS, folder.change)}
_LONGEST = 100_000
_MOST_ANEW = 5  # bodies of one function that run within each other, each of which defines the next
_SETS_UNKNOWN = re.compile(r"(?:^|[\s;])\w*\$\{\w+\}\w*\+?=")
_EXPORT_ALL = frozenset(("a", "allexport"))  # `set -a`: what is assigned is exported


class Walker(Texts):
    """Walks the sources, one after the other, with one state."""

    def __init__(self, sources: Sequence[Source]):
        super().__init__(sources)
        self.bodies: dict[int, loops.Body] = {}  # of loops, by the identity of their statement
        self.reached_nodes: dict[int, tuple[Part, frozenset[str] | None]] = {}  # see `over_nodes`
        self.deciding: dict[int, tuple[Part, bool]] = {}  # see `flows`, by the identity of the statement
        self.state.set("OPTIND", Variable(("1",)))  # as bash starts
        self.getopts = (1, 0)  # OPTIND as getopts left it, and where it is within the word
        self.endless: dict[int, Part] = {}  # see `walk_loops`, by the identity of the statement
        self.deciding_branches: dict[int, tuple[Part, int, int]] = {}
        self._expander: LenientExpander | None = None
        self._calling: list[tuple[str, Part]] = []
        self._used: tuple[Simple | None, tuple[str, ...]] = (None, ())
        self.aliases: dict[str, aliases.Alias] = {}
        self.expanding = aliases.Names()
        self.at_the_end: list[tuple[Group, int, Context]] = []  # see `traps`
        self.children = 0  # shells within each other that are walked
        self._walks = {**self._walks, **{kind: partial(walk, self) for kind, walk in flows.WALKS.items()}}

    @property
    def expander(self) -> LenientExpander:
        found = self._expander
        if found is None or found.state is not self.state:
            found = self._expander = LenientExpander(self, self.state, self._output_of, self._budget)
        return found

    def ask_argument(self) -> None:
        """Note that an argument is asked for here, where that is one of the script's own."""
        if not self.locals and not self.children:
            self.asked[self.place] = None

    def note_default(self, name: str) -> None:
        """Note that ${NAME:=value} gave a value."""
        self.note_assigned(name, (), True)

    def parsed(self, text: str) -> Group:
        self._budget.spend(10 + len(text) // 50)
        return parse(text, self.line)

    def tested(self, words: Sequence[str | Word]) -> Sequence[str | Word]:
        return self.expander.looked_at(words)

    def assign(self, assignment: Assignment, keyed: bool = False, exports: bool | None = None) -> None:
        assumed = len(self.assumed)
        self.spend(3)
        name = assignment.name
        doubt = exports is None and name in self.state.perhaps_exported
        if exports is None and (self.state.is_marked(name) or self.options & _EXPORT_ALL):
            exports = True
        super().assign(assignment, keyed, exports)
        if doubt:  # it has a value now, and whether it is exported is as it was
            self.state.perhaps_exported.add(name)
        if self._outer is not None:
            return
        default = is_default(assignment.value, {each.name for each in self.assumed[assumed:]})
        self.note_assigned(name, used(assignment.written), default)

    def put(self, name: str, value: Value | Array) -> None:
        if isinstance(value, Array) and not value.items and self.input.text is not None:
            text = self.input.text
            value = words_of(text, separators(self.state)) if self._reads_words() else lines_of(text)
        self.spend(3)
        if self.options & _EXPORT_ALL:
            self.state.mark(name, True)
        super().put(name, value)
        if self._used[0] is not self._current:  # one that sets thousands is looked at once
            self._used = self._current, uses_of(self._current) if self._current else ()
        self.note_assigned(name, self._used[1], False)

    def _reads_words(self) -> bool:
        """Whether the command is `read -a`, which takes the words of a line; mapfile takes lines."""
        words = self._current.words if self._current else ()
        return bool(words) and words[0].written == "read"

    def _simple(self, statement: Simple) -> Flow:
        stands_for = aliases.expanded(self, statement) if self.aliases else None
        if stands_for is not None:
            with self.expanding.on(statement.words[0].written):
                return self.run(stands_for)
        before = self._current
        self._current = statement
        if not statement.assignments or not statement.words:
            try:
                return super()._simple(statement)
            finally:
                self._current = before
        # What stands in front of a command is for it alone: the environment without it is made but once.
        outer, self._outer = self._outer, self.environment()
        revision, cached = self.state.revision, self._exports
        state, starts = self.state, len(self.commands)
        try:
            return super()._simple(statement)
        finally:
            self._outer, self._current = outer, before
            began = self.commands[starts : starts + 2]
            is_apart = len(began) == 1 and began[0].program not in _CHANGE
            is_own = bool(state.function(statement.words[0].written)[0])
            if self._exports is cached and state is self.state and is_apart and not is_own:
                state.unchanged(revision)

    def _call(self, words: list[Value]) -> Flow:
        name = known(words[0])
        if self.output is not None and outputs.prints(words):
            self.output.append(Unknown("output", ""))
        if name in _FOLLOWED and not self.state.function(name)[0]:
            _FOLLOWED[name](self, words)
            return Flow.NEXT
        if name not in _TOLD:
            return super()._call(words)
        if name in ("source", ".") and len(words) > 1:
            return self._source(words)
        if name == "exec" and len(words) == 1:
            return self._exec()
        if name == "trap":
            self.record(words)
            traps.note(self, words)
            self.status = True  # trap's own: its text runs when the signal comes, and not here
            return Flow.NEXT
        if name in _NOTED:
            _NOTED[name](self, words)
        if name not in BUILTINS or not self.state.function(name)[0]:
            self.record(words)
        if name == "return" and not self.locals and self._open == [self.script]:
            self.status = False  # "can only `return' from a function or sourced script"
            return Flow.NEXT
        return super()._call(words)

    def computed(self, expression: Word) -> int | None:
        given = sums.given_anew(expression)
        if given is not None:
            return sums.give(self, given)
        number = super().computed(expression)
        if self.expander.follows:
            for name in sorted(arithmetic.changed(expression.written)):
                self.note_assigned(name, (name,), False)
        return number

    def matches(self, pattern: str, text: str) -> bool | None:
        return shopt.matches(self, pattern, text)

    def is_like(self, expression: Word, text: str | None, sure: bool) -> bool | None:
        found = rematch.is_like(self, expression, text, sure)
        return super().is_like(expression, text, sure) if found is None else found

    def _source(self, words: list[Value]) -> Flow:
        """A sourced file has arguments of its own where it is given any."""
        arguments = self.state.arguments
        if len(words) > 2:
            self.state.arguments = handed_on(words[2:], arguments)
        with self._handing_on():
            flow = self._sourced(words)
        if len(words) > 2:
            self.state.arguments = arguments
        return flow

    def _sourced(self, words: list[Value]) -> Flow:
        name = self.files.found(words[1], self._open)
        current = self._current.words if self._current is not None else ()
        path = current[1].written if len(current) > 1 else ""
        pieces = current[1].pieces if len(current) > 1 else ()
        if len(pieces) == 1 and isinstance(pieces[0], Process) and path.startswith("<"):
            made = self._output_of(Substitution(self.parsed(path[2:-1]), True))
            if known(made) is not None:
                return self._text(made, f"source {path}")
            self.note(f"what `source {path}` reads is not known, nor what it sets")
        text = written_files.of(self, python(words[1]), path)
        file = name if text is None else self.place.file
        given = tuple(map(python, words[2:]))
        written = self._current.written if self._current else ""
        on, here = self.context.conditions, python(folder.gone_to(self.state))
        behind = (len(self.commands), len(self.sourced))
        shells, within = self.context.shells, self.context.within
        found = Sourced(self.place, python(words[1]), file, given, written, on, behind, here, shells, within)
        self.sourced.append(found)
        self.status = None
        if not file:
            return Flow.NEXT
        self.spend(5)
        line, conditions = self.line, self.context
        if text is None:
            flow = self.walk(name)
        else:
            self._open.append(path)
            flow = self._text(text.text, f"source {path}", text.first)
            self._open.pop()
        self.line, self.context = line, conditions
        return Flow.EXIT if flow is Flow.EXIT else Flow.NEXT

    def _exec(self) -> Flow:
        """exec with redirections alone: they are those of all that follows."""
        writes = self._writes_of(self._current.redirections if self._current else ())
        self.context = structs.replace(self.context, writes=(*self.context.writes, *writes))
        return Flow.NEXT

    def _function(self, name: str, body: Part, arguments: list[Value]) -> Flow:
        its = [each for called, each in self._calling if called == name]
        if len(its) > _MOST_ANEW or any(each is body for each in its):
            self.note(f"{name} calls itself: this is not followed")
            self.status = None
            return Flow.NEXT
        self._calling.append((name, body))
        self.spend(5)
        line = self.line
        try:
            of_trap = self.context.function.startswith(f"{TRAP} ")
            with self.within(function=self.context.function if of_trap else name), self._handing_on():
                return super()._function(name, body, arguments)
        finally:
            self._calling.pop()
            self.line = line

    def _eval(self, words: list[Value]) -> Flow:
        text = spaced(words)
        self.sets_unknown("eval", text)
        with self._handing_on():
            return self._text(text, "eval")

    def _text(self, value: Value, what: str, first: int = 0) -> Flow:
        """Walk a text that the script makes for `what`; `first` is its line where it stands in the script as
        it is, 0 elsewhere."""
        text, unknown = with_names(
            value, lambda name: self.state.get(name) is not None, self.given + len(self.unnamed)
        )
        if len(text) > _LONGEST:
            self.note(f"{what} of a very long text")
            return Flow.NEXT
        for name, part in unknown.items():
            self.state.set(name, Variable((part,)))
        self.unnamed |= unknown
        if unknown and _SETS_UNKNOWN.search(text):
            self.note(f"{what} sets a variable whose name the script does not tell")
        line = self.line
        if first:
            self.line = self.files.first(self.files.name(line)) + first - 1
        try:
            return self.lines(self.parsed(text).body)
        except ScriptError as error:
            self.line = line
            self.note(f"{what} of what is no command: {error.message}")
            return Flow.NEXT

    @contextmanager
    def _handing_on(self) -> Iterator[None]:
        """Walk what one command stands for: the variables in front of it all of its own have."""
        before, self._outer = self._outer, None
        try:
            yield
        finally:
            self._outer = before

    @contextmanager
    def as_another(self) -> Iterator[None]:
        """Be a shell that this one starts, while it lasts: what it changes stays there."""
        before, outer, read = self.state, self._outer, self.input
        self.state, self._outer, self.input = before.fork(), None, Input("")
        self.state.is_another = True
        self.state.be_another()
        self.children += 1
        try:
            yield
        finally:
            self.state, self._outer, self.input = before, outer, read
            self.children -= 1

    def _external(self, words: list[Value]) -> None:
        if child_shell.walked(self, words):
            self.status = None
            return
        words = child_shell.with_functions(self, words)
        script = written_files.of_sbatch(self, words)
        self.record(words)
        if script is not None:
            self.commands[-1] = structs.replace(self.commands[-1], script=script)
        self.spend(outputs.work(words))
        self.status = outputs.succeeds(words)
        if self.status is False and outputs.GETOPT in known_parts(words[0]):
            self.note("getopt complains of the arguments that --args gives, and ends with 1")
        if self.output is not None:
            text = folder.printed(self, words) or outputs.known_output(words, self.input.text)
            self.output += [Unknown("output", "")] if text is None else text
        elif self.errors is not None:
            self.errors.append(Unknown("output", ""))

    def written_by(self, command: Substitution) -> Value:
        if command.file:
            return (Unknown("input", command.file),)
        self.spend(2)
        with self.within(within="output", pipeline=(0, 1), writes=(), background=False):
            found = super().written_by(command)
        if any(isinstance(part, Unknown) and part == Unknown("output", "") for part in found):
            name = name_of_output(command.body)
            told = slurm_outputs.told(self.state, name[0]) or outputs.of_one_line(name[0])
            told = told or folder.gone_and_told(self, command.body)
            return told or (Unknown("output", self.files.called(*name)),)
        return found

    def _writes_of(self, found: Sequence[Redirection]) -> tuple[Output, ...]:
        writes = redirections.outputs(found, self.expander, python(folder.gone_to(self.state)))
        for text in redirections.processes(found):
            body = self.parsed(text)
            writes = (*writes, *flows.tees_of(self, body, "&"))
            with self.within(pipeline=(1, 2), within="output"):
                self.apart(body)
        return writes

    def _with_input(self, found: Sequence[Redirection], way: Callable[[], Flow]) -> Flow:
        if not found:
            return way()
        current = self._current
        words = current.words if current is not None and found is current.redirections else ()
        if [word.written for word in words] == ["exec"]:
            given = self.input

            def gone() -> Flow:
                nonlocal given
                flow, given = way(), self.input
                return flow

            flow = super()._with_input(found, gone)
            self.input = given
            return flow
        with self.within(writes=(*self.context.writes, *self._writes_of(found))):
            return super()._with_input(found, redirections.with_processes(self, found, way))
