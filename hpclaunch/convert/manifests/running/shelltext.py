"""The text of `sh -c` -> what it sets up, the command that launches something, and what is around that."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.manifests.running.shellwords import text_of, value_of
from hpclaunch.convert.mapping.around.preparations import prepares
from hpclaunch.convert.programs.layers import MPI, PER_GPU, layers, starts_ranks
from hpclaunch.convert.programs.names import BY_MPI, GPU_MODULES, any_of
from hpclaunch.readback.shell import arithmetic, inside, shfmt, tree
from hpclaunch.readback.shell.errors import ScriptError, Unreadable
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known, shown
from hpclaunch.values.errors import HpclaunchError

# A program of Python may have --deepspeed or accelerate.yaml among its own words: those names tell nothing.
_LAUNCHER = re.compile(
    rf"mpirun|mpiexec|torchrun|torch\.distributed|(?<![\w-]){any_of(BY_MPI, GPU_MODULES)}(?![\w-])"
)
LAUNCHERS = frozenset((*MPI, *PER_GPU))

# What a person writes behind `sh -c` is short, and the parser's time grows with the square of what nests.
_LONGEST, _MOST_NESTED = 32_000, 500
_ALL_EXPORTED = {("set", "-a"), ("set", "-o", "allexport")}
# Clauses that give variables a value, and the letters of their options that change nothing of it: of these -x
# exports, as `export` does (bash(1), "declare").
_SETS = frozenset(("export", "declare", "typeset", "readonly"))
_PLAIN = frozenset("-xrg")
_TO_A_SHELL = re.compile(
    r"(?P<head>\s*(?:exec )?(?:/\S*/)?(?:ba)?sh(?: -[a-z]+)* *<< *)"
    r"(?P<quote>['\"]?)(?P<end>\w+)(?P=quote) *\n(?P<text>.*\n)(?P=end)\s*",
    re.DOTALL,
)
_QUESTIONS = frozenset(("test", "grep", "command", "which", "type"))


class Unit(Struct, frozen=True):
    """A statement: its text, and its words where it is one simple command ((): another kind). `piped` is what
    its output goes through, `exports` variables that it sets; `by_export`: by the command export or its like,
    of which `marks` are the names without a value; `sets` are the names that it sets in another way, or to
    what depends on more; `simple`: there is nothing beside its words. `rest` is where each word begins in the
    source, `lines` on which line, from 0 as `line`."""

    text: str
    start: int
    end: int
    line: int
    words: tuple[Value, ...] = ()
    exports: tuple[tuple[str, Value], ...] = ()
    piped: str = ""
    simple: bool = False
    rest: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    by_export: bool = False
    marks: tuple[str, ...] = ()
    sets: frozenset[str] = frozenset()


class ShellText(Struct, frozen=True):
    """`folder` and `exported` are what the text begins with (cd, export, assignments); `units` is all after
    that, and `text` the same as it stands. `launch` is the index of the first unit that is a launcher. `own`
    are the names that no export names: only the text itself has them. `nested` are the words of launchers
    that stand in loops, conditions and the like, where none is among the units. `folders` has the folder that
    each unit runs in, "" for the container's own, None where nobody can tell it. `untold` are the names that
    it sets before the launcher to what is known only where it runs, with that value and its line where one
    statement alone tells it. `lost` is the statement that goes to a folder nobody can tell, "" where there is
    none."""

    folder: str
    exported: tuple[tuple[str, str, int], ...]
    units: tuple[Unit, ...]
    text: str
    launch: int | None = None
    folder_line: int = 0
    own: frozenset[str] = frozenset()
    nested: tuple[tuple[Value, ...], ...] = ()
    folders: tuple[str | None, ...] = ()
    untold: tuple[tuple[str, Value, int], ...] = ()
    lost: str = ""


def read(text: str) -> ShellText | None:
    """The parts of a text; None for one that is no shell, or too much of one."""
    if len(text) > _LONGEST or sum(map(text.count, "&|({`")) > _MOST_NESTED:
        return None
    inner = _given_to_a_shell(text)
    found = read(inner) if inner else None
    if found is not None and found.launch is not None:
        return found
    try:
        file, source = shfmt.parsed(inside(text), 1)
    except (ScriptError, HpclaunchError):
        return None
    units = [unit for statement in file.stmts for unit in _units(statement, source)]
    launch = _launch_of(units)
    if launch is not None and units[launch].exports:
        units[launch : launch + 1] = _as_exports(units[launch])
        launch = _launch_of(units)
    begun = _Beginning()
    left: list[Unit] = []
    folders: list[str] = []
    for number, unit in enumerate(units):
        # Before a launcher each of these counts for it; else those that the text begins with.
        if number < launch if launch is not None else not left:
            unit = begun.told(unit)
            if begun.takes(unit):
                continue
        left.append(unit)
        folders.append(begun.folder)
    # The text itself, to the last line end, where nothing was taken from it.
    rest = text_of(source, left[0].start, len(source)).strip() if left else ""
    bare = text if len(left) == len(units) else rest
    at = _launch_of(left)
    own = frozenset(name for name, _, _ in begun.exported) - _handed_on(units)
    nested = () if at is not None else tuple(_nested(file.stmts))
    return ShellText(
        begun.folder,
        tuple(begun.exported),
        tuple(left),
        bare,
        at,
        begun.folder_line,
        own,
        nested,
        tuple(folders),
        tuple((name, *each) for name, each in begun.untold.items()),
    )


def _handed_on(units: Sequence[Unit]) -> set[str]:
    """The names that an export hands on."""
    every = any(tuple(map(known, unit.words)) in _ALL_EXPORTED for unit in units)
    names = {name for unit in units if unit.by_export or every for name, _ in unit.exports}
    return names | {name for unit in units for name in unit.marks}


class _Beginning:
    """What the statements of a text have set up so far: the fields are those of ShellText, but for `values`,
    what each name has."""

    def __init__(self) -> None:
        self.folder, self.folder_line = "", 0
        self.exported: list[tuple[str, str, int]] = []
        self.untold: dict[str, tuple[Value, int]] = {}
        self.values: dict[str, str] = {}

    def told(self, unit: Unit) -> Unit:
        """An assignment with the values that its own variables have by then."""
        if not _assigns(unit):
            return unit
        return replace(unit, exports=tuple((name, _told(value, self.values)) for name, value in unit.exports))

    def takes(self, unit: Unit) -> bool:
        """Whether it does nothing but set up, and is kept here."""
        self._forget(unit)
        if _assigns(unit) and _are_known(unit):
            its = [(name, known(value) or "") for name, value in unit.exports]
            self.exported += [(name, text, unit.line) for name, text in its]
            self.values.update(its)
            return True
        if unit.marks and not unit.exports:
            return True
        target = _folder(unit)
        if target:
            is_below = self.folder and not target.startswith("/")
            self.folder = f"{self.folder}/{target}" if is_below else target
            self.folder_line = unit.line
        return bool(target)

    def _forget(self, unit: Unit) -> None:
        """What it gives another value, or one that is not told."""
        its = {name for name, _ in unit.exports} if not unit.words else set()
        again = unit.sets | ({*its} if not _are_known(unit) else set())
        self.exported = [each for each in self.exported if each[0] not in again]
        self.values = {name: text for name, text in self.values.items() if name not in again}
        self.untold = {name: each for name, each in self.untold.items() if name not in its - again}
        self.untold |= dict.fromkeys(again, ((), unit.line))
        self.untold |= {name: (value, unit.line) for name, value in unit.exports if name in its & again}


def _assigns(unit: Unit) -> bool:
    return bool(unit.exports) and not unit.words


def _given_to_a_shell(text: str) -> str:
    """The text that another shell reads, where nothing else is done, with its lines where they stand; "" for
    any other text."""
    whole = _TO_A_SHELL.fullmatch(text)
    if whole is None:
        return ""
    plain = whole["text"].replace("\\\n", "")
    if not whole["quote"] and any(char in plain for char in "$`\\"):
        return ""  # the first shell puts something in
    return "\n" * (whole["head"].count("\n") + 1) + whole["text"]


def _told(value: Value, values: Mapping[str, str]) -> Value:
    """A value that is assigned, with those of the text's own variables that are told by then."""
    try:
        return join([_part_told(part, values) for part in value])
    except Unreadable:  # one that grows beyond all measure
        return value


