"""What became of a launcher, for people: what is open comes first, what went well last.

The same sections as text for a terminal and as Markdown.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct, structs, to_builtins

from hpclaunch.report.conversion_ends import difference_cells, difference_lines, hints
from hpclaunch.report.conversion_words import cell, code, cut, escaped, plain, table, wrapped
from hpclaunch.values.conversion import Conversion, Finding, LaunchFact, Place, base_names, with_base_names

_MOST_PLACES = 4


_MOST_FINDINGS = 200  # of a section


_WIDEST_KEY = 56


_LINES_OF_TEXT = 46  # of a place beside a carried value


_LAUNCH = ("FACT", "TOLD", "LINES")


class _Section(Struct, frozen=True):
    """A part of the report. `brief`: one line for each finding is enough."""

    title: str
    note: str
    findings: tuple[Finding, ...]
    brief: bool = False


def text(conversion: Conversion, site: str = "") -> str:
    """The report for a terminal. `site` is the name under which hints are shown."""
    conversion, files = _by_base_names(conversion)
    head = (_headline(conversion), files, _summary(conversion))
    lines = [line for said in head for line in wrapped(plain(said), "")]
    if conversion.launch:
        lines += ["", "The launch", "", *table(_LAUNCH, list(map(_launch_row, conversion.launch)))]
    for section in _sections(conversion):
        lines += ["", f"{section.title} ({len(section.findings)})"]
        if section.note:
            lines += wrapped(section.note, "  ")
        lines.append("")
        first = section.findings[:_MOST_FINDINGS]
        lines += [*_rows(first), *_reasons(first)] if section.brief else _items(first)
        while lines[-1] == "":
            lines.pop()
        lines += [f"  {said}" for said in _more(section)]
    lines += difference_lines(conversion)
    for title, pasted in hints(conversion, site):
        lines += ["", title, *(f"  {line}" for line in pasted)]
    return "\n".join(lines) + "\n"


def markdown(conversion: Conversion, site: str = "") -> str:
    """The report as Markdown, for a merge request or a wiki."""
    conversion, files = _by_base_names(conversion)
    lines = ["# hpclaunch convert"]
    for said in (_headline(conversion), files, _summary(conversion)):
        lines += ["", cell(said)] if said else []
    if conversion.launch:
        lines += ["", "## The launch", "", "| fact | told | lines |", "| --- | --- | --- |"]
        lines += [f"| {' | '.join(map(cell, _launch_row(each)))} |" for each in conversion.launch]
    for section in _sections(conversion):
        lines += ["", f"## {section.title} ({len(section.findings)})", ""]
        if section.note:
            lines += [escaped(section.note), ""]
        first = section.findings[:_MOST_FINDINGS]
        if section.brief:
            lines += ["| job file | lines | from |", "| --- | --- | --- |"]
            lines += [f"| {' | '.join(cell(part) for part in row)} |" for row in map(_row, first)]
            lines += ["", *(f"- {escaped(said)}" for said in _why(first))]
        else:
            lines += [line for group in _groups(first) for line in _bullet(group)]
        lines += [line for said in _more(section) for line in ("", said)]
    lines += difference_cells(conversion)
    for title, pasted in hints(conversion, site):
        lines += ["", f"## {title}", "", "```yaml", *pasted, "```"]
    return "\n".join(lines) + "\n"


def for_json(conversion: Conversion) -> dict[str, Any]:
    """What the texts tell, with the names of files as they were given."""
    return {"is_complete": conversion.is_complete, **to_builtins(conversion)}


def _by_base_names(conversion: Conversion) -> tuple[Conversion, str]:
    """The conversion with the base names of files, and the line that has the whole names, if it takes one."""
    findings = conversion.findings
    of_launch = (each.places for each in conversion.launch)
    places = chain(conversion.known_by, *(each.places for each in findings), *of_launch)
    names = base_names(place.file for place in places)

    def brief(places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(structs.replace(place, file=names[place.file]) for place in places)

    renamed = with_base_names(names)

    def finding(each: Finding) -> Finding:
        what, became, why, todo = map(renamed, (each.what, each.became, each.why, each.todo))
        return structs.replace(each, places=brief(each.places), what=what, became=became, why=why, todo=todo)

    whole = sorted(name for name in names if names[name] != name)
    named = structs.replace(
        conversion,
        known_by=brief(conversion.known_by),
        refused=renamed(conversion.refused),
        findings=tuple(map(finding, findings)),
        launch=tuple(structs.replace(each, places=brief(each.places)) for each in conversion.launch),
    )
    return named, f"Files: {', '.join(whole)}." if whole else ""


def _sections(conversion: Conversion) -> Iterator[_Section]:
    def of(*kinds: str) -> tuple[Finding, ...]:
        return tuple(each for each in conversion.findings if each.kind in kinds)

    open_keys = tuple(each for each in of("question") if each.key)
    direct = tuple(each for each in of("carried") if each.became)
    by_way = tuple(each for each in of("carried") if not each.became)
    others = tuple(each for each in of("question") if not each.key)
    every = (
        _Section("Open questions", "The job cannot be submitted before these are answered.", open_keys),
        _Section("Not told by the input", "", others),
        _Section("Defects of the original", "", of("defect")),
        _Section("Not carried over", "", of("left")),
        _Section("Not understood", "", of("unread")),
        _Section("Done by hpclaunch now", "", of("replaced")),
        _Section("Assumed", "Defaults of the input count, since nothing else was given.", of("assumed")),
        _Section("Mended before reading", "", of("repaired")),
        _Section("Carried over", "", direct, brief=True),
        _Section("Carried by way of other lines", "", by_way),
        _Section("Without effect on the launch", "", of("without effect")),
    )
    yield from (section for section in every if section.findings)


def _more(section: _Section) -> Iterator[str]:
    """What is said instead of those that nobody would read to the end."""
    more = len(section.findings) - _MOST_FINDINGS
    if more > 0:
        yield f"and {more:,} more: --json has all of them"


def _headline(conversion: Conversion) -> str:
    by = f" (known by {_places(conversion.known_by)})" if conversion.known_by else ""
    if conversion.refused:
        read = f" Read as: {conversion.family}{by}." if by else ""
        return f"Not converted: {conversion.refused}.{read}"
    return f"Read as: {conversion.family}{by}."


def _summary(conversion: Conversion) -> str:
    """How many there are of each kind, as the sections below count them."""
    kinds = Counter(
        "not told" if each.kind == "question" and not each.key else each.kind for each in conversion.findings
    )
    said = [
        f"{kinds[kind]} {one if kinds[kind] == 1 else many}"
        for kind, one, many in (
            ("question", "open question", "open questions"),
            ("not told", "thing not told", "things not told"),
            ("defect", "defect of the original", "defects of the original"),
            ("left", "construct not carried over", "constructs not carried over"),
            ("unread", "not understood", "not understood"),
            ("replaced", "done by hpclaunch now", "done by hpclaunch now"),
            ("carried", "carried over", "carried over"),
        )
        if kinds[kind]
    ]
    if not conversion.refused:
        said.append(f"and the job file is {'complete' if conversion.is_complete else 'not complete'}")
    return f"{', '.join(said)}."


def _items(findings: Sequence[Finding]) -> Iterator[str]:
    """Some lines for each finding; those with one reason stand above it together. An advice that several in a
    row share is given after the last."""
    groups = _groups(findings)
    for index, group in enumerate(groups):
        for each in group:
            yield from wrapped(f"{_places(each.places)}  {plain(_title(each))}", "  ", "      ")
        for said in _said(group[0]):
            yield from wrapped(plain(said), "      ")
        following = groups[index + 1][0].todo if index + 1 < len(groups) else ""
        todo = group[0].todo
        if todo and _advice(todo) != _advice(following):
            yield from wrapped(f"-> {plain(todo)}", "      ", "         ")
        yield ""


def _groups(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings with the same to say, in the order of the first of each."""
    found: dict[tuple[str, str, str] | int, list[Finding]] = {}
    for index, each in enumerate(findings):
        found.setdefault((each.became, each.why, each.todo) if each.why else index, []).append(each)
    return list(found.values())


