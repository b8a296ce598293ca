"""The order in which bash goes through an array with keys: that of its table, not that in which they came.

A table has 1024 lists, each with the newest key in front, and the FNV-1 hash of a key's bytes says in which
it is; tables with more than twice as many keys grow, in bash 5.1 and later (bash's hashlib.c, hash_string
and hash_search; ASSOC_HASH_BUCKETS of assoc.h).
"""

from collections.abc import Mapping
from typing import TypeVar

_LISTS = 1024
_MOST = 2 * _LISTS
_OFFSET, _PRIME, _BITS = 2166136261, 16777619, 0xFFFFFFFF

T = TypeVar("T")


def in_order(items: Mapping[int | str, T]) -> list[tuple[int | str, T]] | None:
    """The entries, None where they are too many to tell. Characters of keys are bytes."""
    if len(items) >= _MOST:
        return None
    newest_first = list(items.items())[::-1]
    return sorted(newest_first, key=lambda item: _list_of(str(item[0])))


def _list_of(key: str) -> int:
    number = _OFFSET
    for char in key:
        byte = ord(char)
        number = (number * _PRIME ^ (byte if byte < 128 else byte - 256)) & _BITS  # char has a sign
    return number % _LISTS
