"""What copying from a page, a PDF or an editor does to the characters of YAML, undone."""

import html
import re
from collections.abc import Callable, Sequence

from hpclaunch.convert.manifests.text.lines import Line, Note

Edit = Callable[[str], str]

_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028\u2029\u2060\ufeff\x0b\x0c\x85]")
_TAG = re.compile(r"</?(?:pre|code|p|br|span|div|li|ul|td|tr)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_FENCE = re.compile(r"(?:```|~~~) ?\w*")
_NUMBERED = re.compile(r"\s*(\d{1,5})(?: \d{1,5})?(?:[:|.)](?=\s|$)|(?=\s)|$)[ \t]?(.*)")
_BULLET = re.compile("^(\\s*)[•‣◦·●▪\u2010-\u2015\u2212*](\\s+)(?=\\S)|^(\\s*)[•‣◦●▪](?=\\S)")
_DASHES = re.compile("^\\s*[-\u2010-\u2015\u2212]{1,5}\\s*$")
_OPTION = re.compile("(?<![^\\s\"'\\[,=])([\u2010-\u2015\u2212])(?=[A-Za-z-])")
_DOUBLE = "\u201c-\u201f\u2033\u00ab\u00bb"
_SINGLE = "\u2018-\u201b\u2032"
_QUOTED = tuple(
    re.compile(f"((?:^|[:\\-]\\s|[\\[{{,])\\s*)[{kind}]([^{kind}{mark}]*)[{kind}](?=\\s*(?:[,\\]}}#]|$))")
    for kind, mark in ((_DOUBLE, '"'), (_SINGLE, "'"))
)
_NEAR = 20  # lines
_MARKS = ('"', "'")
_JOINED = re.compile(r"""^(\s*(?:- )?[\w./-]+:\s+(?:"[^"]*"|'[^']*'))\s+- ([\w./-]+:(?:\s.*)?)$""")
_OMITTED = frozenset(("[...]", "[…]", "…", "(...)", "(…)", "- [...]", "- …", "<snip>"))
_BEGINS = re.compile(r"""\s*["']?(apiVersion|kind)["']?\s*:""")


def plain(lines: Sequence[Line]) -> tuple[list[Line], list[Note]]:
    """What may be done to any manifest, since no YAML means it."""
    notes: list[Note] = []
    found = list(lines)
    found = _edited(found, notes, _no_invisible, "characters that nobody sees", "left out")
    if any(_TAG.search(line.text) for line in found) and _has_pre(found):
        found = _edited(found, notes, _no_tags, "tags of HTML", "left out")
    found = _without(found, notes, _is_fence, "the fence of a code block", "left out")
    found = _numbers(found, notes)
    found = _edited(found, notes, _spaces, "spaces of another kind (U+00A0 and the like)", "spaces")
    found = _edited(found, notes, _quotes, "typographic quotes around a value", "straight ones")
    found = _edited(
        found, notes, lambda text: _OPTION.sub(_hyphen, text), "a typographic dash before an option", "-"
    )
    return found, notes


def structural(lines: Sequence[Line], keys: frozenset[str]) -> tuple[list[Line], list[Note]]:
    """What is done to a text that is no YAML as it stands. `keys` are those that the API has."""
    notes: list[Note] = []
    found = list(lines)
    found = _edited(found, notes, _tabs, "tabs in the indentation", "spaces")
    found = _edited(found, notes, _all_quotes, "typographic quotes", "straight ones")
    found = _edited(found, notes, _bullets, "a bullet or a dash of a text", "the - of a list")
    found = _separators(found, notes)
    found = _edited(
        found, notes, lambda text: _colon(text, keys), "no space behind the colon of a key", "one space"
    )
    return _split(found, notes), notes


def omissions(lines: Sequence[Line]) -> tuple[list[Line], tuple[int, ...]]:
    """Without the lines where a text says that it leaves something out ([...]), and their numbers."""
    kept = [line for line in lines if line.text.strip() not in _OMITTED]
    gone = tuple(line.number for line in lines if line.text.strip() in _OMITTED)
    return kept, gone


def _edited(lines: list[Line], notes: list[Note], edit: Edit, what: str, became: str) -> list[Line]:
    found, numbers = [], []
    for line in lines:
        text = edit(line.text)
        if text != line.text:
            numbers.append(line.number)
            line = Line(line.number, text)
        found.append(line)
    if numbers:
        notes.append(Note(what, became, tuple(numbers)))
    return found


def _without(
    lines: list[Line], notes: list[Note], is_gone: Callable[[str], bool], what: str, became: str
) -> list[Line]:
    kept = [line for line in lines if not is_gone(line.text)]
    if len(kept) < len(lines):
        gone = {line.number for line in lines} - {line.number for line in kept}
        notes.append(Note(what, became, tuple(sorted(gone))))
    return kept


def _no_invisible(text: str) -> str:
    return _INVISIBLE.sub("", text)


def _has_pre(lines: Sequence[Line]) -> bool:
    return any(
        line.text.lstrip().lower().startswith(("<pre", "<code", "<p>", "<span")) for line in lines
    ) or any("<pre>" in line.text.lower() for line in lines)


def _no_tags(text: str) -> str:
    bare = _TAG.sub("", text)
    return html.unescape(bare) if bare != text else text


def _is_fence(text: str) -> bool:
    return _FENCE.fullmatch(text.strip()) is not None


def _numbers(lines: list[Line], notes: list[Note]) -> list[Line]:
    """A column of line numbers: each line that is not blank begins with one, and they grow."""
    found: list[Line] = []
    last = 0
    counted = 0
    for line in lines:
        if not line.text.strip():
            found.append(line)
            continue
        match = _NUMBERED.fullmatch(line.text)
        if match is None or int(match[1]) < last:
            return lines
        last = int(match[1])
        counted += 1
        found.append(Line(line.number, match[2]))
    if counted < 3:
        return lines
    notes.append(Note("a column of line numbers", "left out", tuple(line.number for line in found)))
    return found


def _spaces(text: str) -> str:
    return re.sub(f"[{_SPACES}]", " ", text).rstrip() if re.search(f"[{_SPACES}]", text) else text


def _quotes(text: str) -> str:
    for pattern, mark in zip(_QUOTED, _MARKS, strict=True):
        for _ in range(text.count("\n") + 8):
            changed = pattern.sub(rf"\g<1>{mark}\g<2>{mark}", text)
            if changed == text:
                break
            text = changed
    return text


def _all_quotes(text: str) -> str:
    return re.sub(f"[{_SINGLE}]", "'", re.sub(f"[{_DOUBLE}]", '"', text))


def _hyphen(match: re.Match[str]) -> str:
    return "--" if match[1] in "\u2014\u2015" else "-"


def _tabs(text: str) -> str:
    body = text.lstrip(" \t")
    indent = text[: len(text) - len(body)]
    if "\t" not in indent:
        return text
    # A tab alone is one step; behind spaces it goes to the next of the usual eight columns.
    return (indent.replace("\t", "  ") if " " not in indent else indent.expandtabs(8)) + body


def _bullets(text: str) -> str:
    match = _BULLET.match(text)
    if match is None:
        return text
    return f"{match[1] or match[3] or ''}-{match[2] or ' '}{text[match.end() :]}"


def _separators(lines: list[Line], notes: list[Note]) -> list[Line]:
    """A --- that lost a dash, or became another one: before a line with apiVersion or kind."""
    found, numbers = [], []
    for index, line in enumerate(lines):
        is_cut = _DASHES.match(line.text) and line.text.rstrip() != "---"
        if is_cut and _BEGINS.match(next_text(lines, index)):
            numbers.append(line.number)
            line = Line(line.number, "---")
        found.append(line)
    if numbers:
        notes.append(Note("a cut line between two objects", "---", tuple(numbers)))
    return found


def next_text(lines: Sequence[Line], index: int) -> str:
    """The next line with something on it, among those that are near."""
    near = lines[index + 1 : index + 1 + _NEAR]
    return next((line.text for line in near if not line.is_blank), "")


def _colon(text: str, keys: frozenset[str]) -> str:
    match = re.match(r"""^(\s*(?:- )*["']?([\w./-]+)["']?):(?=[^\s/:])""", text)
    if match is None or not (match[2] in keys or match[2].endswith("/gpu")):
        return text
    return f"{match[1]}: {text[match.end() :]}"


def _split(lines: list[Line], notes: list[Note]) -> list[Line]:
    """Two lines that became one: `value: "a" - name: b`."""
    found, numbers = [], []
    for line in lines:
        match = _JOINED.match(line.text)
        if match is None:
            found.append(line)
            continue
        numbers.append(line.number)
        indent = match[1][: len(match[1]) - len(match[1].lstrip())]
        found += [Line(line.number, match[1]), Line(line.number, f"{indent}- {match[2]}")]
    if numbers:
        notes.append(Note("two lines that became one", "two lines", tuple(numbers)))
    return found
