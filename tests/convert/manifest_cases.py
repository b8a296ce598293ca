"""A manifest converted, in the form that tests compare."""

from typing import Any

import yaml

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Place

FILE = "job.yaml"


def converted(text: str, site: str = "") -> Draft:
    draft = Draft()
    convert(FILE, text, draft, Options({}, site=site))
    return draft


def lines(places: tuple[Place, ...]) -> Any:
    """31, "31-37", or a list of them."""
    found: list[Any] = [f"{each.line}-{each.last}" if each.last > each.line else each.line for each in places]
    return found[0] if len(found) == 1 else found


def job(draft: Draft) -> dict[str, list[Any]]:
    """Key -> value and lines."""
    return {".".join(map(str, key)): [fact.value, lines(fact.places)] for key, fact in draft.facts.items()}


def hints(draft: Draft) -> dict[str, Any]:
    """The hints, read as the YAML of a site file."""
    return {key: yaml.safe_load(value) for key, value in draft.hints.items()}


def findings(draft: Draft) -> list[list[Any]]:
    return [[each.kind, lines(each.places), each.what] for each in draft.findings]
