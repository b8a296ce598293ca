"""Bands: a rectangle in the colours of its owners, with their numbers on it."""

from collections.abc import Sequence

from hpclaunch.report import text
from hpclaunch.report.scene import Item, Rect, Role, Text

SIZE = 10.5  # of a label
_NARROWEST = 4.0  # of a part that can still be told by its colour
_GAP = 3.0  # between a label and the edge of what it stands on


def band(
    x: float, y: float, width: float, height: float, owners: Sequence[int], noun: str, nobody: str
) -> list[Item]:
    """A band with a label: the owner ("rank 3"), the number of each in its own part, or all of them together
    where the parts are narrow. `nobody` is said where there is no owner."""
    title = text.named(noun, owners) if owners else nobody
    items = colours(x, y, width, height, owners, title)
    middle = y + height / 2
    if len(owners) > 1 and (part := width / len(owners)) >= room(str(max(owners))):
        for index, owner in enumerate(owners):
            items += label(x + (index + 0.5) * part, middle, str(owner), (owner,))
        return items
    words = [text.named(noun, owners), text.short(owners)] if owners else [nobody]
    fitting = [word for word in words if room(word) <= width]
    return items + label(x + width / 2, middle, fitting[0] if fitting else "", owners)


def colours(
    x: float,
    y: float,
    width: float,
    height: float,
    owners: Sequence[int],
    title: str,
    otherwise: Role = "idle",
) -> list[Item]:
    """The rectangle, in a part for each owner; without owners in the role `otherwise`."""
    if not owners:
        return [Rect(x, y, width, height, otherwise, title=title)]
    part = width / len(owners)
    if part < _NARROWEST:
        return [Rect(x, y, width, height, "many", title=title)]
    return [
        Rect(x + index * part, y, part, height, "owner", owner, title) for index, owner in enumerate(owners)
    ]


def label(x: float, y: float, word: str, owners: Sequence[int]) -> list[Item]:
    """A word around this middle, on a plate that no pattern and no edge shows through."""
    if not word:
        return []
    baseline = y + SIZE * 0.36
    if not owners:
        return [Text(x, baseline, word, SIZE, anchor="middle", ink="faint")]
    width = text.width(word, SIZE, bold=True) + _GAP
    top, height = y - SIZE * 0.6, SIZE * 1.2
    if len(owners) > 1:
        return [
            Rect(x - width / 2, top, width, height, "plate"),
            Text(x, baseline, word, SIZE, True, "middle"),
        ]
    owner = owners[0]
    return [
        Rect(x - width / 2, top, width, height, "solid", owner),
        Text(x, baseline, word, SIZE, True, "middle", "owner", owner),
    ]


def room(word: str) -> float:
    """How wide something must be to have this word on it."""
    return text.width(word, SIZE, bold=True) + 2 * _GAP
