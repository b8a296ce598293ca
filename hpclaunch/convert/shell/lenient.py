"""What a variable is that nobody gave: unset where the script is ready for that, else unknown and wanted."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hpclaunch.convert.programs.slurm_variables import READ_BY_SRUN, is_slurms
from hpclaunch.convert.programs.srun import KEYS
from hpclaunch.convert.shell import shopt, slurm_options, slurm_outputs
from hpclaunch.readback.shell import parameters, pieces, positional
from hpclaunch.readback.shell.budget import Budget
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.fields import Fields
from hpclaunch.readback.shell.pieces import NOTHING, Parameter, Word, given, variable_of
from hpclaunch.readback.shell.state import State
from hpclaunch.readback.shell.values import (
    IfSet,
    Part,
    Unknown,
    Value,
    join,
    known,
    known_parts,
    variable_alone,
)

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

# Set by the shell, the login or the scheduler, to something that no input tells.
_MOST_DIGITS = 6  # of the number of an argument
_OTHERS = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "HOSTNAME", "EUID", "UID", "GROUPS", "PATH", "SHELL"),
        *("RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "LINENO", "PPID", "BASHPID"),
        *("BASH", "BASH_SOURCE", "BASH_VERSION", "BASH_VERSINFO", "FUNCNAME", "PIPESTATUS", "DIRSTACK"),
        *("OSTYPE", "HOSTTYPE", "MACHTYPE", "SHELLOPTS", "BASHOPTS", "SHLVL", "IFS"),
        *("LSB_JOBID", "JOB_ID", "NSLOTS", "NHOSTS", "PE_HOSTFILE"),
    )
)
_OF_SCHEDULERS = ("PBS_", "LSB_", "SGE_", "OMPI_COMM_WORLD_", "PMI_", "PMIX_", "PMI2_")
# Slurm sets these in some jobs alone: in those of an array, and in those that were started again.
_NOT_ALWAYS = ("SLURM_ARRAY_", "SLURM_RESTART_COUNT")
_DEFAULTS = (":-", "-", ":=", "=")
_FILLS = (":-", ":=")
_OF_SIZE = ("-N", "-n", "-G", *(f"--{option}" for option in KEYS))
_TESTS = (*_DEFAULTS, ":+", "+")
# Lists that modules and images give nearly every job: X=/more:${X:-} goes on with what a rank has.
LISTS = frozenset(("LD_LIBRARY_PATH", "LIBRARY_PATH", "PYTHONPATH", "CPATH", "MANPATH", "PKG_CONFIG_PATH"))
_OPTION = re.compile(r"--?[\w-]+=")
_FILLED = given(("x",), "x")


def is_others(name: str) -> bool:
    """Whether a script finds the variable set, and not empty, by others than the operator. SLURM_NTASKS and
    its like are among them: a script is walked as it behaves in a job."""
    of_slurm = is_slurms(name) and name not in READ_BY_SRUN
    return name in _OTHERS or of_slurm or name.startswith(_OF_SCHEDULERS)


def _goes_on(expansion: Parameter) -> bool:
    """Whether it is a list with nothing in its place, ${LD_LIBRARY_PATH:-}, or put behind a colon."""
    is_added = expansion.operator in (":+", "+")
    return expansion.name in LISTS and (is_added or not (expansion.operand or NOTHING).pieces)


class LenientExpander(Expander):
    """Expands words, and tells the walk which variables nobody gave."""

    def __init__(
        self, walker: "Walker", state: State, output_of: Callable[[pieces.Command], Value], budget: Budget
    ):
        super().__init__(state, output_of, budget)
        self._walker = walker
        self._decides = False  # what is tested decides about a size of the launch

    @property
    def follows(self) -> bool:
        """Whether what an expression assigns is done: not where one round is walked for all of a loop."""
        return not self._walker.context.loops

    def fields(self, written: Word) -> list[Value]:
        """A word like node[1-4] or --cpu-bind=map_cpu:0*4 is itself: bash leaves a pattern that no file
        matches, and none will."""
        if written.value is not None:
            return [written.value]
        found = super().fields(written)
        return found if self._walker.options & shopt.NO_FILES else [_itself(value) for value in found]

    def nobody_gave(self, name: str) -> bool:
        """Whether it may be taken for unset."""
        if not parameters.is_name(name) or self.state.get(name) is not None:
            return False
        if is_others(name):
            # A script that asks whether it is in an array may be for both.
            return name not in slurm_options.OF_ARRAYS and self._is_of_no_option(name)
        return name not in self._walker.wanted

    def _is_of_no_option(self, name: str) -> bool:
        """Whether it is one that Slurm sets by an option that nobody gave, and the script goes on without."""
        if name in self._walker.required:
            return False
        if name in slurm_options.OF_ARRAYS and self.state.get(slurm_options.BY_VARIABLE) is not None:
            return False
        return slurm_options.is_unset(name, self._walker.files.sources)

    def untouched(self, expansion: Parameter) -> list[Value] | None:
        name = expansion.name
        if expansion.operator in _TESTS and self._is_of_no_option(name):
            return []
        if not is_others(name):
            # A default counts wherever else the name is read, but where the script does not go on without it.
            is_default = expansion.operator in _DEFAULTS
            is_given = name in (self._walker.required if is_default else self._walker.wanted)
            is_given &= is_default or not self._is_only_copied(name)
            if expansion.operator in _TESTS and not is_given and not _goes_on(expansion):
                return []
            if expansion.operator in (":+", "+"):
                self._walker.taken.setdefault(name, self._walker.place)
            self._walker.want(name)
        unknown: Value = (Unknown("variable", name),)
        # No array comes from outside: "${NAME[@]}" is the one value of a variable, or no word at all.
        is_list = expansion.all_of == "@" and expansion.quoted and not expansion.operator
        return [(IfSet(name, unknown),)] if is_list else [unknown]

    def before(self, name: str) -> Value:
        if not self.nobody_gave(name):
            return super().before(name)
        self._walker.assume(name, ())
        return ()

    def _length(self, expansion: Parameter, values: list[Value] | None) -> Value:
        found = super()._length(expansion, values)
        part = found[0] if found else ""
        told = slurm_outputs.told(self.state, part.name) if isinstance(part, Unknown) else None
        return told or found

    def default(self, name: str, value: Value) -> None:
        super().default(name, value)
        self._walker.note_default(name)

    def is_set(self, values: list[Value] | None, counts_empty: bool) -> bool | None:
        if values and any(isinstance(part, Unknown) and part.kind == "variable" for part in values[0]):
            return None if self._decides else True
        return super().is_set(values, counts_empty)

    def _of_arguments(self, name: str) -> list[Value]:
        if name != "0":
            self._walker.ask_argument()
        return super()._of_arguments(name)

    def _is_untold_argument(self, name: str) -> bool:
        """Whether it is one of the script's own, which nobody tells."""
        if not name.isdigit() or name == "0" or len(name) > _MOST_DIGITS:
            return False
        arguments = self.state.arguments
        return arguments is None or positional.behind(arguments, int(name)) is not None

    def values(self, expansion: Parameter) -> list[Value] | None:
        name = expansion.name
        if expansion.operator in _TESTS and self._is_untold_argument(name):
            self._walker.ask_argument()
            return []
        if expansion.operator in _FILLS and self._copied(name):
            return [()]
        return super().values(expansion)

    def _its_value(self, name: str) -> Value:
        """The value of a variable or an argument as it stands, nothing where it has none."""
        arguments = self.state.arguments or ()
        if name.isdigit() and len(name) <= _MOST_DIGITS:
            return arguments[int(name) - 1] if 0 < int(name) <= len(arguments) else ()
        variable = self.state.get(name)
        return variable.value if variable is not None and isinstance(variable.value, tuple) else ()

    def _copied(self, name: str) -> str:
        """The variable whose value this one has, and no more, where nobody gave that one; "" for none."""
        copied = variable_alone(self._its_value(name))
        if not parameters.is_name(copied):
            return ""
        is_given = is_others(copied) or self._is_to_come(copied)
        is_given |= copied != name and self.state.get(copied) is not None
        return "" if is_given else copied

    def _tested(self, fields: Fields, expansion: Parameter, values: list[Value] | None) -> None:
        name, operator = expansion.name, expansion.operator
        missed = self.nobody_gave(name) or self._is_untold_argument(name) or self._is_only_copied(name)
        missed |= name in slurm_options.OF_ARRAYS
        if values == [] and operator in _TESTS and not expansion.all_of and missed:
            operand = expansion.operand if operator in _DEFAULTS else None
            self._walker.assume(name, self._aside(operand or NOTHING))
        if operator in _FILLS and (copied := self._copied(name)):
            self._walker.assume(copied, self._aside(expansion.operand or NOTHING))
        if operator in (":?", "?") and name in self._walker.wanted:
            self._walker.required.add(name)
        self._decides = operator in (":+", "+") and self._says_a_size(name, expansion.operand or NOTHING)
        super()._tested(fields, expansion, values)
        self._decides = False

    def _aside(self, operand: Word) -> Value:
        """What an operand becomes, before it counts."""
        if all(isinstance(piece, pieces.Literal) for piece in operand.pieces):
            return self._joined(operand.pieces)
        before = self.state
        self.state = before.fork()
        try:
            return self._joined(operand.pieces)
        finally:
            self.state = before

    def _says_a_size(self, name: str, operand: Word) -> bool:
        """Whether that a variable is set, of which nothing tells that it is, gives srun an option about sizes
        and the like."""
        command = self._walker.current_program
        first = operand.pieces[0] if operand.pieces else None
        text = first.text if isinstance(first, pieces.Literal) else ""
        return (
            command == "srun"
            and name in self._walker.wanted
            and name not in self._walker.required
            and text.startswith(_OF_SIZE)
        )

    def _changed(self, expansion: Parameter, values: list[Value]) -> list[Value]:
        """Also of values that are known in part, and by what is: a pattern that is only text changes the text
        around."""
        if expansion.operator not in ("/", "//", "/#"):
            return super()._changed(expansion, values)
        by = self._joined((expansion.by or NOTHING).pieces)
        if known(by) is not None and all(known(value) is not None for value in values):
            return super()._changed(expansion, values)
        pattern = self._pattern((expansion.operand or NOTHING).pieces)
        if pattern is None or any(char in pattern for char in "*?[\\") or "&" in known_parts(by):
            return super()._changed(expansion, values)
        found = [_with_parts(expansion.operator, value, pattern, by) for value in values]
        if found == values and any(known(value) is None for value in values):
            return super()._changed(expansion, values)  # where no text has it, what is not known may
        return found

    def looked_at(self, words: Sequence[str | Word]) -> list[str | Word]:
        """The words of a test, with what is taken for unset as empty, and what others set as something."""
        found = list(words)
        for index, part in enumerate(words):
            before = words[index - 1] if index else ""
            if isinstance(part, str):
                if part == "-v" and index + 1 < len(words):
                    found[index : index + 2] = ["-n", self._as_set(words[index + 1])]
                continue
            following = words[index + 1 : index + 3]
            alone = before in ("", "!", "(", "&&", "||", "-a", "-o") and (
                not following or following[0] in (")", "&&", "||", "-a", "-o")
            )
            if before in ("-z", "-n") or alone or _compares_with_nothing(words, index):
                found[index] = self._filled_or_not(part)
        return found

    def _as_set(self, word: str | Word) -> Word:
        name = word if isinstance(word, str) else known(self.value(word)) or ""
        if self.nobody_gave(name):
            self._walker.assume(name, ())
            return given(())
        variable = self.state.get(name.partition("[")[0])
        if variable is not None and "[" in name:
            element = name.partition("[")[2].removesuffix("]")
            index, of_all = (None, element) if element in ("@", "*") else (given((element,), element), "")
            values = self.values(Parameter(name.partition("[")[0], True, index, of_all))
            return given(()) if not values else _FILLED if known(values[0]) is not None else given(values[0])
        return given(()) if variable is not None and variable.value is None else _FILLED

    def _filled_or_not(self, word: Word) -> Word:
        name = variable_of(word)
        if not name and len(word.pieces) == 1 and isinstance(word.pieces[0], pieces.Given):
            alone = variable_alone(word.pieces[0].value)
            is_unset = self.nobody_tested(alone) or self.nobody_gave(alone) or self._is_only_copied(alone)
            name = alone if is_unset else ""
        copied = self._copied(name)
        name = copied if self._is_only_copied(copied) else name
        if self.nobody_gave(name) or self.nobody_tested(name) or self._is_only_copied(name):
            self._walker.assume(name, ())
            return given(())
        value = self.value(word)
        names = [part.name for part in value if isinstance(part, Unknown) and part.kind == "variable"]
        if names and not all(name.startswith(_NOT_ALWAYS) for name in names):
            for name in names:
                if name in self._walker.wanted and self.state.get(name) is None:
                    self._walker.taken.setdefault(name, self._walker.place)
            return _FILLED
        return given(value, word.written)

    def _is_only_copied(self, name: str) -> bool:
        """Whether no more asks for it than others that got its value."""
        is_given = is_others(name) or self._is_to_come(name) or self.state.get(name) is not None
        return parameters.is_name(name) and not is_given and self._walker.is_only_copied(name)

    def _is_to_come(self, name: str) -> bool:
        """Whether the script goes on with it alone, or somebody fills it in."""
        sources = self._walker.files.sources
        return name in self._walker.required or any(name in each.to_fill_in for each in sources)

    def nobody_tested(self, name: str) -> bool:
        """Whether the only mention of it that asks for a value is the one in this command, but for what is
        shown to who looks on."""
        places = self._walker.wanted.get(name)
        return (
            places is not None
            and self.state.get(name) is None
            and name not in self._walker.required
            and all(place == self._walker.place or place in self._walker.messages for place in places)
        )


