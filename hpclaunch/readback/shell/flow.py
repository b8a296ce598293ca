"""Where a shell goes next."""

from enum import Enum


class Flow(Enum):
    """Where the shell goes after a statement. LINE: what follows on the line is left out, as bash does where
    a variable that is read-only would have got another value; a compound command is one line."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    EXIT = 4
    LINE = 5


# What no loop takes for its own.
LEAVES = frozenset((Flow.RETURN, Flow.EXIT, Flow.LINE))
