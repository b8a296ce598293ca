"""Where documents that are known by name are found: site files, and node types in the same way."""

import os
from collections.abc import Sequence

import hpclaunch

_ENDINGS = (".yaml", ".yml")


def is_path(name: str) -> bool:
    """Is this the path of a file, and not a name to search for?"""
    return "/" in name or name.endswith(_ENDINGS)


def folders(kind: str, variable: str, shipped: str) -> list[str]:
    """The folders in which a name is searched, the first first: those that the environment's `variable`
    lists as $PATH does, hpclaunch/`kind` in the user's and the system's configuration folders, and
    `shipped`. They need not exist."""
    environment = os.environ
    own = [folder for folder in environment.get(variable, "").split(os.pathsep) if folder]
    home = environment.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    system = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    configured = [os.path.join(base, "hpclaunch", kind) for base in (home, *system, "/etc") if base]
    return [*own, *dict.fromkeys(configured), shipped]


def candidates(name: str, places: Sequence[str]) -> list[str]:
    """The files in these folders that a name can mean, the one that wins first."""
    paths = [os.path.join(folder, name + ending) for folder in places for ending in _ENDINGS]
    return [path for path in paths if os.path.exists(path)]


def by_name(places: Sequence[str]) -> dict[str, str]:
    """Name -> file of all that can be named, sorted. Where two folders have a name, the first wins."""
    found: dict[str, str] = {}
    for folder in places:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue  # a folder that is not there, or that we may not read, offers nothing
        for file in names:
            stem, ending = os.path.splitext(file)
            if ending in _ENDINGS and not stem.startswith("."):
                found.setdefault(stem, os.path.join(folder, file))
    return dict(sorted(found.items()))


def site_folders() -> list[str]:
    """The folders in which a site's name is searched, the first first."""
    return folders("sites", "HPCLAUNCH_SITES", shipped_sites())


def shipped_sites() -> str:
    """The folder of the sites that ship with hpclaunch: inside the wheel, or in a checkout beside the
    package. The folder need not exist."""
    package = os.path.dirname(os.path.abspath(hpclaunch.__file__))
    checkout = os.path.dirname(package)
    inside = os.path.join(package, "_data", "site-configs")
    if not os.path.isdir(inside) and os.path.isfile(os.path.join(checkout, "pyproject.toml")):
        return os.path.join(checkout, "site-configs")
    return inside
