"""The syntax tree of a script as `shfmt --to-json` writes it: its nodes, without what is not used here.

Source: syntax/nodes.go and syntax/typedjson/json.go of mvdan.cc/sh/v3. Fields that are false, empty or not
there are left out of the JSON. Positions count bytes from 0 and lines from 1; `end` is behind the node.
"""

from msgspec import Struct, field


class Position(Struct, frozen=True, rename="pascal"):
    """A place in the text."""

    offset: int = 0
    line: int = 0


class Node(Struct, frozen=True, rename="pascal", tag_field="Type", tag=True):
    """What all have."""

    pos: Position = Position()
    end: Position = Position()


class Lit(Node, frozen=True):
    """Text as it was written, without continued lines."""

    value: str = ""


class SglQuoted(Node, frozen=True):
    """'...', or $'...' with `dollar`."""

    dollar: bool = False
    value: str = ""


class DblQuoted(Node, frozen=True):
    """ "..." """

    parts: "tuple[Part, ...]" = ()


class Word(Node, frozen=True):
    """A word; also an operand of an arithmetic expression or of a condition."""

    parts: "tuple[Part, ...]" = ()


class Slice(Struct, frozen=True, rename="pascal"):
    """${x:offset:length}"""

    offset: "Expression | None" = None
    length: "Expression | None" = None


class Replace(Struct, frozen=True, rename="pascal"):
    """${x/orig/with}, with `all` ${x//orig/with}."""

    all: bool = False
    orig: Word | None = None
    by: Word | None = field(default=None, name="With")


class Expansion(Struct, frozen=True, rename="pascal"):
    """${x:-word} and the like."""

    op: str = ""
    word: Word | None = None


class ParamExp(Node, frozen=True):
    """$x, ${x...}, and NAME[index] within arithmetic."""

    short: bool = False
    excl: bool = False
    length: bool = False
    param: Lit | None = None
    index: "Expression | None" = None
    slice: Slice | None = None
    repl: Replace | None = None
    names: str = ""
    exp: Expansion | None = None


class CmdSubst(Node, frozen=True):
    """$(...) or `...`"""

    stmts: "tuple[Stmt, ...]" = ()


class ArithmExp(Node, frozen=True):
    """$((...)), or $[...] with `bracket`."""

    bracket: bool = False
    x: "Expression | None" = None


class ProcSubst(Node, frozen=True):
    """<(...) or >(...)"""

    stmts: "tuple[Stmt, ...]" = ()


class ExtGlob(Node, frozen=True):
    """?(...) and the like."""


Part = Lit | SglQuoted | DblQuoted | ParamExp | CmdSubst | ArithmExp | ProcSubst | ExtGlob


class BinaryArithm(Node, frozen=True):
    """x op y"""

    x: "Expression | None" = None
    y: "Expression | None" = None


class UnaryArithm(Node, frozen=True):
    """op x, or x op"""

    x: "Expression | None" = None


class ParenArithm(Node, frozen=True):
    """(x)"""

    x: "Expression | None" = None


Expression = Word | BinaryArithm | UnaryArithm | ParenArithm


class ArrayElem(Node, frozen=True):
    """A word of an array, or [index]=value."""

    index: Expression | None = None
    value: Word | None = None


class ArrayExpr(Node, frozen=True):
    """(...) after NAME="""

    elems: tuple[ArrayElem, ...] = ()


class Assign(Node, frozen=True):
    """NAME=value; `naked`: a word of `declare` without the =, a name or any other."""

    append: bool = False
    naked: bool = False
    name: Lit | None = None
    index: Expression | None = None
    value: Word | None = None
    array: ArrayExpr | None = None


class Redirect(Node, frozen=True):
    """n op word; `hdoc`: the text of a here-document."""

    op: str = ""
    n: Lit | None = None
    word: Word | None = None
    hdoc: Word | None = None


