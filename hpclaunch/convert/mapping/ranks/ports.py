"""Ports that a script makes for its processes to meet at -> MASTER_PORT, as each rank has it of hpclaunch."""

import re
from collections.abc import Collection, Sequence

from hpclaunch.readback.shell.values import Part, Unknown, Value, known

PORT = "MASTER_PORT"
_NAMED = r"(?:master|main|rdzv|rendezvous|dist|coord|coordinator|head|init)(?:[_-]\w+)*[_-]?port"
_NAME = re.compile(_NAMED, re.IGNORECASE)
_OPTION = re.compile(rf"(?:^|[\s\"'])--?{_NAMED}[=\s][\"']?$", re.IGNORECASE)
# What no line tells, and is another in each run: by the number of the job, by chance, or one that is free.
_MADE = re.compile(r"SLURM_JOB_?ID|RANDOM|\bshuf\b|socket|free_?port|\bss -|netstat|\blsof\b", re.IGNORECASE)


def of_words(words: Sequence[Value], first_node: Collection[str]) -> list[str]:
    """What in the words is such a port: behind the first node's address and a colon, or the value of an
    option for it. `first_node` are the parts that tell that address."""
    found: dict[str, None] = {}
    for before, word in zip([(), *words], words, strict=False):
        given = f"{known(before) or ''} "
        for index, part in enumerate(word):
            if not isinstance(part, Unknown) or part.kind not in ("number", "output"):
                continue
            front = word[index - 1] if index else given
            node = word[index - 2] if index > 1 else ""
            behind_address = front == ":" and isinstance(node, Unknown) and node.name in first_node
            of_option = isinstance(front, str) and _OPTION.search(front) and _MADE.search(part.name)
            if behind_address or of_option:
                found[part.name] = None
    return list(found)


def exported(name: str, value: Value) -> bool:
    """Whether a variable has the number of such a port, by its name and how that is made."""
    part: Part = value[0] if len(value) == 1 else ""
    made = isinstance(part, Unknown) and part.kind in ("number", "output") and _MADE.search(part.name)
    return bool(made) and _NAME.fullmatch(name) is not None
