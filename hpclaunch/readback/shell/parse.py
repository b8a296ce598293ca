"""A script's text -> statements: shfmt's syntax tree, made into what is walked."""

from collections.abc import Iterator, Sequence
from functools import partial

from hpclaunch.readback.shell import shfmt, tree
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.statements import (
    AndOr,
    Arithmetic,
    Assignment,
    Case,
    CaseItem,
    Coprocess,
    Declaration,
    Element,
    For,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipeline,
    Redirected,
    Redirection,
    Simple,
    Statement,
    Subshell,
    Test,
)
from hpclaunch.readback.shell.words import Words

_LARGEST = 4 << 20  # sbatch takes no larger script: max_script_size in slurm.conf(5)
_LONGEST = 200_000  # beyond 2^18 lines shfmt counts no more
_DEEPEST = 40


def parse(text: str, first_line: int = 1) -> Group:
    """The statements of a text that `inside` made.

    Raises ScriptError, with its line, for a text that is no script or too much of one, and HpclaunchError
    where shfmt is not installed. Beside what bash refuses that is a key with a blank and without quotes
    (${map[a b]}), a here-document without its end, and `! !`.
    """
    if len(text) > _LARGEST:
        raise ScriptError(f"a script of {len(text)} bytes: sbatch takes at most {_LARGEST}")
    if "\0" in text:
        raise ScriptError(
            "a zero byte, which no script has", first_line + text[: text.index("\0")].count("\n")
        )
    if text.count("\n") > _LONGEST:
        raise ScriptError(f"a script of more than {_LONGEST} lines")
    file, source = shfmt.parsed(text, first_line)
    return _Converter(source, first_line).script(file)


