"""What a rendered manifest asks of its cluster for its job: keys of `sites.NAME`."""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from hpclaunch.spec import hosts
from hpclaunch.values.launch import Launch

_KEYS = (("namespace", "namespace"), ("queue", "queue"), ("priorityClassName", "priority_class"))
_LISTS = {"In": "nodelist", "NotIn": "exclude"}
_HOSTNAME = "kubernetes.io/hostname"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_OF_SSHD = "capability SYS_CHROOT"  # no other pod of hpclaunch's has it
_ROOTLESS = "no new privileges"  # of a site that runs nothing as root, and says as whom
_USER = re.compile(r"user (\d+)")


class _Expression(Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class _Term(Struct, frozen=True, rename="camel"):
    match_expressions: tuple[_Expression, ...] = ()


class _Terms(Struct, frozen=True, rename="camel"):
    node_selector_terms: tuple[_Term, ...] = ()


class _Affinity(Struct, frozen=True, rename="camel"):
    required_during_scheduling_ignored_during_execution: _Terms = _Terms()


def hints(launch: Launch) -> Iterator[tuple[str, object]]:
    """The keys and values that the text shows. The site may be behind any of them."""
    where = dict(launch.where)
    if not launch.apart:  # first, since with it there may be too few nodes for any other to be tried
        yield "share_nodes", True
    yield from ((key, where[name]) for name, key in _KEYS if name in where)
    for right in launch.rights:
        user = _USER.fullmatch(right)
        if user is not None:
            yield "user", int(user[1])
    yield from _names(where.get("nodeAffinity", ""))


def has_root_sshd(launch: Launch) -> bool:
    """Whether the pods start sshd as root, which makes them root in any job."""
    return _OF_SSHD in launch.rights


def is_of_site(key: str, launch: Launch) -> bool:
    """Whether the site must have said it: no job says as whom pods with sshd run, or with no rights."""
    return key == "user" and (has_root_sshd(launch) or _ROOTLESS in launch.rights)


def _names(affinity: str) -> Iterator[tuple[str, str]]:
    """Host names that nodes must have, or must not have."""
    if not affinity:
        return
    try:
        required = msgspec.json.decode(affinity, type=_Affinity)
    except msgspec.ValidationError:  # not as hpclaunch writes it
        return
    terms = required.required_during_scheduling_ignored_during_execution.node_selector_terms
    for each in terms[0].match_expressions if len(terms) == 1 else ():
        names = [name for name in each.values if _NAME.fullmatch(name)]
        if each.key == _HOSTNAME and each.operator in _LISTS and names:
            yield _LISTS[each.operator], hosts.fold(names)
