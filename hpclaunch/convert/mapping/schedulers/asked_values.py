"""A value that a scheduler is asked for, put into the draft as the key of the job that it is.

Each of these gives False where the value is of no form that is known: nothing was put then.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.values.conversion import Place

Places = Sequence[Place]
# What an option asks for, its lines, and the option as it is written.
Rule = Callable[[str, Places, str, Draft], bool]
# As sites and schedulers call it: gpu_type=rtx6000, gpu_model=A40 (resources that a site defines), gmodel of
# -gpu (bsub(1) of LSF 10.1), gpu_model0 of select[] (its lsload).
_GPU_KIND = re.compile(
    r"\b(?:n?gpus?_?(?:type|model|kind|arch|name)\d*|gmodel|accelerator_(?:type|model))={1,2}['\"]?[\w.-]+"
)
SEE = "see whether the job needs it: `hpclaunch schema job` lists what a job file can say"
_KIND = "it names a kind of GPU as its own site does, and without one a job takes GPUs of any kind"
_TIME = re.compile(r"(?:\d{1,9}-\d+(?::\d+){2}|\d{1,9}(?::\d+){1,3})")


def put_name(value: str, places: Places, what: str, draft: Draft) -> bool:
    """Put the name of the job, with a - for what no name has; false where nothing of it is left."""
    good = re.sub(r"[^A-Za-z0-9._-]+", "-", value).strip("-._")
    if good:
        draft.put(("name",), good, places, what)
    return bool(good)


def put_number(key: str, text: str, places: Places, what: str, draft: Draft) -> bool:
    """Put a number above 0 under a key; false for any other text."""
    if not text.isdecimal() or not int(text):
        return False
    draft.put((key,), int(text), places, what)
    return True


def say_gpu_kind(value: str, places: Places, draft: Draft) -> None:
    """What names the kind of the GPUs among what is asked for, each once: how a site calls them no line
    tells."""
    for written in dict.fromkeys(_GPU_KIND.findall(value)):
        draft.say("left", places, written, why=_KIND, todo="write gpu_type")


def say_rest(parts: Iterable[str], whose: str, places: Places, draft: Draft) -> None:
    """What else is asked for beside that of which a job has a key, each once: a property of nodes of the
    site's own, say."""
    for part in dict.fromkeys(each.strip() for each in parts):
        if part and not _GPU_KIND.search(part):  # that is said as a kind
            why = f"a part of what {whose} is asked for, which no key of a job says"
            draft.say("left", places, part, why=why, todo=SEE)


def put_count(key: str) -> Rule:
    """The rule that puts a number under this key."""

    def rule(value: str, places: Places, what: str, draft: Draft) -> bool:
        return put_number(key, value, places, what, draft)

    return rule


def put_time(value: str, places: Places, what: str, draft: Draft) -> bool:
    """A time with a colon, which PBS, Torque and PJM read from its end: [[days:]hours:]minutes:seconds
    (pbs_resources(7B) of OpenPBS 23, "duration"; pjsub(1), elapse)."""
    if not _TIME.fullmatch(value):
        return False
    parts = re.split("[-:]", value)
    text = ":".join(["0", *parts][-3:])
    days = parts[0] if len(parts) == 4 else "0"
    draft.put(("time",), f"{days}-{text}" if int(days) else text, places, what)
    return True


def put_seconds(value: str, places: Places, what: str, draft: Draft) -> bool:
    """Seconds, or as `put_time` has it."""
    if not value.isdecimal() or not int(value):
        return put_time(value, places, what, draft)
    draft.put(("time",), -(-int(value) // 60), places, what, why="in seconds there, in minutes here")
    return True


def put_hint(key: str) -> Rule:
    """The rule that puts a text under this key of the site."""

    def rule(value: str, places: Places, what: str, draft: Draft) -> bool:
        if value:
            draft.hint(key, value, places, what)
        return bool(value)

    return rule


def put_array(whose: str, index: str) -> Rule:
    """The rule that says of an array that it is left. `index` is the variable of each of its jobs."""

    def rule(value: str, places: Places, what: str, draft: Draft) -> bool:
        todo = f"write a sweep over what the command makes of {index}"
        why = f"an array of {whose}'s jobs, each with an index of its own"
        draft.say("left", places, what, why=why, todo=todo)
        return True

    return rule
