"""Launchers written for the tests, each with the job that it is: tests/convert/scripts/FAMILY/CASE/.

expected.yaml: `inputs` in the order of the command line; `env`, the operator's; `site` and `node_type`;
`job`, the whole job file with ASK for what is asked for; `findings` that there must be, each by its kind, a
line (or the file alone), a part of what it is about and of why; `lines`, those of a value of the job and no
others; `once`, options that one finding alone is about; `absent`, texts that stand nowhere;
`not_compared`, why there is no round trip at a site.
"""

import os
from typing import Any

import yaml

from hpclaunch.convert import conversion, inputs
from hpclaunch.convert.options import Options
from hpclaunch.topology import catalogue
from hpclaunch.values.conversion import Conversion

SCRIPTS = os.path.join(os.path.dirname(__file__), "scripts")
ASK = "ASK"


class _Loader(yaml.SafeLoader):
    """The job file as another reader sees it: every scalar is its text."""


def _asked(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return ASK if node.value.startswith("<ask: ") else node.value


_Loader.add_constructor("tag:yaml.org,2002:str", _asked)
_Loader.yaml_implicit_resolvers = {}


def cases(family: str) -> list[str]:
    """The names of the cases of a family."""
    return sorted(os.listdir(os.path.join(SCRIPTS, family)))


def folder(family: str, case: str) -> str:
    return os.path.join(SCRIPTS, family, case)


def expected(family: str, case: str) -> dict[str, Any]:
    """What is expected of a case, every scalar as its text."""
    with open(os.path.join(folder(family, case), "expected.yaml"), encoding="utf-8") as file:
        found = yaml.load(file, _Loader)  # noqa: S506  (a SafeLoader)
    assert isinstance(found, dict)
    return found


def converted(family: str, case: str, told: dict[str, Any]) -> Conversion:
    """The conversion of a case, with the names of its files alone in the findings."""
    names = [os.path.join(folder(family, case), name) for name in told["inputs"]]
    read = inputs.read_inputs(names)
    short = tuple(
        inputs.Input(os.path.basename(each.name), each.text, each.role, each.mended) for each in read
    )
    machine = catalogue.load(told["node_type"]).value if "node_type" in told else None
    return conversion.convert(short, Options(told.get("env", {}), machine, told.get("site", "")))


def loaded(job: str) -> dict[str, Any]:
    """A job file, every scalar as its text."""
    found = yaml.load(job, _Loader)  # noqa: S506
    assert isinstance(found, dict)
    found.pop("version")
    return found
