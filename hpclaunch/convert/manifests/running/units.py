"""The statements of a pod's shell text, one by one: what each sets, and the words of each simple command."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.manifests.running.shellwords import text_of, value_of
from hpclaunch.convert.programs.layers import starts_ranks
from hpclaunch.readback.shell import tree
from hpclaunch.readback.shell.values import Value, known

# Clauses that give variables a value, and the letters of their options that change nothing of it: of these -x
# exports, as `export` does (bash(1), "declare").
_SETS = frozenset(("export", "declare", "typeset", "readonly"))
_PLAIN = frozenset("-xrg")
_QUESTIONS = frozenset(("test", "grep", "command", "which", "type"))


class Unit(Struct, frozen=True):
    """A statement: its text, and its words where it is one simple command ((): another kind). `piped` is what
    its output goes through, `exports` variables that it sets; `by_export`: by the command export or its like,
    of which `marks` are the names without a value; `sets` are the names that it sets in another way, or to
    what depends on more; `simple`: there is nothing beside its words. `rest` is where each word begins in the
    source and `words_end` where the last one ends, `lines` on which line, from 0 as `line`."""

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
    words_end: int = 0


def units_of(statement: tree.Stmt, source: bytes) -> Iterator[Unit]:
    """The statements of a && b && c one by one."""
    command = statement.cmd
    start, end = statement.pos.offset, statement.end.offset
    text, line = text_of(source, start, end), statement.pos.line - 1
    plain = _is_plain(statement)
    if isinstance(command, tree.TimeClause) and plain and command.stmt and not statement.redirs:
        yield from units_of(command.stmt, source)
        return
    if isinstance(command, tree.BinaryCmd) and plain and command.x and command.y and not statement.redirs:
        if command.op == "&&":
            before = list(units_of(command.x, source))
            yield from before
            later = units_of(command.y, source)
            yield from map(_perhaps, later) if any(map(_asks, before)) else later
            return
        if command.op == "||" and (said := _said(command.y)) is not None:
            before = list(units_of(command.x, source))
            if any(map(is_launch, before)) or (_goes(command.x) and said[-1:] == ["exit"]):
                yield from before
                yield from () if said[-1:] == ["exit"] else units_of(command.y, source)
                return
        if command.op in ("|", "|&") and isinstance(command.x.cmd, tree.CallExpr):
            inner = next(units_of(command.x, source))
            piped = text_of(source, command.y.pos.offset, command.y.end.offset)
            # What stands in front of its words is the command's alone, and sets nothing of the text's.
            own = inner.exports if inner.words else ()
            yield Unit(
                text,
                start,
                end,
                line,
                inner.words,
                own,
                piped,
                rest=inner.rest,
                lines=inner.lines,
                words_end=inner.words_end,
            )
            return
    yield _one(statement, source)


def _is_plain(statement: tree.Stmt) -> bool:
    return not (statement.negated or statement.background)


def _one(statement: tree.Stmt, source: bytes) -> Unit:
    """A statement that is one unit."""
    command, plain = statement.cmd, _is_plain(statement)
    start, end = statement.pos.offset, statement.end.offset
    text, line = text_of(source, start, end), statement.pos.line - 1
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
    return Unit(
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
        words_end=command.args[-1].end.offset if words and isinstance(command, tree.CallExpr) else 0,
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


def is_launch(unit: Unit) -> bool:
    """Whether a command starts ranks."""
    return bool(unit.words) and starts_ranks(bare(unit.words))


def bare(words: Sequence[Value]) -> tuple[Value, ...]:
    """Without `exec`, which changes nothing for what it starts."""
    return tuple(words[1:]) if words and known(words[0]) == "exec" else tuple(words)
