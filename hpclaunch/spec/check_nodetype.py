"""Is a node type one machine? What its data alone tell to be wrong."""

from functools import partial

from hpclaunch.spec import check_text, findings
from hpclaunch.spec.check_job import env_problems
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.scalars import shown
from hpclaunch.values import cpulist, pci
from hpclaunch.values.errors import Path, Problem

DOCUMENT = "node type"

_check = partial(findings.check, DOCUMENT)
_problem = partial(findings.problem, DOCUMENT)


def node_type_problems(machine: NodeType) -> list[Problem]:
    """Every contradiction in the data of a node type."""
    found: list[Problem] = []
    _check(found, ("name",), check_text.name, machine.name)
    _check(found, ("gres",), check_text.name, machine.gres)
    if machine.memory_gib is not None and machine.memory_gib < 1:
        found.append(_problem(("memory_gib",), f"{machine.memory_gib} must be at least 1"))
    found += _numa_problems(machine)
    found += _distance_problems(machine)
    found += _device_problems(machine)
    found += _variant_problems(machine)
    return found + env_problems(machine.env, DOCUMENT)


def _numa_problems(machine: NodeType) -> list[Problem]:
    found: list[Problem] = []
    if not machine.numa:
        found.append(_problem(("numa",), "the list is empty; a machine has at least one NUMA node"))
    owners: dict[int, int] = {}  # CPU -> NUMA node
    numbers: set[int] = set()
    for index, numa in enumerate(machine.numa):
        path: Path = ("numa", index)
        if numa.node in numbers or numa.node < 0:
            found.append(_problem((*path, "node"), f"{numa.node} must be 0 or more, and each node its own"))
        if numa.socket < 0:
            found.append(_problem((*path, "socket"), f"{numa.socket} must be 0 or more"))
        numbers.add(numa.node)
        lengths = set()
        for thread, text in enumerate(numa.threads):
            try:
                cpus = cpulist.parse(text)
            except ValueError as error:
                found.append(_problem((*path, "threads", thread), str(error)))
                continue
            lengths.add(len(cpus))
            shared = [cpu for cpu in cpus if cpu in owners]
            if shared:
                message = f"CPU {shared[0]} stands in NUMA node {owners[shared[0]]} already"
                found.append(_problem((*path, "threads", thread), message))
            owners.update((cpu, numa.node) for cpu in cpus)
        found += _cache_problems(numa.l3, [cpu for cpu, node in owners.items() if node == numa.node], path)
        if len(lengths) > 1:
            found.append(
                _problem((*path, "threads"), "the lists have different lengths; entry i of each is core i")
            )
    return found


def _cache_problems(lists: tuple[str, ...], cpus: list[int], path: Path) -> list[Problem]:
    """Each CPU of the NUMA node is behind one last-level cache, or none of them is said to be."""
    found: list[Problem] = []
    behind: list[int] = []
    for index, text in enumerate(lists):
        try:
            behind += cpulist.parse(text)
        except ValueError as error:
            found.append(_problem((*path, "l3", index), str(error)))
    if lists and not found and sorted(behind) != sorted(cpus):
        message = f"the lists must name each CPU of the NUMA node once: {cpulist.format_list(cpus)}"
        found.append(_problem((*path, "l3"), message))
    return found


def _distance_problems(machine: NodeType) -> list[Problem]:
    size = len(machine.numa)
    if not machine.distances:
        return []
    if len(machine.distances) != size:
        return [_problem(("distances",), f"{len(machine.distances)} rows for {size} NUMA nodes")]
    found = []
    for index, row in enumerate(machine.distances):
        if len(row) != size:
            found.append(_problem(("distances", index), f"{len(row)} numbers for {size} NUMA nodes"))
        elif min(row) < 1:
            found.append(_problem(("distances", index), "a distance must be at least 1"))
    return found


def _device_problems(machine: NodeType) -> list[Problem]:
    found: list[Problem] = []
    nodes = {numa.node for numa in machine.numa}
    seen: set[str] = set()
    devices = [("gpus", index, gpu.pci, gpu.numa) for index, gpu in enumerate(machine.gpus)]
    devices += [("hcas", index, hca.pci, hca.numa) for index, hca in enumerate(machine.hcas)]
    unknown = not any(gpu.pci for gpu in machine.gpus)
    for key, index, address, numa in devices:
        if key == "gpus" and not address and unknown:
            pass
        elif not pci.is_address(address):
            message = f"{shown(address)} is not a PCI address in lower case, such as 0000:0c:00.0"
            found.append(_problem((key, index, "pci"), message))
        elif address in seen:
            found.append(_problem((key, index, "pci"), f"{address} stands twice"))
        seen.add(address)
        if numa not in nodes:
            found.append(_problem((key, index, "numa"), f"there is no NUMA node {numa} in `numa`"))
    places = [pci.order(gpu.pci) for gpu in machine.gpus if pci.is_address(gpu.pci)]
    if places != sorted(places):
        found.append(_problem(("gpus",), "the GPUs must stand in the order of their PCI addresses"))
    switches = [("gpus", index, gpu.switch) for index, gpu in enumerate(machine.gpus)]
    switches += [("hcas", index, hca.switch) for index, hca in enumerate(machine.hcas)]
    for key, index, switch in switches:
        if switch:
            for part in switch.split("/"):
                _check(found, (key, index, "switch"), check_text.name, part)
    for index, hca in enumerate(machine.hcas):
        if hca.port < 1:
            found.append(_problem(("hcas", index, "port"), f"{hca.port} must be at least 1"))
        if hca.rate_gbps is not None and hca.rate_gbps < 1:
            found.append(_problem(("hcas", index, "rate_gbps"), f"{hca.rate_gbps} must be at least 1"))
    return found


def _variant_problems(machine: NodeType) -> list[Problem]:
    found: list[Problem] = []
    known = {hca.pci for hca in machine.hcas}
    default = ""
    for name, variant in machine.variants.items():
        path: Path = ("variants", name)
        _check(found, path, check_text.name, name)
        owners: dict[str, str] = {}
        for address, device in variant.names.items():
            key = (*path, "names", address)
            if address not in known:
                found.append(_problem(key, f"there is no HCA {address} in `hcas`"))
            _check(found, key, check_text.name, device)
            if device in owners:
                found.append(_problem(key, f"{owners[device]} is named {device} already"))
            owners[device] = address
        if variant.default and default:
            found.append(_problem((*path, "default"), f"the variant {default} is the default already"))
        default = default or (name if variant.default else "")
    return found
