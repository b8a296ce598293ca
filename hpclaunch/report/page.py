"""A plan as one page of HTML that needs no other file and no network: for a colleague, or for the record."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from hpclaunch.report import layout, picture, ranks, svg
from hpclaunch.report.origins import Row
from hpclaunch.report.style import style
from hpclaunch.report.text import printable
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.outline import Outline

_STYLE = Path(__file__).with_name("page.css")
# Nothing is loaded and nothing runs, whatever a value in the page says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
ENVIRONMENT = "env."  # how the variables' names begin among the origins


def page(plan: LaunchPlan, machines: Sequence[Outline], origins: Sequence[Row], script: str) -> str:
    """The page: pictures, ranks, where each value came from, warnings, and the script that is submitted.
    `machines` has the outline of each shape of node."""
    common = plan.common
    title = printable(f"{common.name} on {plan.site}")
    root = ET.Element("html", {"lang": "en"})
    head = ET.SubElement(root, "head")
    ET.SubElement(head, "meta", {"charset": "utf-8"})
    ET.SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY})
    ET.SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
    ET.SubElement(head, "title").text = title
    ET.SubElement(head, "style").text = _STYLE.read_text("utf-8")
    body = ET.SubElement(root, "body")
    ET.SubElement(body, "h1").text = title
    _warnings(body, plan.warnings)
    for name, width in (("wide", layout.WIDE), ("narrow", layout.NARROW)):
        holder = ET.SubElement(body, "div", {"class": name})
        holder.append(svg.element(picture.of_plan(plan, machines, width, named=False), name))
    names = [group.name for group in common.groups.members] if plan.parts and common.groups else [""]
    for name, each in zip(names, plan.each, strict=True):
        for shape in each.common.shapes:
            several = f": {shape.node_type}, {shape.hosts}" if len(each.common.shapes) > 1 else ""
            group = f" of group {name}" if name else ""
            ET.SubElement(body, "h2").text = printable(f"Ranks of one node{group}{several}")
            _table(body, ranks.HEADER, ranks.rows(each, shape), coloured=each.common.whole_node)
    variables = [row for row in origins if row[0].startswith(ENVIRONMENT)]
    ET.SubElement(body, "h2").text = "Where each value came from"
    _table(body, ("what", "value", "from"), [row for row in origins if row not in variables])
    ET.SubElement(body, "h2").text = "Environment of a rank"
    named = [(name[len(ENVIRONMENT) :], value, place) for name, value, place in variables]
    _table(body, ("variable", "value", "from"), named)
    ET.SubElement(body, "h2").text = "Script"
    details = ET.SubElement(body, "details", {"open": ""})
    ET.SubElement(details, "summary").text = "What submit sends"
    holder = ET.SubElement(details, "div", {"class": "scroll"})
    # HTML drops the first line break of a <pre>.
    ET.SubElement(holder, "pre").text = "\n" + _text(script)
    return "<!doctype html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def _warnings(body: ET.Element, warnings: Sequence[str]) -> None:
    if warnings:
        items = ET.SubElement(body, "ul", {"class": "warnings"})
        for warning in warnings:
            ET.SubElement(items, "li").text = printable(warning)


def _table(
    body: ET.Element, header: Sequence[str], rows: Iterable[Sequence[str]], coloured: bool = False
) -> None:
    """A table; `coloured` gives its first column the colours of the pictures."""
    table = ET.SubElement(ET.SubElement(body, "div", {"class": "scroll"}), "table")
    line = ET.SubElement(ET.SubElement(table, "thead"), "tr")
    for name in header:
        ET.SubElement(line, "th", {"scope": "col"}).text = name
    inner = ET.SubElement(table, "tbody")
    for index, row in enumerate(rows):
        line = ET.SubElement(inner, "tr")
        for name, cell in zip(header, row, strict=True):
            found = ET.SubElement(line, "td", {"class": name} if name in ("value", "from") else {})
            if coloured and name == header[0]:
                look = style(index)
                found.set("style", f"background:{look.colour};color:{look.text};font-weight:bold")
            found.text = _text(cell)


def _text(text: str) -> str:
    """With its line breaks and tabs as they are."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
