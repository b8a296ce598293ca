"""Scalable units: the nodes that share their leaf switches, and so are near one another in the fabric."""

from collections.abc import Sequence

from hpclaunch.spec import hosts
from hpclaunch.spec.site import Site

DEFAULT = 20  # nodes of a scalable unit of the DGX SuperPOD with DGX A100 (NVIDIA's reference architecture)


def unit(site: Site) -> int:
    """How many nodes a scalable unit of the site has."""
    return site.fabric.unit or DEFAULT


def cut(names: Sequence[str], size: int) -> tuple[tuple[str, ...], ...]:
    """These hosts in units of `size`, in the order given; the last may be smaller."""
    return tuple(tuple(names[first : first + size]) for first in range(0, len(names), size))


def sizes(site: Site) -> tuple[int, ...]:
    """How many nodes each unit of the site has. Nodes of two groups are never in one unit."""
    found: list[int] = []
    for group in site.node_types:
        nodes = hosts.count(group.hosts) if group.hosts is not None else group.count or 0
        whole, rest = divmod(nodes, unit(site))
        found += [unit(site)] * whole + [rest] * bool(rest)
    return tuple(found)


def base_block(site: Site, small_blocks: bool) -> int:
    """The nodes of a block that Slurm plans with, the first of BlockSizes: a unit, or where no block may be
    smaller (`small_blocks` false) the smallest unit. A segment of a job can have no more."""
    found = sizes(site)
    return min(unit(site), max(found) if small_blocks else min(found))
