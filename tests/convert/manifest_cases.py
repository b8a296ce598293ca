"""A manifest converted, in the form that tests compare."""

from itertools import pairwise
from typing import Any

import yaml

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import text
from hpclaunch.values.conversion import Conversion, Place

FILE = "job.yaml"
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: c
    image: reg/x:1
    command: [bash, -c]
    args:
    - |
TEXT
    MORE
    resources: {limits: {nvidia.com/gpu: GPUS}}
"""


def converted(text: str, site: str = "") -> Draft:
    draft = Draft(site)
    convert([(FILE, text)], draft, Options({}, site=site))
    return draft


def of_shell(text: str, gpus: int, more: str = "") -> Draft:
    """A pod whose shell is given the text, with another line of its container."""
    block = "\n".join(f"      {line}" for line in text.split("\n"))
    return converted(_POD.replace("TEXT", block).replace("GPUS", str(gpus)).replace("MORE", more))


def lines(places: tuple[Place, ...]) -> Any:
    """31, "31-37", or a list of them."""
    found: list[Any] = [f"{each.line}-{each.last}" if each.last > each.line else each.line for each in places]
    return found[0] if len(found) == 1 else found


def job(draft: Draft) -> dict[str, list[Any]]:
    """Key -> value and lines."""
    return {".".join(map(str, key)): [fact.value, lines(fact.places)] for key, fact in draft.facts.items()}


def hints(draft: Draft) -> dict[str, Any]:
    """The hints as a reader of YAML gets them out of the report."""
    lines = text(Conversion("", "", "", (), draft.hints)).splitlines()
    titles = [number for number, line in enumerate(lines) if line.startswith("For the ")]
    found: dict[str, Any] = {}
    for start, end in pairwise([*titles, len(lines)]):
        for above, below in yaml.safe_load("\n".join(lines[start + 1 : end])).items():
            if above == "sites":
                found |= below["SITE"]
                continue
            (keys,) = below if above == "node_types" else (below,)
            for key, what in keys.items():
                nested = what.items() if (above, key) == ("kubernetes", "secrets") else ()
                found |= {f"{above}.{key}.{name}": each for name, each in nested}
                found |= {} if nested else {f"{above}.{key}": what}
    return found


def findings(draft: Draft) -> list[list[Any]]:
    return [[each.kind, lines(each.places), each.what] for each in draft.findings]
