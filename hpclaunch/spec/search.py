"""Where files that are known by name are found: site files, and what ships with hpclaunch."""

import os
from typing import NamedTuple

import hpclaunch

_ENDINGS = (".yaml", ".yml")


class SiteFile(NamedTuple):
    """A site that can be named."""

    name: str
    file: str


def shipped(kind: str) -> str:
    """The folder of `kind` ("site-configs", "examples") that ships with hpclaunch: inside the wheel, or in a
    checkout beside the package. The folder need not exist."""
    package = os.path.dirname(os.path.abspath(hpclaunch.__file__))
    checkout = os.path.dirname(package)
    inside = os.path.join(package, "_data", kind)
    if not os.path.isdir(inside) and os.path.isfile(os.path.join(checkout, "pyproject.toml")):
        return os.path.join(checkout, kind)
    return inside


def is_path(name: str) -> bool:
    """Is this the path of a file, and not a name to search for?"""
    return "/" in name or name.endswith(_ENDINGS)


def site_folders() -> list[str]:
    """The folders in which a site's name is searched, the first first."""
    environment = os.environ
    own = [folder for folder in environment.get("HPCLAUNCH_SITES", "").split(os.pathsep) if folder]
    home = environment.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    system = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    folders = [os.path.join(base, "hpclaunch", "sites") for base in (home, *system, "/etc") if base]
    return [*own, *dict.fromkeys(folders), shipped("site-configs")]


def site_files(name: str) -> list[str]:
    """The files that a site's name can mean, the one that wins first."""
    found = []
    for folder in site_folders():
        for ending in _ENDINGS:
            file = os.path.join(folder, name + ending)
            if os.path.exists(file):
                found.append(file)
    return found


def list_sites() -> list[SiteFile]:
    """Every site that can be named, by name. Where two folders have a name, the one that wins."""
    found: dict[str, str] = {}
    for folder in site_folders():
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue  # a folder that is not there, or that we may not read, offers no site
        for file in names:
            stem, ending = os.path.splitext(file)
            if ending in _ENDINGS and not stem.startswith("."):
                found.setdefault(stem, os.path.join(folder, file))
    return [SiteFile(name, found[name]) for name in sorted(found)]
