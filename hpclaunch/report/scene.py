"""What a picture is made of, in its own units from the upper left corner: `layout` makes a scene, and `svg`
spells it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, structs

Role = Literal[
    "page",  # behind everything
    "entry",  # one of the legend's
    "socket",
    "node",
    "switch",
    "gpu",
    "hca",
    "other",  # a device that carries no job's traffic
    "idle",  # nobody's
    "reserved",  # kept from jobs
    "many",  # more owners than can be drawn
    "plate",  # behind a label on several colours
    "owner",  # the colour and pattern of one owner
    "solid",  # the colour alone, behind a label
]
Ink = Literal["ink", "faint", "owner"]
Anchor = Literal["start", "middle", "end"]


class Rect(Struct, frozen=True):
    """A rectangle; `title` is what a pointer over it tells. `owner` counts for the roles owner and solid."""

    x: float
    y: float
    width: float
    height: float
    role: Role
    owner: int = -1
    title: str = ""


class Text(Struct, frozen=True):
    """One line of text; `x` is its start, middle or end, and `y` its baseline. With the ink `owner` it stands
    on the colour of that owner."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False
    anchor: Anchor = "start"
    ink: Ink = "ink"
    owner: int = -1


class Group(Struct, frozen=True):
    """A frame and what is inside."""

    frame: Rect
    items: tuple[Item, ...] = ()

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.frame.y + self.frame.height


Item = Rect | Text | Group


def stretched(group: Group, height: float) -> Group:
    """The group with a frame of this height, so that the frames of one row end on one line."""
    return Group(structs.replace(group.frame, height=height), group.items)
