"""What lines for Grid Engine ask for (qsub(1) of Grid Engine 8); rt_F and rt_AF are ABCI's names of a whole
node, f_node and node_f those of TSUBAME 3 and 4."""

import re

from hpclaunch.convert.cores import MEMORY
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.schedulers.asked_values import (
    Places,
    Rule,
    put_array,
    put_hint,
    put_name,
    put_number,
    put_seconds,
    say_gpu_kind,
    say_rest,
)

# Parallel environments that sites set up with $pe_slots, which is all slots on one host (sge_pe(5)).
_OF_ONE_HOST = re.compile(
    r"(?i)(?:smp|openmp|omp|shm|shared|threaded|threads|multithread|multicore|serial)\d*"
)
_ON_ONE_HOST = "a parallel environment of such a name has its slots on one host, as sites set it up"
_NOT_TOLD = "how many of these slots are on a host the parallel environment tells, and no line of the script"


def _hours(value: str, places: Places, what: str, draft: Draft) -> bool:
    """Grid Engine's h_rt: seconds, or hours:minutes:seconds, of which a zero may be left out and no colon
    (sge_types(1), "time_specifier")."""
    if ":" in value and value.count(":") != 2:
        return False
    return put_seconds(":".join(each or "0" for each in value.split(":")), places, what, draft)


_MEMORY = ("h_vmem", "s_vmem", "mem_free", "m_mem_free", "virtual_free", "h_data", "h_rss")


def _resources(value: str, places: Places, what: str, draft: Draft) -> bool:
    found = False
    rest: list[str] = []
    for part in value.split(","):
        name, _, text = part.partition("=")
        if name in ("h_rt", "s_rt"):
            found |= _hours(text, places, part, draft)
        elif name in ("rt_F", "rt_AF", "rt_HF", "f_node", "node_f", "node"):
            found |= put_number("nodes", text, places, part, draft)
        elif name in ("gpu", "gpus", "ngpus"):
            found |= put_number("gpus_per_node", text, places, part, draft)
        elif name in _MEMORY:
            draft.say("replaced", places, part, why=MEMORY)
            found = True
        else:
            rest.append(part)
    if found:
        say_gpu_kind(value, places, draft)
        say_rest(rest, "Grid Engine", places, draft)
    return found


def _environment(value: str, places: Places, what: str, draft: Draft) -> bool:
    """-pe NAME 8."""
    name, _, slots = value.partition(" ")
    if _OF_ONE_HOST.fullmatch(name) and slots.strip().isdecimal():
        draft.put(("nodes",), 1, places, what, why=_ON_ONE_HOST, kind="assumed")
        return put_number("ranks_per_node", slots.strip(), places, what, draft)
    draft.say("left", places, what, why=_NOT_TOLD, todo="write nodes and ranks_per_node")
    return True


RULES: dict[str, Rule] = {
    "-N": put_name,
    "-t": put_array("Grid Engine", "SGE_TASK_ID"),
    "-l": _resources,
    "-pe": _environment,
    "-q": put_hint("partition"),
    "-P": put_hint("account"),
    "-g": put_hint("account"),
    "-M": put_hint("mail"),
}