def _part_told(part: Part, values: Mapping[str, str]) -> Part:
    if isinstance(part, Unknown) and part.kind == "variable":
        return values.get(part.name, part)
    if isinstance(part, Unknown) and part.kind == "number":
        number = arithmetic.evaluate(part.name[3:-2], values.get)
        return part if number is None else str(number)
    return part


def _folder(unit: Unit) -> str:
    """Where `cd` goes, "" for another command."""
    if len(unit.words) != 2 or known(unit.words[0]) != "cd":
        return ""
    target = known(unit.words[1]) or ""
    return "" if target.startswith(("-", "~")) else target


def _are_known(unit: Unit) -> bool:
    return all(known(value) is not None for _, value in unit.exports)


def _is_launch(unit: Unit) -> bool:
    return bool(unit.words) and starts_ranks(bare(unit.words))


def _launch_of(units: Sequence[Unit]) -> int | None:
    """The first that is a launcher, but for those that by its name only prepare what another one runs."""
    found = [number for number, unit in enumerate(units) if _is_launch(unit)]
    runs = [number for number in found if not prepares(layers(bare(units[number].words))[-1].words)]
    return next(iter(runs or found), None)


def _as_exports(unit: Unit) -> tuple[Unit, ...]:
    """NAME=VALUE LAUNCHER ... as an export of each name, and the launcher: what it starts has them."""
    first = unit.rest[0]
    behind = unit.text.encode()[first - unit.start :].decode("utf-8", "replace")
    exports = (
        Unit(f"{name}={shown(value)}", unit.start, first, unit.line, exports=((name, value),), by_export=True)
        for name, value in unit.exports
    )
    return (*exports, replace(unit, text=behind, start=first, exports=()))


