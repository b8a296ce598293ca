"""Where a shell goes next."""

from enum import Enum


class Flow(Enum):
    """Where the shell goes after a statement."""

    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    EXIT = 4
