"""A first line by which another program starts the script's shell: what that sets, all have that the shell
starts. A job's ranks start from nothing."""

import re
from posixpath import basename

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment.sourced import UNTOLD
from hpclaunch.convert.programs.names import SHELLS, interpreter
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Place

# #!/usr/bin/scl enable COLLECTION -- /bin/bash (scl(1)), #! /usr/bin/env nix-shell (nix-shell(1), "Use as a
# #!-interpreter", whose second line names the shell).
_LINE = re.compile(r"#!.*")
_NEXT = re.compile(r"\n#![ \t]*(.*)")


def say(reading: ShellReading, image: bool, draft: Draft) -> None:
    """Say that what such a program sets is not in the job."""
    text = next((each.text for each in reading.sources if each.name == reading.script), "")
    line, program = _LINE.match(text), interpreter(text)
    if line is None or program in SHELLS:
        return
    more = _NEXT.match(text, line.end())
    words = line[0].removeprefix("#!").split()
    at = next((number for number, word in enumerate(words) if basename(word) == program), len(words))
    behind = words[at + 1 :]
    if not any(basename(word) in SHELLS for word in (*behind, *(more[1].split() if more else ()))):
        return
    why = f"{program} starts the script's shell, and what it sets the ranks had too"
    todo = f"where the ranks need it start their command through {program}"
    if image:
        todo = "write what the ranks need of it in env"
    draft.say(
        "left", (Place(reading.script, 1),), " ".join([program, *behind]), why=why, todo=todo, key=UNTOLD
    )
