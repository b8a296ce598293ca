"""Assignments: NAME=value, NAME+=value, NAME[index]=value and NAME=(...)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.statements import Assignment, Element
from hpclaunch.readback.shell.told import may_be_many
from hpclaunch.readback.shell.values import Value, join, known

if TYPE_CHECKING:
    from hpclaunch.readback.shell.expand import Expander


def assign(state: State, expander: "Expander", assignment: Assignment, keyed: bool = False) -> None:
    """Carry the assignment out; `keyed`: an array of it has keys that are text (declare -A). Raises
    Unreadable."""
    name, index, adds = assignment.name, assignment.index, assignment.adds
    # What stands behind the = may change the variable, and comes first.
    value = expander.assigned(assignment.value) if assignment.array is None else ()
    before = state.get(name)
    old = before.value if before else None
    keyed = keyed or (isinstance(old, Array) and old.keyed)
    if assignment.array is not None:
        start = _as_array(old, keyed) if adds else Array({}, keyed=keyed)
        state.assign(name, _array(expander, assignment.array, start))
        return
    if index is None and not isinstance(old, Array):
        state.assign(name, join([*_old(expander, name, old), *value]) if adds else value)
        return
    array = _as_array(old, keyed)
    key = _key(expander, index, keyed)
    if key is None:
        state.assign(name, structs.replace(array, whole=False))
        return
    if key not in array.items and isinstance(key, int) and key < 0:
        key += 1 + max((each for each in array.items if isinstance(each, int)), default=-1)
    expander.budget.spend(len(array.items) // 200)
    added = join([*array.items.get(key, ()), *value]) if adds else value
    items = {**array.items, key: added}
    if isinstance(key, int) and key not in array.items:
        items = dict(sorted(items.items(), key=_number))
    state.assign(name, structs.replace(array, items=items))


def _key(expander: "Expander", index: Word | None, keyed: bool) -> int | str | None:
    """The index or the key, None where it is not known."""
    if keyed:
        return "0" if index is None else known(expander.joined(index))
    return 0 if index is None else expander.number(index)


def _old(expander: "Expander", name: str, old: Value | Array | None) -> Value:
    if isinstance(old, Array):
        return ()
    return expander.before(name) if old is None else old


def _as_array(value: Value | Array | None, keyed: bool) -> Array:
    if isinstance(value, Array):
        return structs.replace(value, keyed=keyed)
    return Array({} if value is None else {"0" if keyed else 0: value}, keyed=keyed)


def _array(expander: "Expander", elements: Sequence[Element], start: Array) -> Array:
    expander.budget.spend(len(start.items) // 200)
    items = dict(start.items)
    whole, keyed = start.whole, start.keyed
    last = next(reversed(items), -1)  # they are in their order
    following = last + 1 if isinstance(last, int) else 0
    sorts = False
    pairs: list[Value] = []
    for element in elements:
        if element.index is None:
            values = expander.fields(element.value)
            if keyed:
                pairs += values
                whole = whole and len(values) == 1 and not may_be_many(values[0])
                continue
            for value in values:
                items[following] = value
                following += 1
            continue
        value = expander.value(element.value)
        key = _key(expander, element.index, keyed)
        if key is None:
            whole = False
            continue
        items[key] = value
        if isinstance(key, int):
            following = key + 1
            sorts = True
    for index in range(0, len(pairs), 2):  # M=(key value key value), of bash 5.1 and later
        name = known(pairs[index])
        whole = whole and name is not None
        items[name or ""] = pairs[index + 1] if index + 1 < len(pairs) else ()
    if sorts:
        items = dict(sorted(items.items(), key=_number))
    return Array(items, whole, keyed)


def _number(item: tuple[int | str, Value]) -> int:
    return item[0] if isinstance(item[0], int) else 0
