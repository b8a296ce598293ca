"""What is wrong with text that is not YAML, in the words of somebody who writes a job file."""

import re

from yaml.error import MarkedYAMLError

from hpclaunch.spec.source import position
from hpclaunch.values.errors import Problem

_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ALIAS = 'YAML takes *NAME for an alias, and there is no anchor &NAME: put the value in "quotes"'
_ADVICE = (
    ("'\\t'", "a tab in the indentation: YAML wants spaces"),
    ("undefined alias", _ALIAS),
    ("scanning an alias", _ALIAS),
    ("duplicate anchor", "an anchor (&NAME) stands twice"),
    ("single document", "more than one YAML document (`---`); write one document to a file"),
    ("mapping values are not allowed", 'a ": " where no key can stand: put the value in "quotes"'),
    ("cannot start any token", 'a value cannot begin with this character: put it in "quotes"'),
    ("found unexpected end of stream", "a quote that was opened is not closed"),
    ("could not find expected ':'", 'a line that is not "key: value"'),
    ("expected ',' or", "a list [ ] or map { } is not closed, or a comma is missing"),
    (
        "expected node content",
        "a value is missing: a list [ ] or map { } is not closed, or text needs quotes",
    ),
    ("did not find expected key", "wrong indentation or quoting: a key was expected"),
    ("did not find expected '-'", "wrong indentation: a list entry (- ...) was expected"),
    ("undefined tag handle", 'YAML takes !NAME for a tag: put the value in "quotes"'),
)


def syntax_problem(error: Exception, text: str, file: str, kind: str) -> Problem:
    """The problem behind an error of the YAML parser. Its own words stand behind ours, in brackets."""
    found = _FORBIDDEN.search(text)
    if found:
        code = ord(found[0])
        message = f'the control character U+{code:04X}: write it as "\\u{code:04x}" in double quotes'
        return Problem(message, kind, (), f"{file}:{position(text[: found.start()])}")
    if not isinstance(error, MarkedYAMLError):
        return Problem(f"not YAML: {error}", kind, (), file)
    spot = error.problem_mark or error.context_mark
    place = f"{file}:{spot.line + 1}:{spot.column + 1}" if spot else file
    said = " ".join(part for part in (error.context, error.problem) if part)
    lines = text.splitlines()
    if spot and spot.line < len(lines) and "\t" in _indentation(lines[spot.line]):
        said += " '\\t'"
    for words, advice in _ADVICE:
        if words in said:
            return Problem(f"{advice} ({error.problem})", kind, (), place)
    return Problem(f"not YAML: {said}", kind, (), place)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