def _itself(value: Value) -> Value:
    part = value[0] if len(value) == 1 else None
    if not isinstance(part, Unknown) or part.kind != "files" or set(part.name) & set("$<>"):
        return value
    is_name = set(part.name) & set("*?") and not _OPTION.match(part.name)
    return value if is_name else (part.name,)


def _compares_with_nothing(words: Sequence[str | Word], index: int) -> bool:
    following = words[index + 1 : index + 3]
    return (
        len(following) == 2
        and following[0] in ("=", "==", "!=")
        and isinstance(following[1], Word)
        and all(isinstance(piece, pieces.Literal) and not piece.text for piece in following[1].pieces)
    )


def _with_parts(operator: str, value: Value, pattern: str, by: Value) -> Value:
    if operator == "/#":
        first = value[0] if value else ""
        if isinstance(first, str) and first.startswith(pattern):
            return join([*by, first[len(pattern) :], *value[1:]])
        return value
    found: list[Part] = []
    most = -1 if operator == "//" else 1
    for part in value:
        if not isinstance(part, str) or not pattern or pattern not in part or not most:
            found.append(part)
            continue
        pieces_of = part.split(pattern, most)
        most = most if operator == "//" else 0
        for index, piece in enumerate(pieces_of):
            found += [*by, piece] if index else [piece]
    return join(found)
