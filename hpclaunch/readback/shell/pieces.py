"""What a written word consists of: text, without its quotes, and the expansions in it (bash's manual, "Shell
Expansions"). Nothing is looked up here."""

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from hpclaunch.readback.shell.values import Value

if TYPE_CHECKING:
    from hpclaunch.readback.shell.statements import Statement


# Without one of these a word that is only text is what is written.
_ACTIVE = re.compile(r"[{~*?\[]")
_LONG = 2000  # of a longer text it is counted what it costs


class Word(Struct, frozen=True, gc=False):
    """The pieces, and how they are written. `value` is what becomes of it, wherever it stands; None: that
    has to be found out."""

    pieces: "tuple[Piece, ...]"
    written: str
    value: Value | None = None


class Literal(Struct, frozen=True, gc=False):
    """Text. What is quoted is no pattern and is not split; "" in quotes is a word too."""

    text: str
    quoted: bool


class Parameter(Struct, frozen=True, gc=False):
    """$NAME or ${...}. `name` is a variable's or a special parameter's, `index` what stands in [], and
    `all_of` "@" or "*" where that does; `before` is "#" for the length, "!" for an indirection, and
    `operator` "" for none. `by` is the replacement, or the length of a slice. `rest` is the operator with
    what follows it, as it is written; `bare`: there are no braces."""

    name: str
    quoted: bool
    index: Word | None = None
    all_of: str = ""
    before: str = ""
    operator: str = ""
    operand: Word | None = None
    by: Word | None = None
    rest: str = ""
    bare: bool = False

    @property
    def of_all(self) -> bool:
        """Whether it is about all elements of an array, or all arguments."""
        return bool(self.all_of) or self.name in ("@", "*")

    @property
    def is_plain(self) -> bool:
        """Whether it is a variable's value, as it is."""
        return not (self.before or self.operator or self.of_all or self.index)


class Command(Struct, frozen=True, gc=False):
    """$(...) or `...`. `file` is the file of $(<file), "" for any other."""

    body: "Statement"
    quoted: bool
    file: str = ""


class Arithmetic(Struct, frozen=True, gc=False):
    """$((...))."""

    expression: Word
    quoted: bool


class Process(Struct, frozen=True, gc=False):
    """<(...) or >(...): the name of a pipe. The body runs beside what reads or writes that."""

    written: str
    body: "Statement | None" = None


class Home(Struct, frozen=True, gc=False):
    """~ or ~NAME"""

    written: str


class Given(Struct, frozen=True, gc=False):
    """What is expanded already."""

    value: Value


class Beyond(Struct, frozen=True, gc=False):
    """What this reader cannot make out."""

    why: str


Piece = Literal | Parameter | Command | Arithmetic | Process | Home | Given | Beyond

NOTHING = Word((), "")
ARGUMENTS = Word((Parameter("@", True),), '"$@"')


def text_word(text: str, quoted: bool, written: str) -> Word:
    """A word that is only text."""
    told = (quoted or not _ACTIVE.search(text)) and len(text) < _LONG
    value: Value | None = ((text,) if text else ()) if told else None
    return Word((Literal(text, quoted),), written, value)


def is_active(text: str) -> bool:
    """Whether text that is not quoted may become something else than it is."""
    return _ACTIVE.search(text) is not None


def given(value: Value, written: str = "") -> Word:
    """A word that is expanded already."""
    return Word((Given(value),), written)


def variable_of(word: Word) -> str:
    """The name of the variable whose value the word is, "" for any other word."""
    pieces = [piece for piece in word.pieces if piece != Literal("", True)]
    if len(pieces) == 1 and isinstance(pieces[0], Parameter) and pieces[0].is_plain:
        return pieces[0].name
    return ""
