"""The readers of the tables in `data/`, which say what their fields mean."""

import os.path
from functools import cache
from typing import Any

import msgspec
import yaml
from msgspec import Struct

Version = tuple[int, ...]

# Not importlib.resources: importing that alone takes a tenth of what `hpclaunch render` may.
_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


class PyxisOption(Struct, frozen=True, forbid_unknown_fields=True):
    """An option of srun that Pyxis registers, without its dashes."""

    name: str
    since: str
    argument: bool = False
    repeats: bool = False
    negates: str = ""


class _Pyxis(Struct, frozen=True, forbid_unknown_fields=True):
    options: tuple[PyxisOption, ...]
    features: dict[str, str]


class _Slurm(Struct, frozen=True, forbid_unknown_fields=True):
    since: dict[str, str]
    breaks_masks: frozenset[str]
    set_by_submit: frozenset[str]
    not_on_the_step: frozenset[str]
    whole_names: frozenset[str]
    features: dict[str, str]


def version(text: str) -> Version:
    """ "0.20.0" is (0, 20, 0). Whoever read it from a user has checked the form."""
    return tuple(int(part) for part in text.split("."))


def read(name: str) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(os.path.join(_DATA, name), encoding="utf-8") as file:
        return loader(file).get_single_data()


@cache
def _pyxis() -> _Pyxis:
    return msgspec.convert(read("pyxis.yaml"), _Pyxis)


@cache
def _slurm() -> _Slurm:
    return msgspec.convert(read("slurm.yaml"), _Slurm)


@cache
def pyxis_since() -> dict[str, str]:
    """The version that brought each option of Pyxis: {"--container-image": "0.1.0", ...}."""
    return {f"--{option.name}": option.since for option in _pyxis().options}


def pyxis_has(option: str, site_version: str) -> bool:
    """Whether this version of Pyxis knows the option, as in "--container-env"."""
    return version(pyxis_since()[option]) <= version(site_version)


def pyxis_options(site_version: str) -> tuple[PyxisOption, ...]:
    """The options that this version of Pyxis registers."""
    known = version(site_version)
    return tuple(option for option in _pyxis().options if version(option.since) <= known)


def pyxis_feature_since(feature: str) -> str:
    """The version that brought something other than an option. KeyError: the table does not name it."""
    return _pyxis().features[feature]


def pyxis_has_feature(feature: str, site_version: str) -> bool:
    """Whether this version of Pyxis has something other than an option."""
    return version(pyxis_feature_since(feature)) <= version(site_version)


def slurm_since() -> dict[str, str]:
    """The release that brought each option of Slurm that 20.11 did not have."""
    return _slurm().since


def slurm_feature_since(feature: str) -> str:
    """The release that brought something other than an option. KeyError: the table does not name it."""
    return _slurm().features[feature]


def slurm_has_feature(feature: str, site_version: str) -> bool:
    """Whether this release has something other than an option."""
    return version(slurm_feature_since(feature)) <= version(site_version)


def breaks_masks() -> frozenset[str]:
    """The options of srun that do not go with CPU masks on a whole node."""
    return _slurm().breaks_masks


def set_by_submit() -> frozenset[str]:
    """The options of sbatch that a submission gives itself, or cannot have."""
    return _slurm().set_by_submit


def not_on_the_step() -> frozenset[str]:
    """The options of srun that keep a job's ranks from starting or their end from being known."""
    return _slurm().not_on_the_step


def means(text: str, options: frozenset[str]) -> bool:
    """Whether an option as written is one of `options`, in full or cut short as getopt allows."""
    if text in options or text in _slurm().whole_names or not text.startswith("--"):
        return text in options
    return any(option.startswith(text) for option in options)
