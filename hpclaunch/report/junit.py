"""Ends of jobs as JUnit XML, in the form that pytest writes and GitLab and Jenkins read: `testsuites`, in it
`testsuite`, and in that `testcase` with at most one of `failure` and `error`."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from msgspec import Struct

from hpclaunch.values.job import State

# What the job itself did; every other end is somebody else's, an error of the test and not its failure.
_OWN: frozenset[State] = frozenset(("FAILED", "OUT_OF_MEMORY", "TIMEOUT"))
# Characters that XML 1.0 has no form for.
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(Struct, frozen=True):
    """One run. `said` is why it did not complete, and `output` the end of what it wrote."""

    name: str
    state: State
    said: str = ""
    cause: str = ""
    seconds: float = 0.0
    output: str = ""


def document(suite: str, site: str, cases: Sequence[Case]) -> str:
    """The text of the file."""
    failures = sum(case.state in _OWN for case in cases)
    errors = sum(case.state != "COMPLETED" for case in cases) - failures
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors), "skipped": "0"}
    time = {"time": f"{sum(case.seconds for case in cases):.3f}"}
    root = ElementTree.Element("testsuites", {"name": _plain(suite), **counts, **time})
    of_suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(suite), **counts, **time})
    for case in cases:
        named = {"classname": _plain(f"{site}.{suite}"), "name": _plain(case.name)}
        element = ElementTree.SubElement(of_suite, "testcase", {**named, "time": f"{case.seconds:.3f}"})
        if case.state != "COMPLETED":
            told = {"message": _plain(case.said), "type": _plain(case.cause or case.state)}
            kind = "failure" if case.state in _OWN else "error"
            ElementTree.SubElement(element, kind, told).text = _plain(case.output or case.said)
        if case.output:
            ElementTree.SubElement(element, "system-out").text = _plain(case.output)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _plain(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
