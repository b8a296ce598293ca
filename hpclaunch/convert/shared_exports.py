"""What is exported to commands. It is looked at once for all that have the same: a script may start thousands
of steps behind thousands of exports."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value

_Pairs = tuple[tuple[str, Value], ...]


class _Same:
    """The environment of commands, the same where it is the very object: to compare all of it costs as much
    as to look at all of it."""

    def __init__(self, pairs: _Pairs) -> None:
        self.pairs = pairs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.pairs is other.pairs

    def __hash__(self) -> int:
        return id(self.pairs)


def of(command: Command) -> dict[str, Value]:
    """All of it, by the names, in their order."""
    return _mapping(_Same(command.environment))


def picked(command: Command, wants: Callable[[str], bool]) -> Mapping[str, Value]:
    """Those that `wants`, a function of a module, takes by their names."""
    return _picked(_Same(command.environment), wants)


def in_order(command: Command, names: Iterable[str]) -> list[str]:
    """The names, each once, as they are exported to the command; behind them those that are not."""
    numbers = _numbers(_Same(command.environment))
    return sorted(dict.fromkeys(names), key=lambda name: numbers.get(name, len(numbers)))


def unlike(command: Command, other: Command) -> tuple[str, ...]:
    """The names of those that the other has otherwise, or not at all."""
    return _unlike(_Same(command.environment), _Same(other.environment))


@lru_cache(maxsize=8)
def _mapping(its: _Same) -> dict[str, Value]:
    return dict(its.pairs)


@lru_cache(maxsize=8)
def _numbers(its: _Same) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(_mapping(its))}


@lru_cache(maxsize=16)
def _picked(its: _Same, wants: Callable[[str], bool]) -> Mapping[str, Value]:
    return {name: value for name, value in its.pairs if wants(name)}


@lru_cache(maxsize=8)
def _unlike(its: _Same, others: _Same) -> tuple[str, ...]:
    if its == others:
        return ()
    there = _mapping(others)
    return tuple(name for name, value in its.pairs if name not in there or there[name] != value)
