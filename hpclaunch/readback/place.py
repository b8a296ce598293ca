"""What a site says of itself, for a comparison: the words that mean the same thing elsewhere."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from hpclaunch.values.launch import Difference, Launch

# A volume's form, as in SeenMount: what kind, which, and the folder in it.
Form = tuple[str, str, str]


class Place(Struct, frozen=True):
    """A site. `volumes` has the form of each volume that it names, and `variables` what it and its node types
    set for ranks, with the values. `node_types` is the type of nodes for each table of a text, by its hosts
    ("" where there is one table), `gpus_of_node` how many GPUs such a node has, `rdma` the resource that
    stands for each HCA, by the HCA's name or PCI address, `networks` are those that pods are attached to,
    and `secrets` say where variables lie, as SECRET/KEY. `parts` are the same for each group of a job whose
    groups are on unlike nodes.
    An empty Place knows nothing of a site, and then nothing is put down to it."""

    name: str = ""
    volumes: Mapping[str, Form] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    node_types: Mapping[str, str] = field(default_factory=dict)
    gpus_of_node: int | None = None
    rdma: Mapping[str, str] | None = None
    networks: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    parts: tuple["Place", ...] = ()


class Side(Struct, frozen=True):
    """One of the two that are compared: a launch, and where it would be."""

    launch: Launch
    place: Place = Place()


def form_text(form: Form) -> str:
    """A form in words, such as "claim imagenet-pvc sets/1"."""
    kind, source, folder = form
    return " ".join(part for part in (kind, source, folder.strip("/")) if part)


NOTHING = "-"

Kind = Literal["difference", "unbridged", "place"]


def beside(what: str, values: Iterable[str], kind: Kind = "difference", why: str = "") -> Difference:
    """A difference of two values, those of the two sides."""
    mine, theirs = values
    return Difference(what, mine, theirs, kind, why)