class _Converter:
    def __init__(self, source: bytes, first_line: int):
        self._before = first_line - 1
        self._words = Words(partial(shfmt.written, source), self._substitution)
        self._depth = 0

    def script(self, file: tree.File) -> Group:
        try:
            return self._group(file.stmts, self._before + 1)
        except RecursionError:
            raise ScriptError("commands within commands, too deep", self._before + 1) from None

    def _line(self, node: tree.Node) -> int:
        return self._before + node.pos.line

    def _group(self, statements: Sequence[tree.Stmt], line: int) -> Group:
        if statements:
            line = self._line(statements[0])
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("commands within commands, too deep", line)
        body = tuple(map(self._statement, statements))
        self._depth -= 1
        return Group(line, body)

    def _substitution(self, node: tree.CmdSubst | tree.ProcSubst) -> Group:
        return self._group(node.stmts, self._line(node))

    def _statement(self, node: tree.Stmt | None) -> Statement:
        if node is None:  # `time` of nothing
            return Group(self._before + 1, ())
        line = self._line(node)
        redirections = tuple(map(self._redirection, node.redirs))
        found: Statement
        if node.cmd is None:
            found = Simple(line, (), (), redirections)
        elif isinstance(node.cmd, tree.CallExpr):
            words = tuple(map(self._words.word, node.cmd.args))
            found = Simple(line, tuple(map(self._assignment, node.cmd.assigns)), words, redirections)
        else:
            found = self._command(node.cmd, line)
            found = Redirected(line, found, redirections) if redirections else found
        found = Not(line, found) if node.negated else found
        return Subshell(line, found) if node.background else found

    def _command(self, node: tree.Command, line: int) -> Statement:
        if isinstance(node, tree.BinaryCmd):
            return self._binary(node, line)
        if isinstance(node, tree.IfClause):
            return If(line, tuple(self._branches(node)))
        if isinstance(node, tree.WhileClause):
            condition = self._group(node.cond, line)
            return Loop(line, Not(line, condition) if node.until else condition, self._group(node.do, line))
        if isinstance(node, tree.ForClause):
            return self._for(node, line)
        if isinstance(node, tree.CaseClause):
            return Case(line, self._words.word(node.word), tuple(map(self._item, node.items)))
        if isinstance(node, tree.Block):
            return self._group(node.stmts, line)
        if isinstance(node, tree.Subshell):
            return Subshell(line, self._group(node.stmts, line))
        if isinstance(node, tree.FuncDecl):
            return Function(line, node.name.value, self._within(node.body))
        if isinstance(node, tree.ArithmCmd):
            return Arithmetic(line, (self._words.expression(node.x),))
        if isinstance(node, tree.LetClause):
            return Arithmetic(line, tuple(map(self._words.expression, node.exprs)))
        if isinstance(node, tree.TestClause):
            return Test(line, tuple(self._condition(node.x)))
        if isinstance(node, tree.DeclClause):
            return Declaration(line, node.variant.value, tuple(map(self._argument, node.args)))
        if isinstance(node, tree.CoprocClause):
            return Coprocess(line, self._within(node.stmt))
        assert isinstance(node, tree.TimeClause)
        return self._within(node.stmt)

    def _within(self, node: tree.Stmt | None) -> Statement:
        self._depth += 1
        if self._depth > _DEEPEST and node:
            raise ScriptError("commands within commands, too deep", self._line(node))
        found = self._statement(node)
        self._depth -= 1
        return found

    def _binary(self, node: tree.BinaryCmd, line: int) -> Statement:
        if node.op in ("|", "|&"):
            return Pipeline(line, tuple(self._statement(part) for _, part in _chain(node, ("|", "|&"))))
        (_, first), *others = _chain(node, ("&&", "||"))
        rest = tuple((operator, self._statement(part)) for operator, part in others)
        return AndOr(line, self._statement(first), rest)

    def _branches(self, node: tree.IfClause | None) -> Iterator[tuple[Statement | None, Statement]]:
        while node is not None:
            line = self._line(node)
            condition = self._group(node.cond, line) if node.cond else None
            yield condition, self._group(node.then, line)
            node = node.other

    def _for(self, node: tree.ForClause, line: int) -> Statement:
        body = self._group(node.do, line)
        loop = node.loop
        if isinstance(loop, tree.CStyleLoop):
            sources = tuple(self._words.expression(each) for each in (loop.init, loop.cond, loop.post))
            return Loop(line, None, body, sources)
        name = loop.name.value
        if node.select:
            return Loop(line, None, body, name=name)
        words = None if loop.in_pos is None else tuple(map(self._words.word, loop.items))
        return For(line, name, words, body)

    def _item(self, node: tree.CaseItem) -> CaseItem:
        patterns = tuple(map(self._words.word, node.patterns))
        return CaseItem(patterns, self._group(node.stmts, self._line(node)), node.op)

    def _condition(self, node: tree.Condition | None) -> Iterator[str | Word]:
        """Its words and operators in their order: shfmt's tree does not know that && binds more than ||."""
        if isinstance(node, tree.Word):
            yield self._words.word(node)
        elif isinstance(node, tree.BinaryTest):
            yield from self._condition(node.x)
            yield node.op
            yield from self._condition(node.y)
        elif isinstance(node, tree.UnaryTest):
            yield node.op
            yield from self._condition(node.x)
        elif node is not None:
            yield "("
            yield from self._condition(node.x)
            yield ")"

    def _argument(self, node: tree.Assign) -> Assignment | Word:
        """A word of `declare`."""
        if not node.naked:
            return self._assignment(node)
        return self._words.word(node.value) if node.name is None else self._words.literal(node.name.value)

    def _assignment(self, node: tree.Assign) -> Assignment:
        return Assignment(
            node.name.value if node.name else "",
            self._words.expression(node.index, "word") if node.index else None,
            node.append,
            self._words.word(node.value),
            tuple(map(self._element, node.array.elems)) if node.array else None,
            self._words.written(node),
        )

    def _element(self, node: tree.ArrayElem) -> Element:
        index = self._words.expression(node.index, "word") if node.index else None
        return Element(index, self._words.word(node.value))

    def _redirection(self, node: tree.Redirect) -> Redirection:
        descriptor = node.n.value if node.n else ""
        document = None
        if node.op in ("<<", "<<-") and node.word is not None:
            document = self._words.document(node.hdoc, node.word, node.op == "<<-")
        return Redirection(descriptor, node.op, self._words.word(node.word), document)


def _chain(node: tree.BinaryCmd, operators: tuple[str, str]) -> list[tuple[str, tree.Stmt | None]]:
    """The commands between operators that bind the same, each with the one before it."""
    found: list[tuple[str, tree.Stmt | None]] = []
    while True:
        found.append((node.op, node.y))
        left = node.x
        plain = left is not None and not (left.negated or left.background or left.redirs)
        if not plain or left is None or not isinstance(left.cmd, tree.BinaryCmd):
            break
        if left.cmd.op not in operators:
            break
        node = left.cmd
    return [("", left), *reversed(found)]
