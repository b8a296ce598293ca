"""Texts of others in the report of a conversion: in one line, cut, in a table, in Markdown."""

import re
import textwrap
from collections.abc import Sequence

from hpclaunch.report.table import aligned
from hpclaunch.report.text import printable

_WIDTH = 100


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns below a header, indented."""
    return textwrap.indent(aligned(header, rows), "  ").splitlines()


def wrapped(said: str, indent: str, further: str | None = None) -> list[str]:
    """The text in lines of the report's width; `further` is the indent of all but the first."""
    return textwrap.wrap(
        said,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def plain(said: str) -> str:
    """One line, with nothing in it that turns a terminal around."""
    return printable(" ".join(said.split()))


def cut(said: str, width: int) -> str:
    """The text, no longer than this."""
    return said if len(said) <= width else f"{said[: width - 3]}..."


def cell(said: str) -> str:
    """A cell of a table in Markdown."""
    return escaped(plain(said))


def code(said: str) -> str:
    """Text as code in Markdown, whatever backticks it has."""
    runs = re.findall("`+", said)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    return f"{fence} {said} {fence}" if runs else f"{fence}{said}{fence}"


def escaped(said: str) -> str:
    """What Markdown or HTML would read as its own."""
    return re.sub(r"([\\`*_\[\]<>|&])", r"\\\1", said)
