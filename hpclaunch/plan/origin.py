"""One value of a plan and what set it."""

from msgspec import Struct

from hpclaunch.values.errors import Path


class Place(Struct, frozen=True):
    """Keys of a document: `document` is "job", "site", or the site's name of a node type."""

    document: str
    path: Path


class Origin(Struct, frozen=True):
    """A value and what set it: the first of `places` that is written in its document, `otherwise` where none
    is. `facts` are what the value was worked out from."""

    what: str
    value: str
    places: tuple[Place, ...] = ()
    otherwise: str = "default"
    facts: tuple[Place, ...] = ()
