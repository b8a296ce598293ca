"""Readers of YAML that know nothing of each other: libyaml and PyYAML (1.1), ruamel.yaml (1.2)."""

import io
from collections.abc import Callable
from typing import Any

import yaml
from ruamel.yaml import YAML


def read_1_2(text: str) -> Any:
    """The document as YAML 1.2 has it."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(io.StringIO(text))


READERS: dict[str, Callable[[str], Any]] = {
    "PyYAML, 1.1": lambda text: yaml.load(text, Loader=yaml.SafeLoader),
    "libyaml, 1.1": lambda text: yaml.load(text, Loader=yaml.CSafeLoader),
    "ruamel.yaml, 1.2": read_1_2,
}


def read(text: str) -> Any:
    """The one document of a text, which all readers must find the same in."""
    found = [reader(text) for reader in READERS.values()]
    assert all(each == found[0] for each in found)
    return found[0]
