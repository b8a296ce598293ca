"""How owners are told apart: by a number, always, and then by colour, lightness and pattern.

Neighbouring numbers differ in lightness by 29 steps of CIE L* or more, so that they stay apart in greyscale,
and all eight colours stay apart for protanopia, deuteranopia and tritanopia (tests/report holds both against
the simulation of Machado, Oliveira and Fernandes, 2009).
"""

from typing import Literal

from msgspec import Struct

INK = "#16191d"
_COLOURS = ("#8ccbf2", "#c8500a", "#f5e663", "#1b559c", "#f2a93b", "#1f7a5c", "#f3c6dc", "#5b2a7a")
_DARK = frozenset(_COLOURS[1::2])

Pattern = Literal["plain", "rising", "dots", "falling", "level", "cross"]
_PATTERNS: tuple[Pattern, ...] = ("plain", "rising", "dots", "falling", "level", "cross")


class Style(Struct, frozen=True):
    """The colour of an owner, the colour of text on it, and the pattern that is laid over it."""

    colour: str
    text: str
    pattern: Pattern


def style(owner: int) -> Style:
    """The style of an owner by its number: eight colours, then the same eight with each pattern; the 49th
    looks as the first."""
    colour = _COLOURS[owner % len(_COLOURS)]
    pattern = _PATTERNS[owner // len(_COLOURS) % len(_PATTERNS)]
    return Style(colour, "#ffffff" if colour in _DARK else INK, pattern)
