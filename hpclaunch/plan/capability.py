"""What each version of Slurm and Pyxis can do, from the tables in `data/`."""

import os.path
from functools import cache
from typing import Any

import yaml

Version = tuple[int, ...]

# Not importlib.resources: importing that alone takes a tenth of what `hpclaunch render` may.
_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def version(text: str) -> Version:
    """ "0.20.0" is (0, 20, 0). The reader has checked the form."""
    return tuple(int(part) for part in text.split("."))


@cache
def _table(name: str) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(os.path.join(_DATA, name), encoding="utf-8") as file:
        return dict(loader(file).get_single_data())


@cache
def pyxis_since() -> dict[str, str]:
    """The version that brought each option of Pyxis: {"--container-image": "0.1.0", ...}."""
    return {f"--{option['name']}": option["since"] for option in _table("pyxis.yaml")["options"]}


@cache
def slurm_since() -> dict[str, str]:
    """The release that brought each option of Slurm that 20.11 did not have."""
    return dict(_table("slurm.yaml")["since"])


@cache
def breaks_masks() -> frozenset[str]:
    """The options of srun that do not go with CPU masks on a whole node."""
    return frozenset(_table("slurm.yaml")["breaks_masks"])


@cache
def set_by_submit() -> frozenset[str]:
    """The options of sbatch that a submission gives itself."""
    return frozenset(_table("slurm.yaml")["set_by_submit"])


def pyxis_has(option: str, site_version: str) -> bool:
    """Whether this version of Pyxis knows the option."""
    return version(pyxis_since()[option]) <= version(site_version)
