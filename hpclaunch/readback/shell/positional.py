"""Arguments that are handed on: main "$@" (bash's manual, "Special Parameters").

Where nobody tells the arguments of the shell itself, those of what it calls with "$@" are the same, and not
one word that is not known: main has as many, and its $2 is the script's. Behind words that stand in front of
"$@" they come with other numbers."""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import structs

from hpclaunch.readback.shell.pieces import Parameter, Word
from hpclaunch.readback.shell.told import may_be_many
from hpclaunch.readback.shell.values import Unknown, Value, shown

Arguments = tuple[Value, ...] | None
# What is about all arguments, and not about one of a number.
_OF_ALL = re.compile(
    r"\$\{?[!#]?[@*#]|\b(?:shift|getopts|eval|source)\b|(?:^|\s)\.\s|\bfor\s+\w+\s*(?:;|\n|do\b)"
)
_NUMBER = re.compile(r"\$(?:(\d)|\{[!#]?(\d+))")


def handed_on(words: Sequence[Value], own: Arguments) -> Arguments:
    """The arguments that these words are, `own` those of the shell; None where nobody tells one of them."""
    if own is not None or not any(map(is_all, words)):
        return tuple(words)
    if len(words) == 1:
        return None
    return tuple(_with(word, splits=True) if is_all(word) else word for word in words)


def by_number(arguments: Sequence[Value], written: Sequence[Word], body: str) -> list[Value]:
    """The arguments of a function, as they are written where it is called. One that takes each by its number,
    and no more of them than stand there, is not called with a variable of several words in front of others,
    which would have other numbers then: run $a $b, where both are what a command writes."""
    its = list(arguments)
    if len(its) != len(written) or not any(map(may_be_many, its[:-1])):
        return its
    highest = _highest(body)
    if highest is None or highest > len(its):
        return its
    pairs = zip(its, written, strict=True)
    return [_with(each, splits=False) if _is_variable(word) else each for each, word in pairs]


@lru_cache(maxsize=256)  # a function may be called often
def _highest(body: str) -> int | None:
    """The highest number of an argument that the body of a function names; None where it is about all."""
    if _OF_ALL.search(body):
        return None
    return max((int(bare or braced[:6]) for bare, braced in _NUMBER.findall(body)), default=0)


def _is_variable(word: Word) -> bool:
    """Whether it is $NAME and no more."""
    part = word.pieces[0] if len(word.pieces) == 1 else None
    return (
        isinstance(part, Parameter)
        and part.name.isidentifier()
        and not (part.rest or part.before or part.index)
    )


def behind(arguments: Sequence[Value], number: int) -> Value | None:
    """The argument of this number, from 1, where "$@" of the shell's own stands before it or in its place;
    None where it does not."""
    first = next((index for index, each in enumerate(arguments[:number]) if _hands_all_on(each)), None)
    if first is None:
        return None
    if first == len(arguments) - 1:
        return (Unknown("argument", str(number - first)),)
    return (Unknown("output", f"{' '.join(map(shown, arguments))} (word {number})"),)


def all_of(arguments: Sequence[Value]) -> list[Value]:
    """What "$@" is: each of them a word, as it was where they were handed on."""
    return [_with(each, splits=False) if is_all(each) else each for each in arguments]


def _hands_all_on(word: Value) -> bool:
    return is_all(word) and may_be_many(word)


def is_all(word: Value) -> bool:
    """Whether the word is "$@" of a shell whose arguments nobody tells."""
    part = word[0] if len(word) == 1 else ""
    return isinstance(part, Unknown) and part.kind == "argument" and part.name == "@"


def _with(word: Value, *, splits: bool) -> Value:
    return tuple(structs.replace(part, splits=splits) if isinstance(part, Unknown) else part for part in word)
