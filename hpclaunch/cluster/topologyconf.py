"""topology.conf and topology.yaml: the scalable units of a site as Slurm's topology plugins read them.

Forms: topology.conf(5) and topology.yaml(5) of Slurm, src/plugins/topology, tags 20.11 to 26.05.
"""

import yaml

from hpclaunch.capability.tables import slurm_feature_since, slurm_has_feature
from hpclaunch.cluster.groups import hosts_of
from hpclaunch.cluster.slurmconf import HEADER
from hpclaunch.spec import hosts, units
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Problem

SPINE = "spine"


def leaves(site: Site) -> dict[str, str]:
    """Name -> hosts of each scalable unit: su1 -> dgx[001-020]. Units are cut from each group by itself.
    Raises InputError for a group without `hosts`."""
    cut = [
        hosts.fold(part)
        for names in hosts_of(site)
        for part in units.cut(hosts.expand(names), units.unit(site))
    ]
    width = len(str(len(cut)))
    return {f"su{number:0{width}}": part for number, part in enumerate(cut, start=1)}


def topology_conf(site: Site) -> str:
    """topology.conf: a switch for each scalable unit and a spine above them, or blocks.

    Raises InputError where `fabric.topology` names no plugin, for a group without `hosts`, and for blocks in
    a Slurm that has no BlockSizes yet.
    """
    _check(site)
    found = leaves(site)
    lines = [HEADER.format("topology.conf", site.name)]
    if site.fabric.topology == "block":
        lines += [f"BlockName={name} Nodes={part}" for name, part in found.items()]
        lines.append(f"BlockSizes={_base_block(site)}")
    else:
        lines += [f"SwitchName={name} Nodes={part}" for name, part in found.items()]
        lines.append(f"SwitchName={SPINE} Switches={hosts.fold(tuple(found))}")
    return "".join(f"{line}\n" for line in lines)


def topology_yaml(site: Site) -> str:
    """topology.yaml, which replaces topology.conf. Raises InputError as `topology_conf` does, and for a Slurm
    that does not read it yet."""
    _check(site)
    assert site.slurm is not None
    _needs(site, "topology_yaml", "topology.yaml")
    found = leaves(site)
    if site.fabric.topology == "block":
        blocks = [{"block": name, "nodes": part} for name, part in found.items()]
        form: dict[str, object] = {"block": {"block_sizes": [_base_block(site)], "blocks": blocks}}
    else:
        switches = [{"switch": SPINE, "children": hosts.fold(tuple(found))}]
        switches += [{"switch": name, "nodes": part} for name, part in found.items()]
        form = {"tree": {"switches": switches}}
    tree = [{"topology": "units", "cluster_default": True, **form}]
    text = yaml.safe_dump(tree, sort_keys=False, explicit_start=True)
    return f"{HEADER.format('topology.yaml', site.name)}\n{text}"


def _check(site: Site) -> None:
    if site.fabric.topology == "none":
        message = f"site {site.name} names no topology plugin: set fabric.topology to tree or block"
        raise InputError([Problem(message, "site", ("fabric", "topology"))])
    if site.fabric.topology == "block":
        _needs(site, "block_sizes", "BlockSizes for topology/block")


def _needs(site: Site, feature: str, what: str) -> None:
    assert site.slurm is not None
    if not slurm_has_feature(feature, site.slurm.version):
        since = slurm_feature_since(feature)
        message = f"{what} came with Slurm {since}, and this site has {site.slurm.version}"
        raise InputError([Problem(message, "site", ("slurm", "version"))])


def _base_block(site: Site) -> int:
    assert site.slurm is not None
    return units.base_block(site, slurm_has_feature("small_blocks", site.slurm.version))
