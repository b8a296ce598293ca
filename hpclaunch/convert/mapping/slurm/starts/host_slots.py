"""Slots that a script tells beside its hosts, where nobody else gives them to mpirun: -H a:4,b:2, or a list.

mpirun fills those of one host before those of the next one: mpirun(1) of Open MPI, "--map-by" (slot is the
default) and "-H" (a host that is named again has a slot more); of MPICH, "-hosts a:4,b:2" alike.
"""

from collections.abc import Sequence

from hpclaunch.convert.mapping.ranks.mpi import FILLS, Told
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks
from hpclaunch.convert.mapping.words.host_lists import HostList
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

_MOST_SHOWN = 4


def of(layer: Layer, listed: HostList | None) -> tuple[int, ...]:
    """The slots of each host in their order, none where one of them is not told."""
    option = layer.option("host")
    if option is None:
        return listed.each if listed is not None and layer.option("hostfile") is not None else ()
    found: dict[str, int] = {}
    names = [each.partition(":") for each in (known(option.value or ()) or "").split(",") if each]
    for name, _, slots in names:
        if slots and not slots.isdecimal():
            return ()
        found[name] = found.get(name, 0) + int(slots or 1)
    is_told = any(slots for *_, slots in names) or len(found) < len(names)
    return tuple(found.values()) if is_told and all(found.values()) else ()


def sized(layer: Layer, told: Told | None, slots: Sequence[int], places: tuple[Place, ...]) -> Ranks | None:
    """The ranks on hosts with these slots, None where mpirun's options put them otherwise. `told` is what
    these say of their number."""
    policy = layer.option("map-by")
    by_slot = policy is None or (known(policy.value or ()) or "").lower() in FILLS
    if not slots or not by_slot:
        return None
    if told is not None and (not told.is_total or not told.total):
        return None
    left = told.total if told is not None and told.total else sum(slots)
    if left > sum(slots):
        return None
    found = []
    for each in slots:
        if left:
            found.append(min(each, left))
            left -= found[-1]
    if len(set(found)) == 1:
        return Ranks(len(found), found[0], places)
    its = ", ".join(map(str, found[:_MOST_SHOWN])) + (" and so on" if len(found) > _MOST_SHOWN else "")
    return Ranks(len(found), None, places, f"{layer.called} fills the slots of each host: {its}")
