"""Scripts for shells with another grammar: no command of them is read, and what their first lines ask a
scheduler for is told."""

import re
from collections.abc import Sequence
from os.path import basename

from msgspec import structs

from hpclaunch.convert import sources
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.families.others import no_question
from hpclaunch.convert.inputs import Input
from hpclaunch.convert.mapping.ranks import of_request
from hpclaunch.convert.mapping.schedulers import other_schedulers
from hpclaunch.convert.mapping.schedulers.asked_otherwise import OTHER_SHELLS
from hpclaunch.convert.mapping.slurm.batch import allocation
from hpclaunch.convert.programs.names import any_of, interpreter
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.directives import directives
from hpclaunch.values.conversion import Place

_IN_BASH = "write it for bash first, or write a job file: `hpclaunch schema job` has its keys"
# What else -S names as the shell of a script: no line of that is one for sh.
_UNREAD = OTHER_SHELLS | {"python", "python2", "python3", "perl", "Rscript", "R", "ruby", "octave"}
_NAMES = re.compile(rf"^#[^\n]*[ \t]-S[ \t]+\S*{any_of(tuple(_UNREAD))}", re.MULTILINE)
_SHELL = "-S"  # of PBS and Grid Engine, which counts more than the first line


def refuse(inputs: Sequence[Input], draft: Draft) -> bool:
    """Refuse the first of these scripts, and tell what it asks for. Returns whether there is one."""
    for each in inputs:
        place, shell = _shell(each)
        if shell:
            _put(each, draft)
            said = f"a script for {shell}: hpclaunch reads scripts for sh and bash alone"
            draft.refuse(said, [place], f"a script for {shell}", todo=_IN_BASH)
            return True
    return False


def _shell(given: Input) -> tuple[Place, str]:
    """The shell with another grammar, and the line that names it; "" for none."""
    is_named = given.role == "shell" and _NAMES.search(given.text)
    for each in directives(Source(given.name, given.text)) if is_named else ():
        if each.system in ("PBS", "MSUB", "$") and _SHELL in each.words[:-1]:
            shell = basename(each.words[each.words.index(_SHELL) + 1])
            return each.place, shell if shell in _UNREAD else ""
    shell = interpreter(given.text)
    return Place(given.name, 1), shell if shell in OTHER_SHELLS else ""


def _put(given: Input, draft: Draft) -> None:
    reading = sources.read([structs.replace(given, text=_head(given.text), role="shell")], {}, draft)
    others = [each for each in reading.directives if each.system != "SBATCH"]
    if len(others) < len(reading.directives):
        allocation.put(reading, draft)
    other_schedulers.put(others, draft)
    of_request.not_started(draft)
    draft.findings[:] = [no_question(each) for each in draft.findings]


def _head(text: str) -> str:
    """The comments before the first command, as a text for sh."""
    head = []
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            break
        head.append("#!/bin/sh" if line.startswith("#!") else line)
    return "\n".join([*head, ""])
