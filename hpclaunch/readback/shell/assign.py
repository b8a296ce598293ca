"""Assignments: NAME=value, NAME+=value, NAME[index]=value and NAME=(...)."""

import re

from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.expand import Expander
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.tokens import words
from hpclaunch.readback.shell.values import Unknown, Value, join

_TARGET = re.compile(r"([A-Za-z_]\w*)(?:\[([^\]]*)\])?(\+?)=", re.DOTALL)
_ELEMENT = re.compile(r"\[([^\]]*)\](\+?)=", re.DOTALL)


def is_assignment(written: str) -> bool:
    """Whether a written word assigns."""
    return bool(_TARGET.match(written))


def target(written: str) -> str:
    """The name of the variable, "" where the word is no assignment."""
    found = _TARGET.match(written)
    return found[1] if found else ""


def assign(state: State, expander: Expander, written: str, keyed: bool = False) -> None:
    """Carry the assignment out; `keyed`: an array of it has keys that are text (declare -A). Raises
    Unreadable."""
    found = _TARGET.match(written)
    if not found:
        raise Unreadable(f"{written!r} is no assignment")
    name, index, adds = found[1], found[2], bool(found[3])
    text = written[found.end() :]
    before = state.get(name)
    old = before.value if before else None
    if text.startswith("(") and text.endswith(")"):
        start = old if adds and old is not None else Array({})
        state.assign(name, _array(expander, text[1:-1], _as_array(start), keyed))
        return
    value = expander.value(text)
    if index is None and not isinstance(old, Array):
        state.assign(name, join([*_old(state, name, old), *value]) if adds else value)
        return
    array = _as_array(old)
    key = (
        index
        if keyed or any(isinstance(each, str) for each in array.items)
        else expander.number(index or "0")
    )
    if key is None:
        state.assign(name, Array({**array.items}, whole=False))
        return
    expander.budget.spend(len(array.items) // 200)
    added = join([*array.items.get(key, ()), *value]) if adds else value
    items = {**array.items, key: added}
    if isinstance(key, int) and key not in array.items:
        items = dict(sorted(items.items(), key=_number))
    state.assign(name, Array(items, array.whole))


def _old(state: State, name: str, old: Value | Array | None) -> Value:
    if isinstance(old, Array):
        return ()
    if old is not None:
        return old
    untouched = state.get(name) is None and state.outside.may_have(name)
    return (Unknown("variable", name),) if untouched else ()


def _as_array(value: Value | Array | None) -> Array:
    if isinstance(value, Array):
        return value
    return Array({} if value is None else {0: value})


def _array(expander: Expander, text: str, start: Array, keyed: bool) -> Array:
    expander.budget.spend(len(start.items) // 200)
    items = dict(start.items)
    whole = start.whole
    last = next(reversed(items), -1)  # they are in their order
    following = last + 1 if isinstance(last, int) else 0
    sorts = False
    for token in words(text):
        found = _ELEMENT.match(token.text)
        if not found:
            for value in expander.fields(token.text):
                items[following] = value
                following += 1
            continue
        value = expander.value(token.text[found.end() :])
        if keyed:
            items[_text_key(expander, found[1])] = value
            continue
        number = expander.number(found[1])
        if number is None:
            whole = False
            continue
        items[number] = value
        following = number + 1
        sorts = True
    if sorts:
        items = dict(sorted(items.items(), key=_number))
    return Array(items, whole)


def _number(item: tuple[int | str, Value]) -> int:
    return item[0] if isinstance(item[0], int) else 0


def _text_key(expander: Expander, written: str) -> str:
    value = expander.subscript(written)
    return "".join(part if isinstance(part, str) else "?" for part in value)
