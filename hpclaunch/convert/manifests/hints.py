"""What belongs to a person or a site: into the job's `sites`, where the user named a site, or a hint."""

from collections.abc import Sequence
from typing import Any

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Place


def of_user(
    draft: Draft, options: Options, key: str, what: Any, places: Sequence[Place], written: str, why: str = ""
) -> None:
    """One of the keys that a job may have under sites.NAME."""
    if options.site:
        draft.put(("sites", options.site, key), what, places, written, why=why)
    else:
        draft.hint(key, what, places, written)


def of_site(draft: Draft, key: str, what: Any, places: Sequence[Place], written: str) -> None:
    """A key of the site file."""
    draft.hint(key, what, places, written)
