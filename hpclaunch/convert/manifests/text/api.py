"""The API's types, as far as a repair needs them: which keys a type has, and of what type those are."""

import os.path
import re
from functools import cache
from typing import Any

import yaml

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "api.yaml")

TEXT, MAP, AMOUNTS, ANY = "text", "map", "amounts", "any"
FREE = frozenset((MAP, AMOUNTS, ANY))  # these take any key, or many
_AMOUNT = re.compile(r"cpu|memory|storage|pods|ephemeral-storage|hugepages-\w+|[\w.-]+\.?[\w-]*/[\w.-]+")

# By the group of their apiVersion, "" for the core's: an object of another group is another one, whatever its
# name is (Volcano's Job, Knative's Service).
_GROUPS = {
    "kubeflow.org": ("MPIJob", "PyTorchJob"),
    "batch": ("Job",),
    "": (
        *("Pod", "ConfigMap", "Secret", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Service"),
        "ServiceAccount",
    ),
    "rbac.authorization.k8s.io": ("Role", "RoleBinding"),
    "storage.k8s.io": ("StorageClass",),
}
OF_RANKS = ("MPIJob", "PyTorchJob", "Job", "Pod")  # `objects/kinds.py` has a reader for each
KINDS = frozenset(kind for kinds in _GROUPS.values() for kind in kinds)
# Without these an item of a list means nothing.
REQUIRED = {
    "Container": ("name", "image"),
    "EnvVar": ("name",),
    "VolumeMount": ("name", "mountPath"),
    "Volume": ("name",),
    "Toleration": (),
}


@cache
def types() -> dict[str, dict[str, str]]:
    """Type -> key -> type of its value; "[Container]" is a list of them."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(_FILE, encoding="utf-8") as file:
        table: dict[str, dict[str, Any]] = loader(file).get_single_data()
    return {
        name: {key: kind for kind, keys in groups.items() for key in keys.split()}
        for name, groups in table.items()
    }


def has(version: str, kind: str) -> bool:
    """Whether the table has the object's type. An apiVersion without a group may be one cut off."""
    group, slash, _ = version.partition("/")
    return kind in (_GROUPS.get(group, ()) if slash else KINDS)


def type_of(version: str, kind: str) -> str:
    """The type of an object. The first MPIJob was another one; which keys each later version has is for a
    reader."""
    return "FirstMPIJob" if kind == "MPIJob" and version.endswith("v1alpha1") else kind


@cache
def known_keys() -> frozenset[str]:
    """All keys that any type has."""
    return frozenset(key for keys in types().values() for key in keys)


def is_amount(key: str) -> bool:
    """Whether a key is the name of a resource."""
    return _AMOUNT.fullmatch(key) is not None


def below(kind: str, key: str) -> str | None:
    """The type of a key's value in a type, None where it has no such key."""
    if kind == ANY:
        return ANY
    if kind == MAP:
        return TEXT
    if kind == AMOUNTS:
        return TEXT if is_amount(key) else None
    return types().get(kind, {}).get(key)


def item(kind: str) -> str | None:
    """The type of a list's items, None where the type is no list."""
    if kind == ANY:
        return ANY
    return kind[1:-1] if kind.startswith("[") else None
