"""The page of a plan: whole, by itself, and nothing in a value becomes a part of it."""

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from made_plans import planned

from hpclaunch.render import script
from hpclaunch.report.page import page

# HTML's elements without an end (HTML Standard, "void elements").
VOID = {"meta", "br", "hr", "img", "input", "link", "source", "col", "wbr"}
HOSTILE = (
    '</pre></script><script>alert(1)</script><img src="http://x.invalid/y" onerror=alert(1)>'
    "&amp;\t\"'\x1b]0;t"
)


class Reader(HTMLParser):
    """Collects what is there, and fails where elements are not nested."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.text: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open:
            assert not data.strip()
            return
        if self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


def read(text: str) -> Reader:
    assert text.startswith("<!doctype html>\n")
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture
def hostile() -> tuple[Reader, str]:
    plan, machines = planned("dgx-a100", env={"TITLE": HOSTILE}, command=("echo", HOSTILE))
    rendered = script.render(plan)
    rows = [("nodes", "2", f"{HOSTILE}.yaml:3"), ("env.TITLE", HOSTILE, "job.yaml:9")]
    return read(page(plan, machines, rows, rendered)), rendered


def test_no_value_becomes_a_part_of_the_page(hostile: tuple[Reader, str]) -> None:
    reader, _ = hostile
    allowed = {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li", "div", "table"),
        *("thead", "tbody", "tr", "th", "td", "details", "summary", "pre"),
        *("svg", "defs", "pattern", "path", "g", "rect", "text"),
    }
    assert set(reader.found) <= allowed
    assert not [
        name for _, name, _ in reader.attributes if name in ("src", "href", "srcset") or name[:2] == "on"
    ]


def test_nothing_is_loaded(hostile: tuple[Reader, str]) -> None:
    reader, _ = hostile
    values = [value for _, _, value in reader.attributes] + [reader.text["style"]]
    urls = [url for value in values for url in re.findall(r"url\(([^)]*)\)|(https?:)|@import", value)]
    assert all(local.startswith("#") for local, _ in urls)
    policies = [value for tag, name, value in reader.attributes if tag == "meta" and name == "content"]
    assert any("default-src 'none'" in value for value in policies)


def test_the_script_is_the_one_that_is_submitted(hostile: tuple[Reader, str]) -> None:
    reader, rendered = hostile
    assert "<script>alert(1)</script>" in rendered
    # The parser of the standard library leaves the line break after <pre>, which a browser drops.
    assert reader.text["pre"] == "\n" + rendered.replace("\x1b", "␛")


def test_the_tables(hostile: tuple[Reader, str]) -> None:
    reader, _ = hostile
    ranks, values, environment = reader.tables
    assert ranks[0] == ["local rank", "cores", "memory", "GPU", "HCA"]
    assert ranks[4] == ["3", "24-31,152-159", "1", "3", "mlx5_3"]
    assert len(ranks) == 9
    shown = HOSTILE.replace("\x1b", "␛")
    assert values[1:] == [["nodes", "2", f"{shown}.yaml:3"]]
    assert environment[1:] == [["TITLE", shown, "job.yaml:9"]]


def test_the_pictures_on_a_page_have_names_of_their_own(hostile: tuple[Reader, str]) -> None:
    reader, _ = hostile
    names = [value for _, name, value in reader.attributes if name == "id"]
    assert len(names) == len(set(names))
    used = {
        value[5:-1] for _, name, value in reader.attributes if name == "fill" and value.startswith("url(#")
    }
    assert used <= set(names)
    assert reader.found["svg"] == 2  # one for a screen, one for a phone
