"""Host lists such as dgx[001-140], read by ClusterShell: how many hosts, and which."""

import re
from collections.abc import Sequence
from functools import lru_cache

LIMIT = 100_000

# Slurm's lists have names, numbers and brackets; ClusterShell also reads @groups, wildcards, steps and set
# operators, which would mean something else here.
# Texts, which `re` compiles where they are used: most starts have simple lists alone.
_STRANGE = r"[^A-Za-z0-9_.,\[\]-]"
_LONG_NUMBER = r"\d{7}"
_BRACKETS = r"\[([^\]]*)\]"
_RANGES = r"(?a:\d+(-\d+)?(,\d+(-\d+)?)*)"
_MOST_DIGITS = 6


def count(hosts: str) -> int:
    """How many hosts the list names. Raises ValueError as `expand` does."""
    simple = _of_one_range(hosts)
    return len(_names(hosts)) if simple is None else simple


def expand(hosts: str) -> list[str]:
    """The names, rising, each once.

    Raises ValueError for a list that is empty or not well formed, and for more than 100,000 hosts.
    """
    return list(_names(hosts))


def _of_one_range(hosts: str) -> int | None:
    """How many hosts NAME[LOW-HIGH] names, as most sites write them; None for all else. Importing
    ClusterShell would take a start longer than planning the job."""
    name, _, rest = hosts.partition("[")
    low, _, high = rest.removesuffix("]").partition("-")
    if hosts != f"{name}[{low}-{high}]" or len(low) != len(high) or len(low) > _MOST_DIGITS:
        return None
    plain = hosts.isascii() and name[:1].isalpha() and name.replace("-", "").isalpha()
    number = int(high) - int(low) + 1 if plain and low.isdigit() and high.isdigit() else 0
    return number if 1 <= number <= LIMIT else None


@lru_cache(maxsize=8)  # the site's check, the plan and the nodes of pods each ask for the same list
def _names(hosts: str) -> tuple[str, ...]:
    strange = re.search(_STRANGE, hosts)
    if strange:
        raise ValueError(f"{strange[0]!r} cannot stand in a host list; write dgx[001-140] or dgx001,dgx002")
    if re.search(_LONG_NUMBER, hosts):
        raise ValueError("a number in the host list has more than six digits")
    for ranges in re.findall(_BRACKETS, hosts):
        if not re.fullmatch(_RANGES, ranges):
            raise ValueError(f"{ranges!r} in the host list is not a range, such as 001-140")
    hosts = re.sub(_BRACKETS, lambda found: f"[{_even(found[1])}]", hosts)
    # Late: a job on this machine alone has no host list, and the import costs 7 ms of a start.
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    try:
        nodes = NodeSet(hosts, resolver=RESOLVER_NOGROUP)
    except NodeSetException as error:
        raise ValueError(f"{hosts!r} is not a host list: {error}") from None
    if not nodes:
        raise ValueError("the host list is empty")
    if len(nodes) > LIMIT:
        raise ValueError(f"the host list names {len(nodes):,} hosts, and {LIMIT:,} are allowed")
    return tuple(nodes)


def fold(names: Sequence[str]) -> str:
    """The shortest list of these names, each of which is one host: (dgx1, dgx2) is "dgx[1-2]"."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))


def _even(ranges: str) -> str:
    """The same numbers with both ends of each range of one length, which ClusterShell wants where a number
    has zeros before it: 08-100 is 08-99,100-100."""
    parts = []
    for one in ranges.split(","):
        low, dash, high = one.partition("-")
        while low.startswith("0") and len(low) < len(high):
            parts.append(f"{low}-{'9' * len(low)}")
            low = "1" + "0" * len(low)
        parts.append(low + dash + high)
    return ",".join(parts)
