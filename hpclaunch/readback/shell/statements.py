"""What a script consists of. Words stand as they are written: `pieces` takes them apart when they are
needed."""

from msgspec import Struct


class Document(Struct):
    """The text of a here-document, which is read after the line that asks for it. `expands`: $ counts in
    it."""

    text: str = ""
    expands: bool = True


class Redirection(Struct, frozen=True):
    """`descriptor` is "" where none is written; `target` is the word after the operator."""

    descriptor: str
    operator: str
    target: str
    document: Document | None = None


class Simple(Struct, frozen=True):
    """Assignments, words and redirections."""

    line: int
    assignments: tuple[str, ...]
    words: tuple[str, ...]
    redirections: tuple[Redirection, ...] = ()


class Test(Struct, frozen=True):
    """[[ ... ]]: its words and operators."""

    line: int
    words: tuple[str, ...]


class Arithmetic(Struct, frozen=True):
    """(( ... ))"""

    line: int
    source: str


class Pipeline(Struct, frozen=True):
    """Commands with | between, each in a shell of its own."""

    line: int
    parts: "tuple[Statement, ...]"


class Not(Struct, frozen=True):
    """! command"""

    line: int
    body: "Statement"


class AndOr(Struct, frozen=True):
    """first && second || third: the others with the operator before them."""

    line: int
    first: "Statement"
    others: "tuple[tuple[str, Statement], ...]"


class Group(Struct, frozen=True):
    """Statements one after the other, as between { and }."""

    line: int
    body: "tuple[Statement, ...]"


class Subshell(Struct, frozen=True):
    """( ... ), or what runs in the background: what it changes stays there."""

    line: int
    body: "Statement"


class If(Struct, frozen=True):
    """The branches with their conditions; that of `else` is None."""

    line: int
    branches: "tuple[tuple[Statement | None, Statement], ...]"


class For(Struct, frozen=True):
    """`words` None: the arguments."""

    line: int
    name: str
    words: tuple[str, ...] | None
    body: "Statement"


class Loop(Struct, frozen=True):
    """while, until, select, and for ((...)), whose rounds are not counted. `sources` are the arithmetic of
    the last, `name` the variable of select."""

    line: int
    condition: "Statement | None"
    body: "Statement"
    sources: str = ""
    name: str = ""


class CaseItem(Struct, frozen=True):
    """Patterns, what they lead to, and how it ends: ;; or ;& or ;;&"""

    patterns: tuple[str, ...]
    body: "Statement"
    end: str


class Case(Struct, frozen=True):
    """case word in ... esac"""

    line: int
    word: str
    items: tuple[CaseItem, ...]


class Function(Struct, frozen=True):
    """The definition of a function."""

    line: int
    name: str
    body: "Statement"


class Redirected(Struct, frozen=True):
    """A compound command with redirections."""

    line: int
    body: "Statement"
    redirections: tuple[Redirection, ...]


Statement = (
    Simple
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
