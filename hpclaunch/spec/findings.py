"""How the checks of a document note what they find."""

from collections.abc import Callable
from typing import TypeVar

from hpclaunch.spec.wording import dotted
from hpclaunch.values.errors import Path, Problem

T = TypeVar("T")


def problem(document: str, path: Path, message: str) -> Problem:
    """The problem of the value at `path`, which the message names."""
    return Problem(f"{dotted(path)}: {message}", document, path)


def check(document: str, found: list[Problem], path: Path, rule: Callable[[T], object], value: T) -> None:
    """Adds to `found` what `rule` says against `value`, by the ValueError that it raises."""
    try:
        rule(value)
    except ValueError as error:
        found.append(problem(document, path, str(error)))
