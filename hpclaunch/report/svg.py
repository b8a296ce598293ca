"""Scenes as SVG. All that a picture needs is in its own text: no scripts, no fonts, no other files. The
classes let a page that has the picture in it change its light for dark."""

from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree as ET

from hpclaunch.report.scene import Group, Item, Rect, Text
from hpclaunch.report.style import INK, Pattern, style

FONTS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

# Role -> fill, line, dashes, radius of the corners.
_LOOKS: dict[str, tuple[str, str, str, float]] = {
    "page": ("#ffffff", "none", "", 0),
    "entry": ("#ffffff", "none", "", 0),
    "socket": ("#eef0f3", "#8b929c", "", 8),
    "node": ("#ffffff", "#a9b0ba", "", 6),
    "switch": ("#f4f5f7", "#8b929c", "", 4),
    "gpu": ("#ffffff", "#3b424c", "", 4),
    "hca": ("#ffffff", "#8b929c", "", 4),
    "other": ("#f4f5f7", "#8b929c", "3 3", 4),
    "idle": ("#e3e6ea", "none", "", 1),
    "many": ("#9aa2ad", "none", "", 1),
    "plate": ("#ffffff", "none", "", 2),
}
_INKS = {"ink": INK, "faint": "#4f5762"}
# The lines of a pattern on a tile of 6 by 6.
_TILES: dict[Pattern, str] = {
    "rising": "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5",
    "falling": "M-1,5 L1,7 M0,0 L6,6 M5,-1 L7,1",
    "level": "M0,3 L6,3",
    "cross": "M0,3 L6,3 M3,0 L3,6",
    "dots": "M1.5,1.5 h0.01 M4.5,4.5 h0.01",
}


def document(pictures: Sequence[Group]) -> str:
    """A file with the pictures, which stand one under the other already."""
    root = element(pictures, "hp")
    root.set("xmlns", "http://www.w3.org/2000/svg")
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def element(pictures: Sequence[Group], prefix: str) -> ET.Element:
    """The pictures as one <svg>. `prefix` begins the names of its patterns, which must differ from those of
    other pictures on the same page."""
    width = max(picture.frame.width for picture in pictures)
    height = pictures[-1].bottom
    root = ET.Element(
        "svg",
        {
            "viewBox": f"0 0 {_number(width)} {_number(height)}",
            "width": _number(width),
            "height": _number(height),
            "style": "max-width:100%;height:auto",
            "role": "img",
            "font-family": FONTS,
        },
    )
    title = next(item.text for item in pictures[0].items if isinstance(item, Text))
    ET.SubElement(root, "title").text = title
    patterns = sorted(
        {rect.owner for picture in pictures for rect in _rects(picture) if rect.role == "owner"}
    )
    definitions = ET.SubElement(root, "defs")
    _reserved_pattern(definitions, prefix)
    for owner in patterns:
        if style(owner).pattern != "plain":
            _pattern(definitions, prefix, owner)
    for picture in pictures:
        _draw(root, picture, prefix)
    return root


def _draw(parent: ET.Element, item: Item, prefix: str) -> None:
    if isinstance(item, Group):
        group = ET.SubElement(parent, "g", {"class": item.frame.role})
        _draw_rect(group, item.frame, prefix)
        for inner in item.items:
            _draw(group, inner, prefix)
    elif isinstance(item, Rect):
        _draw_rect(parent, item, prefix)
    else:
        _draw_text(parent, item)


def _draw_rect(parent: ET.Element, rect: Rect, prefix: str) -> None:
    fill, line, dashes, radius = _LOOKS.get(rect.role, ("", "none", "", 1.0))
    if rect.role == "owner":
        plain = style(rect.owner).pattern == "plain"
        fill = style(rect.owner).colour if plain else f"url(#{prefix}-{rect.owner})"
    elif rect.role == "solid":
        fill, radius = style(rect.owner).colour, 2.0
    elif rect.role == "reserved":
        fill = f"url(#{prefix}-reserved)"
    found = {
        "x": _number(rect.x),
        "y": _number(rect.y),
        "width": _number(rect.width),
        "height": _number(rect.height),
        "fill": fill,
    }
    if radius:
        found["rx"] = _number(radius)
    if line != "none":
        found["stroke"] = line
    if dashes:
        found["stroke-dasharray"] = dashes
    if rect.role in _LOOKS:
        found["class"] = f"r-{rect.role}"
    drawn = ET.SubElement(parent, "rect", found)
    if rect.title:
        ET.SubElement(drawn, "title").text = rect.title


def _draw_text(parent: ET.Element, text: Text) -> None:
    fill = style(text.owner).text if text.ink == "owner" else _INKS[text.ink]
    found = {"x": _number(text.x), "y": _number(text.y), "font-size": _number(text.size), "fill": fill}
    if text.ink in _INKS:
        found["class"] = f"t-{text.ink}"
    if text.bold:
        found["font-weight"] = "bold"
    if text.anchor != "start":
        found["text-anchor"] = text.anchor
    ET.SubElement(parent, "text", found).text = text.text


def _pattern(parent: ET.Element, prefix: str, owner: int) -> None:
    look = style(owner)
    tile = _tile(parent, f"{prefix}-{owner}", look.colour)
    line = {"d": _TILES[look.pattern], "stroke": look.text, "stroke-opacity": "0.55", "fill": "none"}
    line |= (
        {"stroke-width": "1.8", "stroke-linecap": "round"}
        if look.pattern == "dots"
        else {"stroke-width": "1.1"}
    )
    ET.SubElement(tile, "path", line)


def _reserved_pattern(parent: ET.Element, prefix: str) -> None:
    tile = _tile(parent, f"{prefix}-reserved", "#ffffff")
    lines = f"{_TILES['rising']} {_TILES['falling']}"
    ET.SubElement(tile, "path", {"d": lines, "stroke": "#8b929c", "stroke-width": "0.8", "fill": "none"})


def _tile(parent: ET.Element, name: str, colour: str) -> ET.Element:
    size = {"width": "6", "height": "6"}
    tile = ET.SubElement(parent, "pattern", {"id": name, "patternUnits": "userSpaceOnUse", **size})
    ET.SubElement(tile, "rect", {**size, "fill": colour})
    return tile


def _rects(item: Item) -> Iterator[Rect]:
    if isinstance(item, Rect):
        yield item
    elif isinstance(item, Group):
        yield item.frame
        yield from _all_rects(item.items)


def _all_rects(items: Iterable[Item]) -> Iterator[Rect]:
    for item in items:
        yield from _rects(item)


def _number(value: float) -> str:
    """At most two decimals: 12, 12.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
