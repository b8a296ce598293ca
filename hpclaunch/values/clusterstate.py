"""What a Kubernetes cluster is asked about itself, and what it answers."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class Question(Struct, frozen=True):
    """One object of the API by its name, all of a kind ("" for the name), or the opinion that the cluster has
    of a `review`, which is JSON. `group` is "" for the core; not `namespaced` is of the whole cluster."""

    plural: str
    name: str = ""
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    review: str = ""


class Reply(Struct, frozen=True):
    """The answer: HTTP's code (200, 403 for what one may not see, 404 for what is not there) and the object.
    A list has its `items`; a Secret's values are left out."""

    code: int
    body: dict[str, Any] = {}

    @property
    def there(self) -> bool:
        """True where there is an object."""
        return self.code == 200


Ask = Callable[[Question], Reply]
