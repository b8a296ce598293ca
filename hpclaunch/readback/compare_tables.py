"""Whether the ranks of two launches are in the same places on their nodes: cores, memory, GPUs, HCAs.

Tables are of a kind of node and have a seat for each local rank, so 560 nodes cost as much as two.
"""

from hpclaunch.readback.place import NOTHING, Side, beside
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launch import Difference, SeenSeat, SeenTable


def tables(a: Side, b: Side) -> list[Difference]:
    """Every difference, kind of node by kind of node."""
    found: list[Difference] = []
    several = len(a.launch.tables) > 1 or len(b.launch.tables) > 1
    for one, other in _pairs(a, b):
        types = _type(one, a), _type(other, b)
        name = next((each for each in types if each), "") or next(
            (each.hosts for each in (one, other) if each), ""
        )
        prefix = f"{name or 'all nodes'}: " if several else ""
        if one is None or other is None:
            why = "the job may get nodes that have no place in the other launch"
            values = ("yes", NOTHING) if one else (NOTHING, "yes")
            found.append(beside(f"{prefix}places of ranks", values, why=why))
            continue
        machines = "" if types[0] == types[1] or not all(types) else " and ".join(sorted(types))
        found += [
            Difference(prefix + each.what, each.a, each.b, each.kind, each.why)
            for each in (
                *_seats(one, other, machines),
                *_hcas(one, other, machines),
                *_parts(one, other, machines),
            )
        ]
    return found


def _pairs(a: Side, b: Side) -> list[tuple[SeenTable | None, SeenTable | None]]:
    """Tables of nodes of the same type, else in their order."""
    left, right = list(a.launch.tables), list(b.launch.tables)
    found: list[tuple[SeenTable | None, SeenTable | None]] = []
    for one in list(left):
        other = next((each for each in right if _type(one, a) and _type(one, a) == _type(each, b)), None)
        if other is not None:
            found.append((one, other))
            left.remove(one)
            right.remove(other)
    while left or right:
        found.append((left.pop(0) if left else None, right.pop(0) if right else None))
    return found


def _type(table: SeenTable | None, side: Side) -> str:
    return side.place.node_types.get(table.hosts, "") if table else ""


def _seats(one: SeenTable, other: SeenTable, machines: str) -> list[Difference]:
    pairs = list(zip(one.seats, other.seats, strict=False))  # another number of them is said as such
    if machines:
        return _of_machines(pairs, machines)
    return [
        Difference(f"local rank {mine.local_rank}: {what}", text(mine, one), text(theirs, other))
        for what, text in _ASPECTS
        for mine, theirs in pairs
        if text(mine, one) != text(theirs, other)
    ]


def _of_machines(pairs: list[tuple[SeenSeat, SeenSeat]], machines: str) -> list[Difference]:
    """On other machines the numbers of cores and the like are others: what counts is how many each rank has,
    in one line for all ranks."""
    found = []
    counted = [(_counts(mine), _counts(theirs)) for mine, theirs in pairs]
    for what in _counts(SeenSeat(0)):
        sides = [[counts[side][what] for counts in counted] for side in (0, 1)]
        if sides[0] != sides[1]:
            values = (each[0] if len(set(each)) == 1 else "; ".join(each) for each in sides)
            found.append(beside(what, values, why=f"{machines} differ"))
    return found


def _counts(seat: SeenSeat) -> dict[str, str]:
    return {
        "cores of each rank": f"{len(seat.cpus)} CPUs" if seat.cpus else "not bound",
        "memory of each rank": f"{seat.memory} of {len(seat.mems)} NUMA nodes" if seat.mems else "not bound",
        "HCAs of each rank": str(len(seat.hcas)),
        "GPUs of each rank": format_list(seat.gpus) or NOTHING,
    }


def _hcas(one: SeenTable, other: SeenTable, machines: str) -> list[Difference]:
    """The compute HCAs of a node: as many, at the same addresses."""
    lists = [" ".join(_brief(hca) for hca in table.hcas) for table in (one, other)]
    if len(one.hcas) != len(other.hcas):
        counts = (f"{len(table.hcas)}: {text}" for table, text in zip((one, other), lists, strict=True))
        return [beside("compute HCAs of a node", counts, why=f"{machines} differ" if machines else "")]
    if one.hcas == other.hcas or machines:
        return []
    if [_address(hca) for hca in one.hcas] == [_address(hca) for hca in other.hcas]:
        why = "the same addresses: names are each system's own, and ranks go by addresses"
        return [beside("compute HCAs of a node", lists, "place", why)]
    return [
        Difference(f"HCA {index}", mine, theirs)
        for index, (mine, theirs) in enumerate(zip(one.hcas, other.hcas, strict=True))
        if _address(mine) != _address(theirs)
    ]


def _parts(one: SeenTable, other: SeenTable, machines: str) -> list[Difference]:
    """On parts of nodes the ranks find their cores by these settings, of which all but `part` are a machine's
    own."""
    mine, theirs = dict(one.part), dict(other.part)
    return [
        Difference(f"on a part of a node: {name}", mine.get(name, NOTHING), theirs.get(name, NOTHING))
        for name in dict.fromkeys((*mine, *theirs))
        if mine.get(name) != theirs.get(name)
        and not (machines and name != "part" and name in mine and name in theirs)
    ]


def _cores(seat: SeenSeat, table: SeenTable) -> str:
    return f"{len(seat.cpus)} CPUs, {format_list(seat.cpus)}" if seat.cpus else "not bound"


def _memory(seat: SeenSeat, table: SeenTable) -> str:
    return f"{seat.memory} {format_list(seat.mems)}" if seat.mems else "not bound"


def _gpus(seat: SeenSeat, table: SeenTable) -> str:
    return format_list(seat.gpus) or NOTHING


def _own(seat: SeenSeat, table: SeenTable) -> str:
    return _indexes(seat.hcas, table)


def _reserve(seat: SeenSeat, table: SeenTable) -> str:
    return _indexes(seat.next_hcas, table)


def _indexes(hcas: tuple[str, ...], table: SeenTable) -> str:
    """Which of the node's: names differ from system to system, the order of addresses does not."""
    return ",".join(str(table.hcas.index(hca)) if hca in table.hcas else hca for hca in hcas) or NOTHING


def _brief(hca: str) -> str:
    return "/".join(hca.split("/")[:2])


def _address(hca: str) -> str:
    return hca.partition("/")[2]


_ASPECTS = (
    ("cores", _cores),
    ("memory", _memory),
    ("GPUs", _gpus),
    ("HCAs", _own),
    ("HCAs in reserve", _reserve),
)
