"""Variables of the submitter's shell that the script tests for being set: ${RESUME:+--resume}."""

import re
from collections.abc import Collection

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Place

_TESTED = re.compile(r"\$\{([A-Za-z_]\w*):?\+")
_LISTS = re.compile(r"PATH$|FLAGS$")  # ${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}, which the ranks' shell puts in
_MOST = 20
_BECAME = "set, and not empty"


def say(reading: ShellReading, draft: Draft) -> None:
    """Say what is made of those that the job inherits: the script reads them elsewhere too, and they are
    taken for set."""
    inherited = {str(fact.value) for key, fact in draft.facts.items() if key[0] == "inherit"}
    names = {name for name in inherited if not reading.given(name) and not _LISTS.search(name)}
    # What was read without the variable is said to be: another line handed it on (#$ -v RESUME).
    unset = {
        (each.name, each.place.line)
        for each in reading.assumed
        if not each.default and each.place.file == reading.script
    }
    text = next((each.text for each in reading.sources if each.name == reading.script), "") if names else ""
    found: dict[str, Place] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for tested in _TESTED.finditer(line) if not line.lstrip().startswith("#") else ():
            if tested[1] in names and (tested[1], number) not in unset:
                found.setdefault(tested[1], Place(reading.script, number))
    for name, place in list(found.items())[:_MOST]:
        why = f"what ${{{name}:+...}} stands for is in the job, as {name} is read elsewhere as if it were set"
        todo = f"where the operator had not set it convert again with --env {name}="
        draft.say("assumed", (place,), name, became=_BECAME, why=why, todo=todo)
    _say_others(reading, draft, inherited)


def _say_others(reading: ShellReading, draft: Draft, inherited: Collection[str]) -> None:
    """The same of those that a test decides by, and that the job takes from nobody."""
    of_job = {str(key[1]) for key in draft.facts if key[0] == "env" and len(key) > 1}.union(inherited)
    of_job |= {str(fact.value) for key, fact in draft.facts.items() if key[0] == "secrets"}
    others = [name for name in reading.taken if name not in of_job and not _LISTS.search(name)]
    for name in others[:_MOST]:
        why = f"nobody gave {name}, and a test that decides by it has it set, as other lines read it so"
        todo = f"where the operator had not set it convert again with --env {name}="
        draft.say("assumed", (reading.taken[name],), name, became=_BECAME, why=why, todo=todo)
