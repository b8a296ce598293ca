"""Loops over nodes: what their body changes has another value on each node."""

import re
from typing import TYPE_CHECKING

from hpclaunch.convert.shell.listing import listed
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.statements import Assignment, Declaration, For, Loop, Simple
from hpclaunch.readback.shell.values import Unknown

if TYPE_CHECKING:
    from hpclaunch.convert.shell.loops import Body
    from hpclaunch.convert.shell.walker import Walker

_NODES = re.compile(r"host|node|server|machine|worker", re.IGNORECASE)
_TO_A_NODE = re.compile(
    r"\b(?:ssh|rsh)\b(?:\s+-[A-Za-z](?:\s*[\w=/.]+)?)*\s+(\S+)"
    r"|\bsrun\b.*?\s(?:-w|--nodelist)[ =]?(\S+)",
    re.DOTALL,
)
_WORDS = re.compile(r"\w+")
_LONGEST = 2000  # of a command, where the node is told in front


def is_one(statement: For | Loop, variable: str, over: str) -> bool:
    """Whether the loop goes through nodes: its words say so, or a command of its body goes to the one that
    its variable names."""
    if _NODES.search(over):
        return True
    names = {variable, *_WORDS.findall(over)} - {""}
    for _, _, written in listed(statement.body):
        for found in _TO_A_NODE.finditer(written[:_LONGEST]):
            if names & set(_WORDS.findall(found[1] or found[2])) or _NODES.search(variable):
                return True
    return False


def forget(shell: "Walker", body: "Body") -> None:
    """Of what the body gives another value, nobody knows at its begin which one it has on a node: on the
    first what it had before, on the others what the round before it made of it."""
    shell.spend(len(body.simple) // 4)
    given = {name for each in body.simple for name in _given_by(each)}
    for name in sorted(given | body.grows):
        before = shell.state.get(name)
        if before is None or before.value is None:
            continue
        if isinstance(before.value, Array):
            shell.state.set(name, Variable(Array(before.value.items, whole=False), before.exported))
        else:
            shell.state.set(name, Variable((Unknown("either", name),), before.exported))


def _given_by(each: Simple | Declaration) -> list[str]:
    parts = each.assignments if isinstance(each, Simple) and not each.words else ()
    if isinstance(each, Declaration):
        parts = tuple(part for part in each.arguments if isinstance(part, Assignment))
    return [part.name for part in parts]
