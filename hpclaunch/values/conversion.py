"""What a conversion found: each construct of the input, what became of it, and why."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from hpclaunch.values.launch import Difference

Kind = Literal[
    "carried", "replaced", "left", "assumed", "question", "defect", "repaired", "unread", "without effect"
]


State = Literal["told", "asked", "default", "not determined"]


class Place(Struct, frozen=True, order=True):
    """Lines of an input, from 1; `line` 0 is the file as a whole, and `last` 0 that one line. `file` is its
    name as it was given, or the option of the command line: --env DGXNNODES."""

    file: str
    line: int = 0
    last: int = 0

    def __str__(self) -> str:
        lines = f":{self.line}" if self.line else ""
        return f"{self.file}{lines}-{self.last}" if self.last > self.line else self.file + lines


def base_names(files: Iterable[str]) -> dict[str, str]:
    """What people call each of the files: its base name, or all of it where another one has that name."""
    known = dict.fromkeys(files)
    count = Counter(map(_base, known))
    return {file: _base(file) if count[_base(file)] == 1 else file for file in known}


def with_base_names(names: Mapping[str, str]) -> Callable[[str], str]:
    """What puts into the places of a sentence (FILE:LINE) what people call each file, by the files' names."""
    longer = sorted((name for name, base in names.items() if base != name), key=len, reverse=True)
    places = [(name, names[name], re.compile(rf"(?<![\w./-]){re.escape(name)}(?=:\d)")) for name in longer]

    def renamed(text: str) -> str:
        for name, base, place in places:
            if name in text:
                text = base if text == name else base.join(place.split(text))
        return text

    return renamed if places else str


def _base(file: str) -> str:
    return file if file.startswith("--") else file.rpartition("/")[2] or file


class Finding(Struct, frozen=True, omit_defaults=True):
    """A construct of the input. `what` is it, as it is written or in words; `became` what stands for it now:
    the key of the job file, or what the tool does; `why` a reason or, of a defect, the consequence; `todo`
    what is left to the user. `key` is the job's key, if it has one: "mounts.0", "env.NCCL_DEBUG".

    carried: it is in the job file. replaced: the tool does it now, in a better way. left: it could not be
    carried. assumed: a default of the input counts, since nothing else was given. question: the input does
    not tell. defect: wrong in the input. repaired: the input was mended before it was read. unread: not
    understood. without effect: it changes nothing that is launched.
    """

    kind: Kind
    places: tuple[Place, ...]
    what: str
    became: str = ""
    why: str = ""
    todo: str = ""
    key: str = ""


class LaunchFact(Struct, frozen=True):
    """One of the facts of a launch, whatever the input is: `name` in the words of the field ("ranks"), `told`
    what is known of it in one line, `places` the lines that tell it.

    told: the job file has it, or the refused input tells it. asked: the job file has a question. default: no
    line tells it, and the job file's default counts. not determined: nothing tells it, or not all of it.
    """

    name: str
    state: State
    told: str
    places: tuple[Place, ...] = ()


class Conversion(Struct, frozen=True):
    """The job file and the report. `job` is "" where the input as a whole was refused, with `refused` as the
    reason. `hints` are for the job's `sites` (keys without a dot: account) or for a site file
    (kubernetes.rdma, volumes.NAME), with values of the types that they have there.
    `differences` are those between what the original launches and what the new job does, where both could
    be read; None where they were not compared, for the reason in `not_compared`. `launch` has each fact of a
    launch once, told or not."""

    family: str
    job: str
    refused: str
    findings: tuple[Finding, ...]
    hints: dict[str, Any]
    differences: tuple[Difference, ...] | None = None
    known_by: tuple[Place, ...] = ()
    not_compared: str = ""
    launch: tuple[LaunchFact, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the job file can be submitted as it is: nothing is left open in it."""
        return bool(self.job) and not any(each.kind == "question" and each.key for each in self.findings)
