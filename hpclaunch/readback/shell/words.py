"""Words of the syntax tree -> pieces: quotes and backslashes carried out (bash's manual, "Quoting")."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal as Choice

from hpclaunch.readback.shell import escapes, indirect, tree
from hpclaunch.readback.shell.pieces import (
    NOTHING,
    Arithmetic,
    Beyond,
    Command,
    Literal,
    Parameter,
    Piece,
    Process,
    Word,
)
from hpclaunch.readback.shell.statements import Group, Simple, Statement

# Where text stands: which characters a backslash quotes, and whether quotes count.
Where = Choice["word", "quotes", "document"]

_DEEPEST = 40
_BACKSLASH = re.compile(r"\\(.?)", re.DOTALL)
# A line that goes on is not always carried out by shfmt.
_IN_QUOTES = re.compile(r"\\(?:([$`\"\\])|\n)")
_IN_QUOTED_BRACES = re.compile(r"\\(?:([$`\"\\}])|\n)")
_IN_DOCUMENT = re.compile(r"\\(?:([$`\\])|\n)")
_DEFAULTS = (":-", "-", ":=", "=", ":?", "?", ":+", "+")
_TABS = re.compile(r"()\n\t+")
_TABS_OR_ESCAPED = re.compile(r"(\\.)|\n\t+", re.DOTALL)


class Words:
    """Takes words apart. `text` gives what stands between two positions, and `statements` the statements of a
    $(...) or a <(...)."""

    def __init__(
        self, text: Callable[[int, int], str], statements: "Callable[[tree.CmdSubst | tree.ProcSubst], Group]"
    ):
        self._text = text
        self._statements = statements
        self._depth = 0

    def word(self, node: tree.Word | None, where: Where = "word") -> Word:
        """A word, that of no node is empty."""
        if node is None:
            return NOTHING
        return Word(tuple(self._pieces(node.parts, where)), self.written(node))

    def written(self, node: tree.Node) -> str:
        """The node as it is written."""
        return self._text(node.pos.offset, node.end.offset)

    def literal(self, text: str) -> Word:
        """A word that is only text."""
        return Word((Literal(text, False),), text)

    def document(self, node: tree.Word | None, delimiter: tree.Word, strips: bool) -> Word:
        """The text of a here-document; where a part of its delimiter is quoted, nothing counts in it.
        `strips`: tabs at the start of a line are none of it (<<-)."""
        parts = node.parts if node else ()
        expands = all(isinstance(part, tree.Lit) and "\\" not in part.value for part in delimiter.parts)
        if strips:
            parts = tuple(_without_tabs(parts, expands))
        if expands:
            return Word(tuple(self._pieces(parts, "document")), "")
        text = "".join(part.value for part in parts if isinstance(part, tree.Lit))
        return Word((Literal(text, True),), "")

    def expression(self, node: tree.Expression | None, where: Where = "quotes") -> Word:
        """An arithmetic expression, or the key of an array: text, with the expansions in it."""
        return NOTHING if node is None else self._expression(node, node.pos.offset, node.end.offset, where)

    def _expression(self, node: tree.Expression | None, start: int, end: int, where: Where) -> Word:
        # Bash expands the text, and only then looks what it says: a tree of what is written would not do.
        found: list[Piece] = []
        at = start
        for leaf in _leaves(node):
            found.append(Literal(self._text(at, leaf.pos.offset), True))
            found += self._pieces(leaf.parts, where)
            at = leaf.end.offset
        found.append(Literal(self._text(at, end), True))
        return Word(tuple(found), self._text(start, end))

    def _pieces(self, parts: Sequence[tree.Part], where: Where) -> Iterator[Piece]:
        for part in parts:
            yield from self._of(part, where)

    def _of(self, part: tree.Part, where: Where) -> Iterator[Piece]:
        quoted = where != "word"
        if isinstance(part, tree.Lit):
            yield from _text(part.value, where)
        elif isinstance(part, tree.SglQuoted):
            yield self._single(part, where)
        elif isinstance(part, tree.DblQuoted):
            if not _is_list(part.parts):
                yield Literal("", True)
            yield from self._pieces(part.parts, "quotes")
        elif isinstance(part, tree.ParamExp):
            yield self._parameter(part, where)
        elif isinstance(part, tree.CmdSubst):
            body = self._statements(part)
            yield Command(body, quoted, _file(body))
        elif isinstance(part, tree.ArithmExp):
            opening, closing = (2, 1) if part.bracket else (3, 2)
            start, end = part.pos.offset + opening, part.end.offset - closing
            yield Arithmetic(self._expression(part.x, start, end, "quotes"), quoted)
        elif isinstance(part, tree.ProcSubst):
            yield Process(self.written(part), self._statements(part))
        else:
            yield Literal(self.written(part), False)

    def _single(self, part: tree.SglQuoted, where: Where) -> Piece:
        if where == "word":
            return Literal(escapes.ansi_c(part.value) if part.dollar else part.value, True)
        # In "${x:-'a'}" a ' is only itself, which shfmt does not know.
        text = self.written(part)
        if re.search(r'[$`"\\}]', part.value):
            return Beyond(f"{text} within double quotes")
        return Literal(text, True)

    def _parameter(self, part: tree.ParamExp, where: Where) -> Piece:
        name = part.param.value if part.param else ""
        quoted = where != "word"
        if part.short and part.index is not None:  # NAME[index] of arithmetic
            return Literal(self.written(part), True)
        if self._depth == _DEEPEST:
            return Beyond("expansions within expansions, too deep")
        self._depth += 1
        index, all_of = self._index(part.index)
        operator, operand, by = self._operation(part, where)
        self._depth -= 1
        return Parameter(
            name,
            quoted,
            index,
            all_of,
            before="#" if part.length else "!" if part.excl else "",
            operator=operator,
            operand=operand,
            by=by,
            rest=self._rest(part) if operator else "",
            bare=part.short,
        )

    def _index(self, node: tree.Expression | None) -> tuple[Word | None, str]:
        if node is None:
            return None, ""
        index = self.expression(node, "word")
        return (None, index.written) if index.written in ("@", "*") else (index, "")

    def _operation(self, part: tree.ParamExp, where: Where) -> tuple[str, Word, Word]:
        if part.names:
            return indirect.NAMES, NOTHING, NOTHING
        if part.exp is not None:
            inner: Where = "word" if where == "word" or part.exp.op not in _DEFAULTS else "quotes"
            return part.exp.op, self._operand(part.exp.word, inner), NOTHING
        if part.slice is not None:
            return ":", self.expression(part.slice.offset), self.expression(part.slice.length)
        if part.repl is None:
            return "", NOTHING, NOTHING
        pattern, by = self.word(part.repl.orig), self.word(part.repl.by)
        if part.repl.all:
            return "//", pattern, by
        first = pattern.pieces[0] if pattern.pieces else None
        if isinstance(first, Literal) and not first.quoted and first.text[:1] in ("#", "%"):
            rest = (Literal(first.text[1:], False), *pattern.pieces[1:])
            return "/" + first.text[0], Word(rest, pattern.written[1:]), by
        return "/", pattern, by

    def _operand(self, node: tree.Word | None, where: Where) -> Word:
        if where == "word" or node is None:
            return self.word(node)
        found: list[Piece] = []
        for part in node.parts:
            if isinstance(part, tree.Lit):
                found.append(Literal(_IN_QUOTED_BRACES.sub(r"\1", part.value), True))
            else:
                found += self._of(part, where)
        return Word(tuple(found), self.written(node))

    def _rest(self, part: tree.ParamExp) -> str:
        end = part.end.offset - 1
        start = part.param.end.offset if part.param else end
        if part.index is not None:
            behind = self._text(part.index.end.offset, end)
            start = part.index.end.offset + behind.find("]") + 1
        return self._text(start, end)


def _text(text: str, where: Where) -> Iterator[Literal]:
    if where == "quotes":
        yield Literal(_IN_QUOTES.sub(r"\1", text), True)
    elif where == "document":
        yield Literal(_IN_DOCUMENT.sub(r"\1", text), True)
    else:
        for index, piece in enumerate(_BACKSLASH.split(text)):
            if index % 2:
                if piece != "\n":
                    yield Literal(piece or "\\", True)
            elif piece:
                yield Literal(piece, False)


def _leaves(node: tree.Expression | None) -> Iterator[tree.Word]:
    if isinstance(node, tree.Word):
        yield node
    elif isinstance(node, tree.BinaryArithm):
        yield from _leaves(node.x)
        yield from _leaves(node.y)
    elif node is not None:
        yield from _leaves(node.x)


def _without_tabs(parts: Sequence[tree.Part], expands: bool) -> Iterator[tree.Part]:
    """Without the tabs at the start of lines. Where the text `expands`, a line after a backslash is none."""
    starts = True
    tabs = _TABS_OR_ESCAPED if expands else _TABS
    for part in parts:
        if not isinstance(part, tree.Lit):
            starts = False
            yield part
            continue
        text = part.value.lstrip("\t") if starts else part.value
        starts = text.endswith("\n") or (starts and not text)
        yield tree.Lit(part.pos, part.end, tabs.sub(lambda found: found[1] or "\n", text))


def _is_list(parts: Sequence[tree.Part]) -> bool:
    """Whether it is "$@" or "${a[@]}", which are no word at all where there is nothing in them."""
    if len(parts) != 1 or not isinstance(parts[0], tree.ParamExp):
        return False
    part = parts[0]
    asks = part.exp is not None and part.exp.op in _DEFAULTS and not part.exp.op.endswith("+")
    if part.length or part.param is None or asks:
        return False
    index = part.index.parts if isinstance(part.index, tree.Word) else ()
    element = index[0].value if index and isinstance(index[0], tree.Lit) else ""
    return part.param.value == "@" or element == "@"


def _file(body: Group) -> str:
    """The file of <file, where that is all of it."""
    statements: tuple[Statement, ...] = body.body
    if len(statements) == 1 and isinstance(statements[0], Simple):
        simple = statements[0]
        if not simple.words and not simple.assignments and len(simple.redirections) == 1:
            redirection = simple.redirections[0]
            return redirection.target.written if redirection.operator == "<" else ""
    return ""
