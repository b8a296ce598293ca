"""A picture as it was drawn: its boxes, words and fills, read back from the text of the SVG."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from hpclaunch.report.text import width

SVG = "{http://www.w3.org/2000/svg}"
# How far capitals and digits reach above the baseline and tails below it, of the font size (DejaVu Sans).
ABOVE, BELOW = 0.76, 0.24
SLACK = 0.02  # coordinates are rounded to hundredths


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: "Box") -> bool:
        return (
            self.left <= other.left + SLACK
            and self.top <= other.top + SLACK
            and other.right <= self.right + SLACK
            and other.bottom <= self.bottom + SLACK
        )

    def overlaps(self, other: "Box") -> bool:
        return (
            min(self.right, other.right) - max(self.left, other.left) > SLACK
            and min(self.bottom, other.bottom) - max(self.top, other.top) > SLACK
        )


@dataclass(frozen=True)
class Words:
    text: str
    box: Box
    ink: str


@dataclass(frozen=True)
class Filled:
    """A rectangle; `title` is what it says to a pointer."""

    box: Box
    fill: str
    title: str


@dataclass
class Frame:
    """A group: its kind, its frame, and what is in it."""

    kind: str
    frame: Filled
    words: list[Words] = field(default_factory=list)
    fills: list[Filled] = field(default_factory=list)
    inner: list["Frame"] = field(default_factory=list)

    def all(self) -> Iterator["Frame"]:
        yield self
        for frame in self.inner:
            yield from frame.all()

    def of_kind(self, kind: str) -> list["Frame"]:
        return [frame for frame in self.all() if frame.kind == kind]


@dataclass(frozen=True)
class Picture:
    canvas: Box
    pages: list[Frame]


def read(text: str) -> Picture:
    """The pictures of an SVG file. Fails where there is something in it that these tests do not know."""
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    left, top, right, bottom = map(float, root.attrib["viewBox"].split())
    pages = []
    for child in root:
        if child.tag == f"{SVG}g":
            pages.append(_frame(child))
        else:
            assert child.tag in (f"{SVG}title", f"{SVG}defs")
    return Picture(Box(left, top, right, bottom), pages)


def _frame(group: ET.Element) -> Frame:
    frame = Frame(group.attrib["class"], _filled(group[0]))
    for child in group[1:]:
        if child.tag == f"{SVG}g":
            frame.inner.append(_frame(child))
        elif child.tag == f"{SVG}rect":
            frame.fills.append(_filled(child))
        else:
            assert child.tag == f"{SVG}text"
            frame.words.append(_words(child))
    return frame


def _filled(rect: ET.Element) -> Filled:
    x, y, wide, high = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
    assert wide > 0
    assert high > 0
    title = rect.findtext(f"{SVG}title") or ""
    return Filled(Box(x, y, x + wide, y + high), rect.attrib["fill"], title)


def _words(element: ET.Element) -> Words:
    x, y, size = (float(element.attrib[key]) for key in ("x", "y", "font-size"))
    text = element.text or ""
    wide = width(text, size, element.get("font-weight") == "bold")
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[element.get("text-anchor", "start")]
    return Words(text, Box(left, y - ABOVE * size, left + wide, y + BELOW * size), element.attrib["fill"])


def check_geometry(picture: Picture) -> None:
    """Nothing leaves what it is in, no words overlap, and no two things beside one another do."""
    lowest = 0.0
    for page in picture.pages:
        assert picture.canvas.holds(page.frame.box)
        assert page.frame.box.top >= lowest - SLACK
        lowest = page.frame.box.bottom
        for frame in page.all():
            for part in (*frame.words, *frame.fills, *(inner.frame for inner in frame.inner)):
                assert frame.frame.box.holds(part.box), (frame.frame.title, part)
            boxes = [inner.frame.box for inner in frame.inner]
            assert not [1 for i, box in enumerate(boxes) for other in boxes[:i] if box.overlaps(other)]
            for words in frame.words:
                crossing = [box for box in boxes if box.overlaps(words.box)]
                assert not crossing, (frame.frame.title, words)
        _check_apart([words.box for frame in page.all() for words in frame.words])
        # Cells and bands tell what they are; the plates of labels, which lie on them, do not.
        _check_apart([fill.box for frame in page.all() for fill in frame.fills if fill.title])


def _check_apart(boxes: list[Box]) -> None:
    ordered = sorted(boxes, key=lambda one: one.top)
    for index, one in enumerate(ordered):
        for other in ordered[index + 1 :]:
            if other.top >= one.bottom:
                break
            assert not one.overlaps(other), (one, other)


def cpu_of(fill: Filled) -> int | None:
    """The CPU that a cell stands for."""
    match = re.match(r"CPU (\d+): ", fill.title)
    return int(match.group(1)) if match else None


def number_in(title: str) -> int:
    """ "NUMA node 3" is 3."""
    return int(title.rpartition(" ")[2])
