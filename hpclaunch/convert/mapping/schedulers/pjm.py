"""What lines for PJM ask for, the job manager of Fujitsu's Technical Computing Suite (pjsub(1) of its Job
Operation Software 3)."""

import re
from collections.abc import Sequence
from math import prod

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.schedulers.asked_values import (
    Places,
    Rule,
    put_hint,
    put_name,
    put_number,
    put_seconds,
    say_rest,
)
from hpclaunch.convert.reading import Directive

_SHAPE = re.compile(r"(\d{1,6}(?:x\d{1,6}){0,2})(?::\w+)?")
_ON_NODE = re.compile(r"max-proc-per-node=(\d+)")
_ALL = re.compile(r"(?<![\w-])proc=(\d{1,8})(?!\d)")


def _resources(value: str, places: Places, what: str, draft: Draft) -> bool:
    """-L node=16,elapse=01:00:00,rscgrp=large: nodes may be a shape (node=4x4x2:torus)."""
    found = False
    rest: list[str] = []
    for part in value.split(","):
        name, _, text = part.partition("=")
        shape = _SHAPE.fullmatch(text)
        if name == "elapse":
            found |= put_seconds(text, places, part, draft)
        elif name == "node" and shape:
            nodes = prod(map(int, shape[1].split("x")))
            found |= put_number("nodes", str(nodes), places, part, draft)
        elif name == "gpu":  # of a part of a node, where a resource group has such
            found |= put_number("gpus_per_node", text, places, part, draft)
        elif name in ("rscgrp", "rscunit") and text:
            found |= name == "rscunit" or put_hint("partition")(text, places, part, draft)
        else:
            rest.append(part)
    if found:
        say_rest(rest, "PJM", places, draft)
    return found


def _mpi(value: str, places: Places, what: str, draft: Draft) -> bool:
    """--mpi max-proc-per-node=4,proc=64, of which the latter is by put_processes."""
    each = _ON_NODE.search(value)
    return put_number("ranks_per_node", each[1], places, what, draft) if each else bool(_ALL.search(value))


def put_processes(directives: Sequence[Directive], draft: Draft) -> None:
    """proc=64, the processes of all nodes, when all else that is asked for is told: where no line says how
    many are on a node they are spread over the nodes (pjsub(1), --mpi)."""
    for directive in directives:
        found = _ALL.search(" ".join(directive.words)) if "--mpi" in directive.words else None
        if found is None or draft.number("ranks_per_node"):
            continue
        nodes, count = draft.number("nodes"), int(found[1])
        if nodes and count % nodes == 0:
            put_number("ranks_per_node", str(count // nodes), [directive.place], found[0], draft)
        else:
            why, todo = "how many of these processes are on a node is not told", "write ranks_per_node"
            draft.say("left", [directive.place], found[0], why=why, todo=todo)


RULES: dict[str, Rule] = {
    "-N": put_name,
    "-L": _resources,
    "--mpi": _mpi,
    "-g": put_hint("account"),
}
