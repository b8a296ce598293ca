"""What stands at the end of the report of a conversion: the round trip, and hints to paste."""

from collections.abc import Iterator
from typing import Any

from hpclaunch.report.conversion_words import cell, cut, plain, table, wrapped
from hpclaunch.values.conversion import Conversion
from hpclaunch.values.yamltext import flow, in_flow

_Keys = dict[str, dict[str, Any]]


def hints(conversion: Conversion, site: str) -> Iterator[tuple[str, list[str]]]:
    """YAML to paste under its titles: what is about a person goes into the job, all else into a site."""
    people: _Keys = {}
    others: _Keys = {}
    for key, what in conversion.hints.items():
        *above, last = key.split(".", 2)
        holder = others if above else people
        for part in above:
            holder = holder.setdefault(part, {})
        holder[last] = what
    if people:
        yield "For the job file, to paste", ["sites:", *_pasted({site or "SITE": people}, "  ")]
    if others:
        of_nodes = others.pop("node_types", {})
        lines = list(_pasted(others, ""))
        if of_nodes:
            lines += ["node_types:  # of the nodes that are meant", f"  - {flow(of_nodes)}"]
        yield "For the site file, to paste into the keys that it has", lines


def _pasted(keys: _Keys, indent: str) -> Iterator[str]:
    """Two levels of keys, and what is below on one line."""
    for key, below in keys.items():
        yield f"{indent}{in_flow(key)}:"
        for each, what in below.items():
            yield f"{indent}  {in_flow(each)}: {flow(what)}"


_ALONE = "The run alone is compared: of trials, steps and staged data the lines above tell what became."


def difference_lines(conversion: Conversion) -> list[str]:
    """The round trip for a terminal."""
    if conversion.not_compared:
        return ["", *wrapped(plain(f"Round trip: not compared: {conversion.not_compared}."), "")]
    if conversion.differences is None:
        return []
    lines = ["", "Round trip: the original beside what `hpclaunch render` makes of the job file"]
    lines += wrapped(_ALONE, "  ")
    if not conversion.differences:
        return [*lines, "  the same launch"]
    rows = [
        (cut(plain(each.what), 40), cut(plain(each.a), 30), cut(plain(each.b), 30), plain(each.why))
        for each in conversion.differences
    ]
    return [*lines, *table(("WHAT", "ORIGINAL", "JOB FILE", "WHY"), rows)]


def difference_cells(conversion: Conversion) -> list[str]:
    """The round trip as Markdown."""
    if conversion.not_compared:
        return ["", "## Round trip", "", cell(f"Not compared: {conversion.not_compared}.")]
    if conversion.differences is None:
        return []
    rows = [
        f"| {' | '.join(map(cell, (each.what, each.a, each.b, each.why)))} |"
        for each in conversion.differences
    ]
    return [
        "",
        "## Round trip",
        "",
        cell(_ALONE),
        "",
        "| what | original | job file | why |",
        "| --- | --- | --- | --- |",
        *rows,
    ]
