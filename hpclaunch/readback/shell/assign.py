"""Assignments: NAME=value, NAME+=value, NAME[index]=value and NAME=(...)."""

from collections.abc import Sequence

from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.pieces import Word
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.statements import Assignment, Element
from hpclaunch.readback.shell.values import Value, join, known


def assign(state: State, expander: Expander, assignment: Assignment, keyed: bool = False) -> None:
    """Carry the assignment out; `keyed`: an array of it has keys that are text (declare -A). Raises
    Unreadable."""
    name, index, adds = assignment.name, assignment.index, assignment.adds
    before = state.get(name)
    old = before.value if before else None
    if assignment.array is not None:
        start = old if adds and old is not None else Array({})
        state.assign(name, _array(expander, assignment.array, _as_array(start), keyed))
        return
    value = expander.value(assignment.value)
    if index is None and not isinstance(old, Array):
        state.assign(name, join([*_old(expander, name, old), *value]) if adds else value)
        return
    array = _as_array(old)
    key = _key(expander, index, keyed or any(isinstance(each, str) for each in array.items))
    if key is None:
        state.assign(name, Array({**array.items}, whole=False))
        return
    expander.budget.spend(len(array.items) // 200)
    added = join([*array.items.get(key, ()), *value]) if adds else value
    items = {**array.items, key: added}
    if isinstance(key, int) and key not in array.items:
        items = dict(sorted(items.items(), key=_number))
    state.assign(name, Array(items, array.whole))


def _key(expander: Expander, index: Word | None, keyed: bool) -> int | str | None:
    """The index or the key, None where it is not known."""
    if keyed:
        return "0" if index is None else known(expander.joined(index))
    return 0 if index is None else expander.number(index)


def _old(expander: Expander, name: str, old: Value | Array | None) -> Value:
    if isinstance(old, Array):
        return ()
    return expander.before(name) if old is None else old


def _as_array(value: Value | Array | None) -> Array:
    if isinstance(value, Array):
        return value
    return Array({} if value is None else {0: value})


def _array(expander: Expander, elements: Sequence[Element], start: Array, keyed: bool) -> Array:
    expander.budget.spend(len(start.items) // 200)
    items = dict(start.items)
    whole = start.whole
    last = next(reversed(items), -1)  # they are in their order
    following = last + 1 if isinstance(last, int) else 0
    sorts = False
    for element in elements:
        if element.index is None:
            for value in expander.fields(element.value):
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
    if sorts:
        items = dict(sorted(items.items(), key=_number))
    return Array(items, whole)


def _number(item: tuple[int | str, Value]) -> int:
    return item[0] if isinstance(item[0], int) else 0
