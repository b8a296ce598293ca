"""What lines for OAR ask for (oarsub(1) of OAR 2.5)."""

import re

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.schedulers.asked_values import (
    Places,
    Rule,
    put_array,
    put_hint,
    put_name,
    put_number,
    put_time,
    say_rest,
)

_PROPERTIES = re.compile(r"\{[^{}]*\}")
# The names of a level: the first two are OAR's own, the third and the GPUs' are those of Grid'5000.
_NODES = ("nodes", "network_address", "host")
_GPUS = ("gpu", "gpudevice")


def _resources(value: str, places: Places, what: str, draft: Draft) -> bool:
    """/nodes=2/core=8,walltime=1:30: each level counts within the one before it. A further -l is of another
    form that the job may have, of which OAR takes one."""
    asked, *others = _PROPERTIES.sub("", value).split(",")
    if ("nodes",) in draft.facts:
        return False
    found = "+" not in asked and _levels(asked, places, what, draft)
    for other in others:
        name, _, text = other.strip().partition("=")
        found |= name == "walltime" and _walltime(text, places, other, draft)
    if found:
        say_rest(_PROPERTIES.findall(value), "OAR", places, draft)
    return found


def _levels(asked: str, places: Places, what: str, draft: Draft) -> bool:
    found, cores = False, 1
    for level in asked.strip().strip("/").split("/"):
        name, _, count = level.partition("=")
        if name in _NODES:
            found |= put_number("nodes", count, places, what, draft)
        elif found and name in _GPUS:
            put_number("gpus_per_node", count, places, what, draft)
        elif found and name in ("cpu", "core") and count.isdecimal():
            cores *= int(count)
    if found and "core=" in asked:  # of cpu= alone nobody knows how many cores it has
        put_number("ranks_per_node", str(cores), places, what, draft)
    return found


def _walltime(text: str, places: Places, what: str, draft: Draft) -> bool:
    """hours[:minutes[:seconds]]."""
    return put_time(":".join([text, "00", "00"][: 3 - text.count(":")]), places, what, draft)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("-l", "--resource"), _resources),
    **dict.fromkeys(("-n", "--name"), put_name),
    **dict.fromkeys(("-q", "--queue"), put_hint("partition")),
    "--project": put_hint("account"),
    "--array": put_array("OAR", "OAR_ARRAY_INDEX"),
}