def bare(words: Sequence[Value]) -> tuple[Value, ...]:
    """Without `exec`, which changes nothing for what it starts."""
    return tuple(words[1:]) if words and known(words[0]) == "exec" else tuple(words)


def has_launcher(text: str) -> bool:
    """Whether the name of a launcher stands anywhere in a text."""
    return bool(launcher_in(text))


def launcher_in(text: str) -> str:
    """The launcher whose name stands anywhere in a text, "" for none."""
    found = _LAUNCHER.search(text)
    return found[0] if found else ""


def _nested(statements: Sequence[tree.Stmt]) -> Iterator[tuple[Value, ...]]:
    """The words of all launchers within statements, however deep."""
    waiting: list[object] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.CallExpr) and node.args:
            words = tuple(map(value_of, node.args))
            if starts_ranks(bare(words)):
                yield words
        elif isinstance(node, Struct):
            waiting += [getattr(node, name) for name in node.__struct_fields__]
        elif isinstance(node, list | tuple):
            waiting += node


def _units(statement: tree.Stmt, source: bytes) -> Iterator[Unit]:
    """The statements of a && b && c one by one."""
    command = statement.cmd
    start, end = statement.pos.offset, statement.end.offset
    text, line = text_of(source, start, end), statement.pos.line - 1
    plain = not (statement.negated or statement.background)
    if isinstance(command, tree.TimeClause) and plain and command.stmt and not statement.redirs:
        yield from _units(command.stmt, source)
        return
    if isinstance(command, tree.BinaryCmd) and plain and command.x and command.y and not statement.redirs:
        if command.op == "&&":
            before = list(_units(command.x, source))
            yield from before
            later = _units(command.y, source)
            yield from map(_perhaps, later) if any(map(_asks, before)) else later
            return
        if command.op == "||" and (said := _said(command.y)) is not None:
            before = list(_units(command.x, source))
            if any(map(_is_launch, before)) or (_goes(command.x) and said[-1:] == ["exit"]):
                yield from before
                yield from () if said[-1:] == ["exit"] else _units(command.y, source)
                return
        if command.op in ("|", "|&") and isinstance(command.x.cmd, tree.CallExpr):
            inner = next(_units(command.x, source))
            piped = text_of(source, command.y.pos.offset, command.y.end.offset)
            # What stands in front of its words is the command's alone, and sets nothing of the text's.
            own = inner.exports if inner.words else ()
            yield Unit(text, start, end, line, inner.words, own, piped, rest=inner.rest, lines=inner.lines)
            return
    words: tuple[Value, ...] = ()
    exports: tuple[tuple[str, Value], ...] = ()
    rest: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    marks: tuple[str, ...] = ()
    by_export = False
    if plain and isinstance(command, tree.CallExpr):
        words = tuple(value_of(word, source) for word in command.args)
        exports = tuple(_assigned(command.assigns, source))
        rest = tuple(word.pos.offset for word in command.args)
        lines = tuple(word.pos.line - 1 for word in command.args)
    elif plain and isinstance(command, tree.DeclClause) and command.variant.value in _SETS:
        exports = tuple(_assigned(command.args, source))
        marks = tuple(each.name.value for each in command.args if each.name is not None and each.naked)
        others = [each.value for each in command.args if each.name is None and each.naked]
        options = [known(value_of(word)) or "" for word in others if word is not None]
        of_all = len(exports) + len(marks) + len(options) == len(command.args)
        plain_options = all(each.startswith("-") and _PLAIN.issuperset(each) for each in options)
        by_export = command.variant.value == "export" or any("x" in each for each in options)
        if not (of_all and plain_options) or (marks and not by_export):
            exports, marks, by_export = (), (), False
    simple = bool(words) and not statement.redirs and not exports
    yield Unit(
        text,
        start,
        end,
        line,
        words,
        exports,
        simple=simple,
        rest=rest,
        lines=lines,
        by_export=by_export,
        marks=marks,
        sets=frozenset() if words else frozenset(_names_set(command)) - {name for name, _ in exports},
    )


