"""What lines for LSF ask for (bsub(1) of LSF 10.1)."""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container.images import reference
from hpclaunch.convert.mapping.schedulers.asked_values import (
    Places,
    Rule,
    put_array,
    put_count,
    put_hint,
    put_name,
    put_number,
    put_time,
    say_gpu_kind,
    say_rest,
)
from hpclaunch.convert.reading import Directive

_ON_NODE = ("ranks_per_node",)
_LONG = 8  # digits
_NOT_TOLD = "how many of these slots are on a host is not told"
_FEWER = "no host has more of the slots than so many, and the job asks for fewer"
_SPAN = re.compile(r"span\[\s*hosts\s*=\s*1\s*\]")
_PTILE = re.compile(r"ptile=(\d+)")
_EXCLUSIVE = re.compile(r"\bngpus_(?:excl_p|shared|physical)=(\d+)")  # before LSF had -gpu
# Of -R: what is put here, memory (rusage) and a preference (order), but for select[] and affinity[].
_SECTION = re.compile(r"\b(?:span|rusage|order)\[[^\]]*\]")
_NUMBER = re.compile(r"\bnum=(\d+)(/task)?")
# Of -gpu, beside its number and kind: how the GPUs are shared, which a job does not say.
_SHARED = ("num", "mode", "mps", "j_exclusive", "aff")
_OF_TASKS = "so many GPUs for each task, and how many tasks are on a node tells those of a node"
_MINUTES = re.compile(r"\d+:\d+")
_DOCKER = re.compile(r"docker\(\s*([^\s()]+)\s*\)")


def put_slots(directives: Sequence[Directive], draft: Draft) -> None:
    """-n 16, the slots of a job, when all else that it is asked for is told: with those of a host they tell
    the hosts, and with the hosts the slots of each."""
    for directive in directives:
        at = directive.words.index("-n") if "-n" in directive.words[:-1] else -1
        if at >= 0:
            text = directive.words[at + 1].partition(",")[0]
            _slots(text, [directive.place], f"-n {text}", draft)


def _slots(text: str, places: Places, what: str, draft: Draft) -> None:
    slots = int(text) if text.isdecimal() and len(text) < _LONG else 0
    nodes, on_node = draft.number("nodes"), draft.number("ranks_per_node")
    if slots and on_node and not nodes and slots < on_node:
        most = draft.facts.pop(_ON_NODE)
        draft.unsay(_ON_NODE)
        draft.say("without effect", most.places, f"span[ptile={on_node}]", why=_FEWER)
        put_number("nodes", "1", places, what, draft)
        put_number("ranks_per_node", text, places, what, draft)
    elif slots == 1 or (slots and on_node and not nodes and slots % on_node == 0):
        put_number("nodes", str(slots // (on_node or 1)), places, what, draft)
    elif slots and nodes and not on_node and slots % nodes == 0:
        put_number("ranks_per_node", str(slots // nodes), places, what, draft)
    elif not (slots and nodes and on_node and slots == nodes * on_node):
        draft.unsay(_ON_NODE)
        draft.facts.pop(_ON_NODE, None)
        draft.say("left", places, what, why=_NOT_TOLD, todo="write nodes and ranks_per_node")


def _in_the_end(value: str, places: Places, what: str, draft: Draft) -> bool:
    return True  # by put_slots


def _job_name(value: str, places: Places, what: str, draft: Draft) -> bool:
    """NAME[1-8]%2 is an array of jobs (bsub(1), -J)."""
    name, bracket, rest = value.partition("[")
    if bracket:
        put_array("LSF", "LSB_JOBINDEX")(rest, places, f"[{rest}", draft)
    return put_name(name, places, what, draft) or bool(bracket)


def _minutes(value: str, places: Places, what: str, draft: Draft) -> bool:
    """bsub -W: [hours:]minutes[/host]."""
    text = value.partition("/")[0]
    if text.isdecimal():
        return put_number("time", text, places, what, draft)
    return bool(_MINUTES.fullmatch(text)) and put_time(f"{text}:00", places, what, draft)


def _requirement(value: str, places: Places, what: str, draft: Draft) -> bool:
    """span[ptile=4] or span[hosts=1], of which 1 is the only number (bsub(1), "Span string"), and
    rusage[ngpus_excl_p=2] of each host."""
    found = False
    if gpus := _EXCLUSIVE.search(value):
        found |= put_number("gpus_per_node", gpus[1], places, what, draft)
    if _SPAN.search(value):
        found |= put_number("nodes", "1", places, what, draft)
    elif on_node := _PTILE.search(value):
        found |= put_number("ranks_per_node", on_node[1], places, what, draft)
    if found:
        say_gpu_kind(value, places, draft)
        say_rest([_SECTION.sub("", value)], "LSF", places, draft)
    return found


def _application(value: str, places: Places, what: str, draft: Draft) -> bool:
    """-a 'docker(IMAGE)' (bsub(1), -a)."""
    image = _DOCKER.fullmatch(value)
    if image:
        draft.put(("image",), reference(image[1]), places, what)
    return bool(image)


def _gpus(value: str, places: Places, what: str, draft: Draft) -> bool:
    """num=2, of each host, and num=2/task (bsub(1), -gpu)."""
    each = _NUMBER.search(value)
    if each is None:
        return False
    if each[2]:
        draft.say("left", places, each[0], why=_OF_TASKS, todo="write gpus_per_node")
    elif not put_number("gpus_per_node", each[1], places, what, draft):
        return False
    say_gpu_kind(value, places, draft)
    its = value.split(":")
    say_rest([part for part in its if part.partition("=")[0] not in _SHARED], "LSF", places, draft)
    return True


RULES: dict[str, Rule] = {
    "-J": _job_name,
    "-W": _minutes,
    "-n": _in_the_end,
    "-nnodes": put_count("nodes"),
    "-R": _requirement,
    "-gpu": _gpus,
    "-a": _application,
    "-q": put_hint("partition"),
    "-P": put_hint("account"),
    "-u": put_hint("mail"),
}