def _title(finding: Finding) -> str:
    if finding.kind == "question" and finding.key and finding.what != finding.key:
        return f"{finding.key}: {finding.what}"
    return finding.what


def _said(finding: Finding) -> Iterator[str]:
    if finding.became:
        yield f"now: {finding.became}"
    if finding.why:
        yield finding.why


def _advice(todo: str) -> str:
    """The advice without the key that it is about."""
    return re.sub(r"--set \S+=", "--set KEY=", todo)


def _launch_row(fact: LaunchFact) -> tuple[str, str, str]:
    lines = _places(fact.places) or ("no line tells it" if fact.state == "default" else "")
    return fact.name, cut(plain(fact.told), _WIDEST_KEY), cut(lines, _LINES_OF_TEXT)


def _rows(findings: Sequence[Finding]) -> list[str]:
    return table(("JOB FILE", "LINES", "FROM"), list(map(_row, findings)))


def _reasons(findings: Sequence[Finding]) -> Iterator[str]:
    """What is said of carried values, below their table."""
    yield ""
    for said in _why(findings):
        yield from wrapped(said, "  ", "      ")


def _why(findings: Sequence[Finding]) -> Iterator[str]:
    """Each reason once, with the keys that it is about, and what is left to do."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in findings:
        if each.why:
            names = found.setdefault((each.why, each.todo), [])
            name = each.key or each.became.partition(":")[0]
            if name not in names:
                names.append(name)
    for (why, todo), names in found.items():
        listed = ", ".join(names[:_MOST_PLACES]) + (", ..." if len(names) > _MOST_PLACES else "")
        yield plain(f"{listed}: {why}{f' -> {todo}' if todo else ''}")


def _row(finding: Finding) -> tuple[str, str, str]:
    what = "" if finding.what == finding.key else finding.what
    return (
        cut(plain(finding.became), _WIDEST_KEY),
        cut(_places(finding.places), _LINES_OF_TEXT),
        cut(plain(what), _WIDEST_KEY),
    )


def _places(places: Sequence[Place]) -> str:
    """Lines, with the name of a file once."""
    shown: list[str] = []
    file = ""
    for place in places[:_MOST_PLACES]:
        whole = str(place)
        shown.append(whole.removeprefix(f"{file}:") if file and place.file == file and place.line else whole)
        file = place.file
    more = len(places) - _MOST_PLACES
    return plain(",".join(shown)) + (f" and {more} more" if more > 0 else "")


def _bullet(group: Sequence[Finding]) -> Iterator[str]:
    for index, each in enumerate(group):
        yield f"{'  <br>' if index else '- '}{code(_places(each.places))} {code(plain(_title(each)))}"
    for said in _said(group[0]):
        yield f"  <br>{escaped(plain(said))}"
    if group[0].todo:
        yield f"  <br>**To do:** {escaped(plain(group[0].todo))}"