def _goes(statement: tree.Stmt) -> bool:
    """Whether it is a cd or pushd."""
    return isinstance(statement.cmd, tree.CallExpr) and _program(statement) in ("cd", "pushd")


def _said(statement: tree.Stmt) -> list[str] | None:
    """Its programs, where it does no more than say something, or end the text."""
    parts = statement.cmd.stmts if isinstance(statement.cmd, tree.Block) else (statement,)
    programs = [_program(each) for each in parts]
    return programs if {*programs} <= {"exit", "echo", "printf"} else None


def _program(statement: tree.Stmt) -> str:
    words = statement.cmd.args if isinstance(statement.cmd, tree.CallExpr) else ()
    return known(value_of(words[0])) or "" if words else ""


def _names_set(command: tree.Node | None) -> Iterator[str]:
    """The names to which a statement gives a value, however deep."""
    waiting: list[object] = [command]
    while waiting:
        node = waiting.pop()
        is_set = isinstance(node, tree.Assign) and not node.naked
        if (is_set or isinstance(node, tree.WordIter)) and (name := getattr(node, "name", None)) is not None:
            yield name.value
        if isinstance(node, Struct):
            waiting += [getattr(node, name) for name in node.__struct_fields__]
        elif isinstance(node, list | tuple):
            waiting += node


def _asks(unit: Unit) -> bool:
    """Whether a command only says whether what is behind its && is done."""
    return unit.text.startswith("[") or (bool(unit.words) and known(unit.words[0]) in _QUESTIONS)


def _perhaps(unit: Unit) -> Unit:
    """A statement that may not be done: what it sets nobody can tell."""
    if unit.words:
        return unit
    return replace(unit, exports=(), marks=(), sets=unit.sets | {name for name, _ in unit.exports})


def _assigned(assigns: Sequence[tree.Assign], source: bytes) -> Iterator[tuple[str, Value]]:
    for each in assigns:
        if each.name is not None and not (each.append or each.naked or each.index or each.array):
            yield each.name.value, value_of(each.value, source) if each.value is not None else ()
