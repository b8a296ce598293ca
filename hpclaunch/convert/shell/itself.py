"""A script that submits itself where it is not in a job yet: [ -z "$SLURM_JOB_ID" ] && exec sbatch "$0"."""

import re

from msgspec import structs

from hpclaunch.convert.programs.names import SUBMITTERS, any_of
from hpclaunch.convert.reading import Command, ShellReading, Started
from hpclaunch.readback.shell.values import Unknown, Value

_SUBMITS = re.compile(rf"\b{any_of(SUBMITTERS)}\b")
_OWN_NAME = re.compile(r"\$\{?(?:0\b|BASH_SOURCE)")
_OF_FOLDER = re.compile(r"\bdirname\b")


def may_submit(reading: ShellReading) -> bool:
    """Whether the script may have such a line that a job does not come to."""
    text = next((each.text for each in reading.sources if each.name == reading.script), "")
    if reading.started or not _SUBMITS.search(text):
        return False
    name = reading.script.rpartition("/")[2]
    for line in text.replace("\\\n", " ").splitlines():
        found = None if line.lstrip().startswith("#") else _SUBMITS.search(line)
        if found is not None and (name in line[found.end() :] or _OWN_NAME.search(line, found.end())):
            return True
    return False


def submissions(outside: ShellReading, in_job: ShellReading) -> list[tuple[Command, Started]]:
    """The commands that submit the script where it is read as it behaves `outside` of a job, and not where it
    is read as it does `in_job`, each with the job as it starts it: with what was exported there, and is not
    in the job itself."""
    again = {each.place for each in in_job.of(*SUBMITTERS)}
    there = {(each.name, each.place) for each in in_job.assigned}
    own = {each.name for each in outside.assigned if (each.name, each.place) not in there}
    found = []
    for each in outside.of(*SUBMITTERS):
        at = next((n for n, word in enumerate(each.words) if n and _is_itself(word, outside.script)), 0)
        if at and each.place not in again and each.place.file == outside.script:
            exported = tuple((name, value) for name, value in each.environment if name in own)
            begun = Started(
                each.place, each.written, each.words[at + 1 :], (*exported, *each.prefix), bool(each.loops)
            )
            found.append((structs.replace(each, words=(*each.words[:at], (outside.script,))), begun))
    return found


def _is_itself(word: Value, script: str) -> bool:
    """Whether the word is the script's own path."""
    first = word[0] if word else ""
    if isinstance(first, Unknown) and len(word) == 1:
        if first.kind == "argument":
            return first.name == "0"
        return bool(_OWN_NAME.search(f"${first.name}")) and not _OF_FOLDER.search(first.name)
    last = word[-1] if word else ""
    name = script.rpartition("/")[2]
    return isinstance(last, str) and (last == name or last.endswith(f"/{name}"))
