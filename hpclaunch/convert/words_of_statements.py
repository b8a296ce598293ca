"""The words and the redirections of a statement, as far as their text tells them."""

from hpclaunch.convert.walked import is_device
from hpclaunch.readback.shell.pieces import Literal, Process, Word
from hpclaunch.readback.shell.statements import Redirection
from hpclaunch.readback.shell.values import Unknown, Value, known

TO_FILE = frozenset((">", ">>", ">|", "&>", "&>>"))


def text_of(word: Word) -> Value:
    """The word as far as its text tells it; what may be a pattern of file names is itself."""
    if is_made_there(word):
        return (Unknown("variable", word.written),)
    return ("".join(piece.text for piece in word.pieces if isinstance(piece, Literal)),)


def is_made_there(word: Word) -> bool:
    """Whether it depends on more than the text."""
    return any(not isinstance(piece, Literal) for piece in word.pieces)


def is_option(word: Value) -> bool:
    """Whether it begins as one."""
    return (known(word) or "").startswith("-")


def writes_a_file(redirection: Redirection) -> bool:
    """Whether what the command prints becomes a file."""
    target = redirection.target
    if redirection.operator not in TO_FILE or redirection.descriptor not in ("", "1"):
        return False
    first = target.pieces[0] if target.pieces else None
    return not isinstance(first, Process) and not is_device(text_of(target))