class CallExpr(Node, frozen=True):
    """A simple command."""

    assigns: tuple[Assign, ...] = ()
    args: tuple[Word, ...] = ()


class Subshell(Node, frozen=True):
    """(...)"""

    stmts: "tuple[Stmt, ...]" = ()


class Block(Node, frozen=True):
    """{ ...; }"""

    stmts: "tuple[Stmt, ...]" = ()


class IfClause(Node, frozen=True):
    """if, elif, or `else` where there is no condition."""

    cond: "tuple[Stmt, ...]" = ()
    then: "tuple[Stmt, ...]" = ()
    other: "IfClause | None" = field(default=None, name="Else")


class WhileClause(Node, frozen=True):
    """while and until."""

    until: bool = False
    cond: "tuple[Stmt, ...]" = ()
    do: "tuple[Stmt, ...]" = ()


class WordIter(Node, frozen=True):
    """x in words; without `in_pos` over the arguments."""

    name: Lit = Lit()
    in_pos: Position | None = None
    items: tuple[Word, ...] = ()


class CStyleLoop(Node, frozen=True):
    """((init; cond; post))"""

    init: Expression | None = None
    cond: Expression | None = None
    post: Expression | None = None


class ForClause(Node, frozen=True):
    """for and select."""

    select: bool = False
    loop: WordIter | CStyleLoop = WordIter()
    do: "tuple[Stmt, ...]" = ()


class BinaryCmd(Node, frozen=True):
    """x op y, where op is && || | or |&"""

    op: str = ""
    x: "Stmt | None" = None
    y: "Stmt | None" = None


class FuncDecl(Node, frozen=True):
    """The definition of a function."""

    name: Lit = Lit()
    body: "Stmt | None" = None


class ArithmCmd(Node, frozen=True):
    """((...))"""

    x: Expression | None = None


class LetClause(Node, frozen=True):
    """let expression..."""

    exprs: tuple[Expression, ...] = ()


class BinaryTest(Node, frozen=True):
    """x op y. It is grouped without regard to which of && || ! binds more."""

    op: str = ""
    x: "Condition | None" = None
    y: "Condition | None" = None


class UnaryTest(Node, frozen=True):
    """op x"""

    op: str = ""
    x: "Condition | None" = None


class ParenTest(Node, frozen=True):
    """( x )"""

    x: "Condition | None" = None


Condition = Word | BinaryTest | UnaryTest | ParenTest


class TestClause(Node, frozen=True):
    """[[ x ]]"""

    x: Condition | None = None


class DeclClause(Node, frozen=True):
    """declare, typeset, local, export, readonly."""

    variant: Lit = Lit()
    args: tuple[Assign, ...] = ()


class TimeClause(Node, frozen=True):
    """time stmt"""

    stmt: "Stmt | None" = None


class CoprocClause(Node, frozen=True):
    """coproc stmt"""

    stmt: "Stmt | None" = None


class CaseItem(Node, frozen=True):
    """patterns) stmts op"""

    op: str = ""
    patterns: tuple[Word, ...] = ()
    stmts: "tuple[Stmt, ...]" = ()


class CaseClause(Node, frozen=True):
    """case word in ... esac"""

    word: Word = Word()
    items: tuple[CaseItem, ...] = ()


Command = (
    CallExpr
    | Subshell
    | Block
    | IfClause
    | WhileClause
    | ForClause
    | BinaryCmd
    | FuncDecl
    | ArithmCmd
    | LetClause
    | TestClause
    | DeclClause
    | TimeClause
    | CoprocClause
    | CaseClause
)


class Stmt(Node, frozen=True):
    """A command with its redirections, which may be all of it."""

    cmd: Command | None = None
    negated: bool = False
    background: bool = False
    redirs: tuple[Redirect, ...] = ()


class File(Node, frozen=True):
    """The whole text."""

    stmts: tuple[Stmt, ...] = ()
