"""What a script consists of, in words and the pieces of these.

`line` and `last` are the lines on which a statement begins and ends, and `written` is its text. A reader that
does not tell `last` and `written` leaves them 0 and ""."""

from msgspec import Struct

from hpclaunch.readback.shell.pieces import Word


class Element(Struct, frozen=True, gc=False):
    """A word of an array, or [index]=value."""

    index: Word | None
    value: Word


class Assignment(Struct, frozen=True, gc=False):
    """NAME=value, NAME+=value where it `adds`, NAME[index]=value, or NAME=(...) where there is an `array`."""

    name: str
    index: Word | None
    adds: bool
    value: Word
    array: tuple[Element, ...] | None
    written: str


class Redirection(Struct, frozen=True, gc=False):
    """`descriptor` is "" where none is written; `target` is the word after the operator, and `document` the
    text of a here-document."""

    descriptor: str
    operator: str
    target: Word
    document: Word | None = None


class Simple(Struct, frozen=True, gc=False):
    """Assignments, words and redirections."""

    line: int
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    last: int = 0
    written: str = ""


class Declaration(Struct, frozen=True, gc=False):
    """declare, typeset, local, export or readonly: an assignment among its words is one, neither split nor a
    pattern, and may be an array."""

    line: int
    command: str
    arguments: tuple[Assignment | Word, ...]
    last: int = 0
    written: str = ""


class Test(Struct, frozen=True, gc=False):
    """[[ ... ]]: its words, and as text the operators between them."""

    line: int
    words: tuple[str | Word, ...]
    last: int = 0
    written: str = ""


class Arithmetic(Struct, frozen=True, gc=False):
    """(( ... )) or `let`: the last expression counts."""

    line: int
    expressions: tuple[Word, ...]
    last: int = 0
    written: str = ""


class Pipeline(Struct, frozen=True, gc=False):
    """Commands with | between, each in a shell of its own."""

    line: int
    parts: "tuple[Statement, ...]"
    operators: tuple[str, ...] = ()
    last: int = 0


class Not(Struct, frozen=True, gc=False):
    """! command"""

    line: int
    body: "Statement"
    last: int = 0


class AndOr(Struct, frozen=True, gc=False):
    """first && second || third: the others with the operator before them."""

    line: int
    first: "Statement"
    others: "tuple[tuple[str, Statement], ...]"
    last: int = 0


class Group(Struct, frozen=True, gc=False):
    """Statements one after the other, as between { and }."""

    line: int
    body: "tuple[Statement, ...]"
    last: int = 0


class Subshell(Struct, frozen=True, gc=False):
    """( ... ), or what runs in the background: what it changes stays there."""

    line: int
    body: "Statement"
    background: bool = False
    last: int = 0


class Coprocess(Struct, frozen=True, gc=False):
    """coproc command"""

    line: int
    body: "Statement"
    last: int = 0


class If(Struct, frozen=True, gc=False):
    """The branches with their conditions; that of `else` is None."""

    line: int
    branches: "tuple[tuple[Statement | None, Statement], ...]"
    last: int = 0


class For(Struct, frozen=True, gc=False):
    """`words` None: the arguments."""

    line: int
    name: str
    words: tuple[Word, ...] | None
    body: "Statement"
    last: int = 0


class Loop(Struct, frozen=True, gc=False):
    """while, until, select, and for ((...)), whose rounds are not counted. `expressions` are the arithmetic
    of the last, `name` the variable of select."""

    line: int
    condition: "Statement | None"
    body: "Statement"
    expressions: tuple[Word, ...] = ()
    name: str = ""
    last: int = 0


class CaseItem(Struct, frozen=True, gc=False):
    """Patterns, what they lead to, and how it ends: ;; or ;& or ;;&"""

    patterns: tuple[Word, ...]
    body: "Statement"
    end: str


class Case(Struct, frozen=True, gc=False):
    """case word in ... esac"""

    line: int
    word: Word
    items: tuple[CaseItem, ...]
    last: int = 0


class Function(Struct, frozen=True, gc=False):
    """The definition of a function. What is `written` is its body."""

    line: int
    name: str
    body: "Statement"
    last: int = 0
    written: str = ""


class Redirected(Struct, frozen=True, gc=False):
    """A compound command with redirections."""

    line: int
    body: "Statement"
    redirections: tuple[Redirection, ...]
    last: int = 0


Statement = (
    Simple
    | Declaration
    | Coprocess
    | Test
    | Arithmetic
    | Pipeline
    | Not
    | AndOr
    | Group
    | Subshell
    | If
    | For
    | Loop
    | Case
    | Function
    | Redirected
)
