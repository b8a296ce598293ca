"""Loops over nodes: what their body changes has another value on each node."""

import re
from typing import TYPE_CHECKING

from msgspec import structs

from hpclaunch.convert.shell.listing import own_text, parts_of
from hpclaunch.readback.shell.state import Array
from hpclaunch.readback.shell.statements import (
    Assignment,
    Declaration,
    For,
    Loop,
    Simple,
    Statement,
)

if TYPE_CHECKING:
    from hpclaunch.convert.shell.loops import Body
    from hpclaunch.convert.shell.walker import Walker

# Words that name nodes, or hold their names.
NODES = re.compile(r"host|node|server|machine|worker", re.IGNORECASE)
_TO_A_NODE = re.compile(
    r"\b(?:ssh|rsh)\b(?:\s+-[A-Za-z](?:\s*[\w=/.]+)?)*\s+(\S+)"
    r"|\bsrun\b.*?\s(?:-w|--nodelist)[ =]?(\S+)",
    re.DOTALL,
)
_WORDS = re.compile(r"\w+")
_LONGEST = 2000  # of a command, where the node is told in front


def is_one(shell: "Walker", statement: For | Loop, variable: str, over: str) -> bool:
    """Whether the loop goes through nodes: its words say so, or a command of its body goes to the one that
    its variable names."""
    if NODES.search(over):
        return True
    reached = _reached(shell, statement.body)
    if reached is None:
        return False
    return not reached.isdisjoint((variable, *_WORDS.findall(over))) or bool(NODES.search(variable))


def _reached(shell: "Walker", statement: Statement) -> frozenset[str] | None:
    """The words of the nodes that commands within it go to, None where none does. Of loops within loops each
    is gone through once."""
    parts = parts_of(statement)
    known = shell.reached_nodes.get(id(statement)) if parts else None
    if known is not None and known[0] is statement:
        return known[1]
    matches = _TO_A_NODE.findall(own_text(statement)[:_LONGEST])
    words = [frozenset(_WORDS.findall(host or listed)) for host, listed in matches]
    words += [within for part in parts if (within := _reached(shell, part)) is not None]
    found = frozenset[str]().union(*words) if words else None
    if parts:
        shell.reached_nodes[id(statement)] = (statement, found)
    return found


def forget(shell: "Walker", body: "Body") -> None:
    """Of what the body gives another value, nobody knows at its begin which one it has on a node: on the
    first what it had before, on the others what the round before it made of it."""
    shell.spend(len(body.simple) // 4)
    given = {name for each in body.simple for name in _given_by(each)}
    for name in sorted(given | body.grows):
        before = shell.state.get(name)
        if before is None or before.value is None:
            continue
        value = before.value
        if isinstance(value, Array):
            shell.state.set(name, structs.replace(before, value=structs.replace(value, whole=False)))
        else:
            shell.state.forget(name)


def _given_by(each: Simple | Declaration) -> list[str]:
    parts = each.assignments if isinstance(each, Simple) and not each.words else ()
    if isinstance(each, Declaration):
        parts = tuple(part for part in each.arguments if isinstance(part, Assignment))
    return [part.name for part in parts]
