"""What is told of a word or a value whatever the state is."""

from hpclaunch.readback.shell import pieces
from hpclaunch.readback.shell.pieces import Parameter, Piece, Word
from hpclaunch.readback.shell.values import Unknown, Value


def plain(written: Word) -> str | None:
    """The one text that a word is, whatever the state; None for any other."""
    found = written.pieces
    if len(found) != 1 or type(found[0]) is not pieces.Literal:
        return None
    only = found[0]
    return only.text if only.quoted or not pieces.is_active(only.text) else None


def is_one_text(piece: Piece) -> bool:
    """Whether it is part of one word, whatever its value is."""
    if isinstance(piece, pieces.Literal):
        return piece.quoted or not pieces.is_active(piece.text)
    if not isinstance(piece, Parameter) or not piece.quoted or piece.before or piece.operator:
        return False
    return not (piece.all_of or piece.index or piece.name in ("@", "*"))


def is_star(piece: Piece) -> bool:
    """Whether it stands for all arguments, or all of an array, in one word: $*, ${A[*]}."""
    return isinstance(piece, Parameter) and "*" in (piece.name, piece.all_of)


def surely_set(values: list[Value] | None, counts_empty: bool) -> bool | None:
    """Whether a parameter is set (and not empty), None where that is not known."""
    if values is None:
        return None
    if not values:
        return False
    parts = values[0]
    if any(isinstance(part, str) for part in parts) or len(values) > 1:
        return True
    if not parts:
        return counts_empty
    if any(isinstance(part, Unknown) and part.kind in ("variable", "argument", "either") for part in parts):
        return None
    return True if counts_empty else None


def is_one_word(value: Value) -> bool:
    """Whether it is one word, whatever its text. What stands for all of an array is none."""
    if len(value) == 1 and isinstance(value[0], Unknown) and value[0].kind in ("either", "argument"):
        return False
    return all(isinstance(part, str) or (isinstance(part, Unknown) and not part.splits) for part in value)


def may_be_many(value: Value) -> bool:
    """Whether it may be several words, as that of nodes=( $(scontrol show hostnames) )."""
    return any(isinstance(part, Unknown) and part.splits for part in value)
