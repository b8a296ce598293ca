"""The options that a release of Pyxis has, from the table in plan/data/pyxis.yaml."""

from functools import lru_cache
from importlib.resources import files

import msgspec
from msgspec import Struct


class PyxisOption(Struct, frozen=True, forbid_unknown_fields=True):
    """An option of srun that Pyxis registers; the table itself says what each field means."""

    name: str
    since: str
    argument: bool = False
    repeats: bool = False
    negates: str = ""


class PyxisFeature(Struct, frozen=True, forbid_unknown_fields=True):
    """Something other than an option that came with a release."""

    name: str
    since: str
    what: str


class PyxisTable(Struct, frozen=True, forbid_unknown_fields=True):
    options: tuple[PyxisOption, ...]
    features: tuple[PyxisFeature, ...]


def number(version: str) -> tuple[int, ...]:
    """A version for comparing: "0.20.0" is (0, 20, 0). ValueError: not numbers and dots."""
    parts = version.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{version!r} is not a version such as 0.20.0")
    return tuple(map(int, parts)) + (0,) * (3 - len(parts))


@lru_cache(maxsize=1)
def table() -> PyxisTable:
    """The whole table, read once."""
    import yaml

    text = (files("hpclaunch.plan") / "data" / "pyxis.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), PyxisTable)


def options(version: str) -> tuple[PyxisOption, ...]:
    """The options that this release registers. Raises ValueError for a malformed version."""
    return tuple(option for option in table().options if number(option.since) <= number(version))


def has(feature: str, version: str) -> bool:
    """Whether this release has a feature. Raises KeyError for a feature that the table does not name."""
    since = {entry.name: entry.since for entry in table().features}[feature]
    return number(since) <= number(version)
