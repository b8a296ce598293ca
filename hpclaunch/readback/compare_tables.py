"""Whether the ranks of two launches are in the same places on their nodes: cores, memory, GPUs, HCAs.

Tables are of a kind of node and have a seat for each local rank, so 560 nodes cost as much as two.
"""

from hpclaunch.readback.place import NOTHING, Side
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launch import Difference, SeenSeat, SeenTable

_NUMBERING = "as many, by each machine's own numbers"


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
            found.append(Difference(f"{prefix}places of ranks", *values, why=why))
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
    found = []
    pairs = list(zip(one.seats, other.seats, strict=False))  # another number of them is said as such
    for what, text, count in (
        ("cores", _cores, lambda seat, _: len(seat.cpus)),
        ("memory", _memory, lambda seat, _: (seat.memory, len(seat.mems))),
        ("GPUs", _gpus, lambda seat, _: seat.gpus),
        ("HCAs", _own, lambda seat, _: len(seat.hcas)),
        ("HCAs in reserve", _reserve, lambda seat, _: len(seat.next_hcas)),
    ):
        values = [(text(mine, one), text(theirs, other)) for mine, theirs in pairs]
        if machines:
            same = all(count(mine, one) == count(theirs, other) for mine, theirs in pairs)
            found += _of_machines(what, values, same, machines)
            continue
        found += [
            Difference(f"local rank {rank}: {what}", *value)
            for rank, value in enumerate(values)
            if value[0] != value[1]
        ]
    return found


def _of_machines(what: str, values: list[tuple[str, str]], same: bool, machines: str) -> list[Difference]:
    """All ranks in one line, since on other machines all differ."""
    sides = [[value[side] for value in values] for side in (0, 1)]
    if sides[0] == sides[1]:
        return []
    kind, why = ("place", _NUMBERING) if same else ("difference", f"{machines} differ")
    return [Difference(f"{what} of local ranks", *("; ".join(each) for each in sides), kind, why)]  # type: ignore[arg-type]


def _hcas(one: SeenTable, other: SeenTable, machines: str) -> list[Difference]:
    """The compute HCAs of a node: as many, at the same addresses."""
    if one.hcas == other.hcas:
        return []
    lists = [" ".join(_brief(hca) for hca in table.hcas) or NOTHING for table in (one, other)]
    if len(one.hcas) != len(other.hcas):
        counts = (f"{len(table.hcas)}: {text}" for table, text in zip((one, other), lists, strict=True))
        return [Difference("compute HCAs of a node", *counts, why=f"{machines} differ" if machines else "")]
    if machines:
        return [Difference("compute HCAs of a node", *lists, "place", _NUMBERING)]
    if [_address(hca) for hca in one.hcas] == [_address(hca) for hca in other.hcas]:
        why = "the same addresses: names are each system's own, and ranks go by addresses"
        return [Difference("compute HCAs of a node", *lists, "place", why)]
    return [
        Difference(f"HCA {index}", mine, theirs)
        for index, (mine, theirs) in enumerate(zip(one.hcas, other.hcas, strict=True))
        if _address(mine) != _address(theirs)
    ]


def _parts(one: SeenTable, other: SeenTable, machines: str) -> list[Difference]:
    """On parts of nodes the ranks find their cores by these settings."""
    mine, theirs = dict(one.part), dict(other.part)
    found = []
    for name in dict.fromkeys((*mine, *theirs)):
        values = mine.get(name, NOTHING), theirs.get(name, NOTHING)
        if values[0] == values[1]:
            continue
        both = NOTHING not in values and machines and name != "part"
        found.append(
            Difference(f"on a part of a node: {name}", *values, "place", _NUMBERING)
            if both
            else Difference(f"on a part of a node: {name}", *values)
        )
    return found


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
