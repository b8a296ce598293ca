"""What belongs to a person or a site: into the job's `sites`, where the user named a site, or a hint."""

from collections.abc import Mapping, Sequence
from typing import Any

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Place
from hpclaunch.values.yamltext import in_flow, value


def of_user(
    draft: Draft, options: Options, key: str, what: Any, places: Sequence[Place], written: str, why: str = ""
) -> None:
    """One of the keys that a job may have under sites.NAME."""
    if options.site:
        draft.put(("sites", options.site, key), what, places, written, why=why)
    else:
        draft.hint(key, flow(what), places, written)


def of_site(draft: Draft, key: str, what: Any, places: Sequence[Place], written: str) -> None:
    """A key of the site file, its value as YAML."""
    draft.hint(key, flow(what), places, written)


def flow(what: Any) -> str:
    """A value as YAML on one line, as it can stand in a site file. Text that no YAML has loses its
    characters that nobody can write."""
    if isinstance(what, Mapping):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(each)}" for key, each in what.items()) + "}"
    if isinstance(what, list | tuple):
        return "[" + ", ".join(map(flow, what)) + "]"
    if isinstance(what, bool | int):
        return value(what)
    text = str(what).replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return in_flow(text)
