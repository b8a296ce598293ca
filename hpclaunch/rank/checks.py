"""One rank's report against the plan, thing by thing. What a node itself is not like counts on every rank."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.rank.expected import Binding
from hpclaunch.rank.observed import Report
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.placement import Gpu, NodeShape

# Words of the wrapper's warnings (wrapper/bind.sh, granted.sh, cores.sh) after which ranks have any cores.
CORES_UNBOUND = ("cores nor memory", "are not bound")


class Finding(Struct, frozen=True):
    """A difference: what, and why likely. `unknown`: not a difference, it could not be looked up."""

    what: str
    expected: str
    observed: str
    cause: str = ""
    unknown: bool = False


class Node(Struct, frozen=True):
    """A node of the job: its shape in the plan, the CPUs there, and what the wrapper said on it. `gpus` are
    how many the job has on it, `all_gpus` whether these are all."""

    name: str
    shape: NodeShape
    binding: Binding
    gpus: int
    all_gpus: bool
    said: tuple[str, ...]
    node_of: Mapping[int, int]
    pool_of: Mapping[int, int]
    core_of: Mapping[int, tuple[int, ...]]

    @property
    def other_type(self) -> str:
        """The cause that most often explains a machine unlike its plan."""
        return (
            f"{self.name} is not a machine as the node type {self.shape.node_type} has it: "
            "compare with `hpclaunch topo discover` there"
        )

    def warned(self, *words: str) -> str:
        """The first warning of the wrapper on this node that has one of these words, "" if none has."""
        return next((f"{self.name}: {text}" for text in self.said if any(word in text for word in words)), "")


def listed(numbers: Sequence[int] | None) -> str:
    """A kernel list for people."""
    return "unknown" if numbers is None else format_list(numbers) or "none"


def unknown(what: str, why: str) -> Finding:
    """What could not be looked up on the node."""
    return Finding(what, "", why, unknown=True)


def machine(node: Node, report: Report) -> Iterator[Finding]:
    """Is the machine the planned one: CPUs, siblings, NUMA nodes, GPUs?"""
    yield from _cpus(node, report)
    yield from _gpus(node, report)


def _cpus(node: Node, report: Report) -> Iterator[Finding]:
    planned = frozenset(node.core_of)
    if report.online is None:
        yield unknown("online CPUs", "the kernel does not tell them")
    elif offline := planned.difference(report.online):
        yield Finding(
            "online CPUs",
            f"with {format_list(offline)}",
            listed(report.online),
            f"{node.other_type}, or its CPUs were taken offline (SMT off?)",
        )
    known = [cpu for cpu in report.cpus or () if cpu in planned]
    if not known:
        return
    if report.siblings is not None and report.cpus and report.cpus[0] in planned:
        core = node.core_of[report.cpus[0]]
        # A sibling that the site keeps for itself is in no core of the plan.
        strange = planned.intersection(report.siblings).difference(core)
        if strange or not set(core) <= set(report.siblings):
            cause = f"{node.other_type}: its SMT siblings are numbered differently"
            yield Finding("SMT siblings", listed(core), listed(report.siblings), cause)
    expected = sorted({node.node_of[cpu] for cpu in known})
    if report.numa is None:
        yield unknown("NUMA nodes of the cores", "the kernel does not tell them")
    elif len(known) == len(report.cpus or ()) and list(report.numa) != expected:
        cause = f"{node.other_type}: these CPUs are in other NUMA nodes"
        yield Finding("NUMA nodes of the cores", listed(expected), listed(report.numa), cause)


def gpus_by_address(node: Node, report: Report) -> dict[str, Gpu]:
    """The GPUs of the node's type by their addresses. A type may have none: then those that open are its GPUs
    in PCI order if they are as many, and else each is one next to the same NUMA node, of unknown HCAs."""
    gpus, seen = node.shape.gpus, report.gpus or {}
    if any(gpu.pci for gpu in gpus):
        return {gpu.pci: gpu for gpu in gpus}
    if len(seen) == len(gpus):
        return dict(zip(sorted(seen), gpus, strict=True))
    beside = {gpu.numa: replace(gpu, hcas=()) for gpu in gpus}
    return {pci: beside[numa] for pci, numa in seen.items() if numa in beside}


def _gpus(node: Node, report: Report) -> Iterator[Finding]:
    gpus = node.shape.gpus
    planned = {gpu.pci for gpu in gpus if gpu.pci}
    if not node.gpus:
        return
    if report.gpus is None:
        yield unknown("GPUs", "there is no /proc/driver/nvidia, or there are too many for a line")
        return
    strange = sorted(report.gpus.keys() - planned) if planned else []
    missing = sorted(planned - report.gpus.keys()) if node.all_gpus else []
    if not report.gpus:
        cause = "the container sees none (NVIDIA_VISIBLE_DEVICES), or the driver is not loaded"
        yield Finding("GPUs", f"{node.gpus}", "none opens", cause)
    elif strange:
        cause = f"{node.other_type}: its GPUs have other PCI addresses"
        expected = ", ".join(missing) or "those of the node type"
        yield Finding("GPUs", expected, ", ".join(strange), cause)
    elif 0 < len(gpus) < len(report.gpus):
        yield Finding("GPUs", str(len(gpus)), str(len(report.gpus)), f"{node.other_type}: it has more GPUs")
    elif missing or (gpus and len(report.gpus) < node.gpus):  # slices may all be of one GPU
        cause = "they are gone from the bus, or /dev/nvidiaN does not open: see `nvidia-smi -L`, dmesg"
        what = f"without {', '.join(missing)}" if missing else str(len(report.gpus))
        yield Finding("GPUs", str(node.gpus), what, cause)
    beside = {pci: str(gpu.numa) for pci, gpu in gpus_by_address(node, report).items()}
    if gpus and not planned:
        any_of_them = " or ".join(dict.fromkeys(str(gpu.numa) for gpu in gpus))
        beside = dict.fromkeys(report.gpus, any_of_them) | beside
    moved = {pci: numa for pci, numa in report.gpus.items() if numa >= 0 and pci in beside}
    moved = {pci: numa for pci, numa in moved.items() if beside[pci] != str(numa)}
    if moved:
        cause = f"{node.other_type}: its GPUs are next to other NUMA nodes"
        expected = ", ".join(f"{pci} on {beside[pci]}" for pci in moved)
        yield Finding("NUMA nodes of GPUs", expected, ", ".join(map(str, moved.values())), cause)
    if blind := sorted(pci for pci, numa in report.gpus.items() if numa < 0):
        yield unknown("NUMA node of GPUs", f"the firmware does not tell it for {', '.join(blind)}")


def cores(node: Node, report: Report) -> Iterator[Finding]:
    """On a whole node: the cores of the seat, exactly."""
    planned = node.shape.seats[report.local].cpus
    if not node.binding.cpus or not planned:
        return
    if report.cpus is None:
        yield unknown("cores", "/proc/self/status cannot be read")
    elif set(report.cpus) != set(planned):
        cause = _why_other_cores(node, report, frozenset(planned))
        yield Finding("cores", listed(planned), listed(report.cpus), cause)


def _why_other_cores(node: Node, report: Report, planned: frozenset[int]) -> str:
    seen = frozenset(report.cpus or ())
    by_slurm = node.binding.by == "Slurm"
    if words := node.warned(*CORES_UNBOUND):
        return words
    if seen >= frozenset(report.online or node.core_of):
        if by_slurm:
            return "Slurm bound nothing: its TaskPlugin needs task/affinity (`scontrol show config`)"
        return "nothing bound it: there is no taskset in the image"
    if not planned & seen:
        who = "Slurm's plugins or a prolog of the site" if by_slurm else "something before the wrapper"
        return f"{who} bound it elsewhere"
    if seen < planned:
        who = (
            "the kubelet's CPU manager"
            if node.binding.pods
            else "its cgroup, or CPUs that Slurm keeps (CpuSpecList)"
        )
        return f"some of the cores are not the job's there: {who}"
    return "it is bound to other cores than the plan names: was the site changed after the job was planned?"


def memory(node: Node, report: Report, planned: Sequence[int], exact: bool = True) -> Iterator[Finding]:
    """The memory policy is the planned one, on these NUMA nodes; not `exact`: on some of them."""
    kind = node.binding.memory
    if not kind or not planned:
        return
    # One node is preferred: neither numactl nor Slurm's set_mempolicy takes more.
    exact = exact and kind == "bind"
    expected = f"{kind}:{format_list(planned)}"
    if report.memory is None:
        yield unknown("memory policy", "the kernel has no /proc/self/numa_maps")
        return
    seen, nodes = report.memory
    right = set(nodes) == set(planned) if exact else nodes and set(nodes) <= set(planned)
    if seen == kind and right:
        return
    observed = f"{seen}:{format_list(nodes)}" if nodes else seen
    if seen in ("default", "local"):
        cause = node.warned("memory is not bound", *CORES_UNBOUND) or (
            "Slurm set none: its TaskPlugin needs task/affinity, built with libnuma"
            if node.binding.by == "Slurm"
            else "nothing set it: there is no numactl in the image, or the kernel is too old"
        )
    else:
        cause = f"{node.binding.by} set another policy than the plan's: was the site changed since?"
    yield Finding("memory policy", expected, observed, cause)


def hcas(node: Node, report: Report, names: Sequence[str]) -> Iterator[Finding]:
    """The HCAs of these names, by PCI address: a node may name them differently."""
    planned = {hca.name: hca for hca in node.shape.hcas}
    wanted = [planned[name] for name in names]
    if not wanted:
        return
    if report.hcas is None:
        yield unknown("HCAs", "there are too many for a line")
        return
    expected = ", ".join(f"{hca.name} ({hca.pci})" for hca in wanted)
    if {hca.pci for hca in wanted} != {hca.pci for hca in report.hcas}:
        observed = ", ".join(f"{hca.name} ({hca.pci})" for hca in report.hcas) or "none"
        said = node.warned("HCAs not used", "HCAs go by")
        cause = said or f"{node.other_type}: its HCAs have other PCI addresses"
        yield Finding("HCAs", expected, observed, cause)
        return
    if not all(hca.state for hca in report.hcas):
        # The wrapper takes a device that it cannot look at only where it can look at none.
        cause = (
            f"{node.name} shows no InfiniBand devices: is mlx5_ib loaded there, and /sys in the container?"
        )
        yield Finding("HCAs", expected, "no /sys/class/infiniband", cause)
        return
    by_address = {hca.pci: hca for hca in wanted}
    for seen in report.hcas:
        plan = by_address[seen.pci]
        if seen.numa >= 0 and seen.numa != plan.numa:
            cause = f"{node.other_type}: its HCAs are next to other NUMA nodes"
            yield Finding("NUMA node of HCA", f"{seen.pci} on {plan.numa}", str(seen.numa), cause)
        if seen.state not in ("", "ACTIVE"):
            cause = "the link went down while the job started"
            yield Finding("HCA state", f"{seen.name} ACTIVE", seen.state, cause)
        if seen.link_layer and seen.link_layer != plan.link_layer:
            cause = "the port is set to another link layer (mlxconfig LINK_TYPE)"
            yield Finding("HCA link layer", f"{seen.name} {plan.link_layer}", seen.link_layer, cause)


def memlock(node: Node, report: Report) -> Iterator[Finding]:
    """The limit that InfiniBand needs."""
    needed = node.binding.memlock
    if needed and report.memlock is not None and 0 <= report.memlock < needed:
        cause = (
            "set the default ulimits of the nodes' container runtime, or as root give the pod IPC_LOCK"
            if node.binding.pods
            else "set LimitMEMLOCK=infinity for slurmd and PropagateResourceLimitsExcept=MEMLOCK"
        )
        yield Finding("memlock limit", f"{needed} KiB or more", f"{report.memlock} KiB", cause)
