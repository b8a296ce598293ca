"""The text of `sh -c` -> what it sets up, the command that launches something, and what is around that."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.manifests.running.shellwords import text_of, value_of
from hpclaunch.convert.manifests.running.units import Unit, bare, is_launch, units_of
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
_TO_A_SHELL = re.compile(
    r"(?P<head>\s*(?:exec )?(?:/\S*/)?(?:ba)?sh(?: -[a-z]+)* *<< *)"
    r"(?P<quote>['\"]?)(?P<end>\w+)(?P=quote) *\n(?P<text>.*\n)(?P=end)\s*",
    re.DOTALL,
)


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
    units = [unit for statement in file.stmts for unit in units_of(statement, source)]
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


def _launch_of(units: Sequence[Unit]) -> int | None:
    """The first that is a launcher, but for those that by its name only prepare what another one runs."""
    found = [number for number, unit in enumerate(units) if is_launch(unit)]
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
