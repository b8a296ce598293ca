"""What belongs to a person or a site: into the job's `sites`, where the user named a site, or a hint."""

from collections.abc import Sequence
from typing import Any

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Kind, Place


def of_user(
    draft: Draft,
    options: Options,
    key: str,
    what: Any,
    places: Sequence[Place],
    written: str,
    why: str = "",
    kind: Kind = "carried",
) -> None:
    """One of the keys that a job may have under sites.NAME."""
    if options.site:
        draft.put(("sites", options.site, key), what, places, written, why=why, kind=kind)
    else:
        draft.hint(key, what, places, written, why=why, kind=kind)


def of_site(draft: Draft, key: str, what: Any, places: Sequence[Place], written: str) -> None:
    """A key of the site file."""
    draft.hint(key, what, places, written)
