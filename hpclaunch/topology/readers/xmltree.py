"""XML as a plain tree with line numbers, for captures that anybody may have written.

Expat itself, since ElementTree does not tell lines. Nothing is ever fetched, and a document that declares
entities is refused; a DOCTYPE that only names a DTD, as hwloc writes it, is passed over.
"""

from collections.abc import Iterator
from xml.parsers import expat

from msgspec import Struct, field

DEPTH = 200  # the deepest PCI trees have about 20 levels


class Element(Struct):
    """An element: its attributes, its children in order, the text directly in it, and its line from 1."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def get(self, name: str) -> str:
        """The attribute, "" where it is missing."""
        return self.attributes.get(name, "")

    def walk(self) -> Iterator["Element"]:
        """This element and all below it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.walk()


class NotXml(ValueError):
    """The text is not a whole, harmless XML document of that root; says why."""


def parse(text: str, root: str) -> Element:
    """The first element named `root` in the text, with all below it. What stands before and after it (an
    XML declaration, a shell prompt) is not looked at. Raises NotXml."""
    start, end = text.find(f"<{root}"), text.rfind(f"</{root}>")
    if start < 0:
        raise NotXml(f"there is no <{root}>")
    if end < 0:
        raise NotXml(f"it breaks off: </{root}> is missing")
    declared = text.find("<!ENTITY")
    if declared >= 0:
        line = text.count("\n", 0, declared) + 1
        raise NotXml(f"line {line}: it declares an entity; none is accepted")
    return _parse(text[start : end + len(root) + 3], text.count("\n", 0, start))


def _parse(text: str, lines_before: int) -> Element:
    top = Element("", {}, 0)
    stack = [top]
    parser = expat.ParserCreate()
    parser.buffer_text = True  # else one call for each line of text

    def line() -> int:
        return lines_before + parser.CurrentLineNumber

    def opened(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > DEPTH:
            raise NotXml(f"line {line()}: more than {DEPTH} levels")
        element = Element(tag, attributes, line())
        stack[-1].children.append(element)
        stack.append(element)

    def closed(tag: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        stack[-1].text += data

    def doctype(*_: object) -> None:
        raise NotXml(f"line {line()}: a DOCTYPE inside the document")

    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise NotXml(f"line {lines_before + error.lineno}: {expat.ErrorString(error.code)}") from None
    return top.children[0]
