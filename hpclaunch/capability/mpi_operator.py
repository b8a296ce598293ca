"""What the MPI operator's versions can do: `data/mpi_operator.yaml`."""

from functools import cache

import msgspec
from msgspec import Struct

from hpclaunch.capability.tables import read, version


class _Api(Struct, frozen=True, forbid_unknown_fields=True):
    since: str
    until: str
    ssh: bool


class _Operator(Struct, frozen=True, forbid_unknown_fields=True):
    apis: dict[str, _Api]
    ignores: dict[str, frozenset[str]]
    features: dict[str, str]


@cache
def _operator() -> _Operator:
    return msgspec.convert(read("mpi_operator.yaml"), _Operator)


def apis(operator_version: str) -> tuple[str, ...]:
    """The APIs that this version of the operator serves, newest first."""
    known = version(operator_version)
    found = [
        name
        for name, api in _operator().apis.items()
        if version(api.since) <= known and (not api.until or known <= version(api.until))
    ]
    return tuple(reversed(found))


def api_of_jobs(said: str | None, operator_version: str | None) -> str | None:
    """The API that a site's jobs use: what the site says, else the newest that its operator serves. None
    where there is neither."""
    if said is not None:
        return said
    served = apis(operator_version) if operator_version is not None else ()
    return served[0] if served else None


def by_ssh(api: str) -> bool:
    """Whether launchers of an API reach the workers by ssh; by kubectl exec otherwise."""
    return _operator().apis[api].ssh


def span(api: str) -> str:
    """Which versions serve an API, in words: "0.2.0 to 0.3.0"."""
    known = _operator().apis[api]
    return f"{known.since} to {known.until}" if known.until else f"{known.since} and newer"


def heeds(api: str, field: str) -> bool:
    """Whether the operator does what this field of the API's run policy says."""
    return field not in _operator().ignores.get(api, ())


def feature_since(feature: str) -> str:
    """The version that brought a field of v2beta1. KeyError: the table does not name it."""
    return _operator().features[feature]


def has_feature(feature: str, operator_version: str) -> bool:
    """Whether this version knows that field of v2beta1."""
    return version(feature_since(feature)) <= version(operator_version)
