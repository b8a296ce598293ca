"""Lines that end the script before its run, on a condition: a job runs all the same."""

import re
from itertools import takewhile

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.ways import PLACE, with_line
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, shown

# [ -f FILE ] and its like, and tests of what a command writes.
_OF_FILES = re.compile(r"(?:^|[\s!(])-[bcdefghkLNOGprsStuwx]\s|\$\(|`")
_OUTPUT = re.compile(r"\$\((?!\()|`")
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_LOOK = that("looks", "texts", "words") | {"command", "type"}
_TODO = "let the command look at that itself, or do not submit the job"


def say(reading: ShellReading, run: Command, draft: Draft) -> None:
    """Those that end it well, each by its condition, and together those that end it with a failure where a
    file or a program is not as it should be. What else fails there is a step, which ends the job."""
    failing: dict[str, Command] = {}
    ending: set[str] = set()  # a function that ends the script is one line, however often it is called
    for command in takewhile(lambda each: each is not run, reading.commands):
        if command.program != "exit" or not command.conditions or command.loops:
            continue
        if command.signals or command.within or reading.is_apart(command.place, run.place):
            continue
        on = command.conditions[-1]
        if (known(command.words[1]) if command.words[1:] else "0") == "0":
            why = f"the script ended here on a condition ({with_line(on)}), and the job runs all the same"
            if why not in ending:
                draft.say("left", (command.place,), "exit before the run", why=why, todo=_TODO)
            ending.add(why)
        elif (looks := _looks(on, reading)) and looks not in failing:
            failing[looks] = command
    if failing:
        what = f"guards of the run: {'; '.join(failing)}"
        why = "the script ended there with a failure, and the job does not look: its ranks start"
        draft.say("left", [each.place for each in failing.values()], what, why=why, todo=_TODO)


def _looks(condition: str, reading: ShellReading) -> str:
    """The command of the condition, where it looks at a file or at what a command writes, also by way of a
    variable; "" where it asks for another variable alone, or how a step ended."""
    text = PLACE.sub("", condition).removeprefix("if ")
    text = text[5:-1] if text.startswith("not (") else text
    text = text.removeprefix("! ")
    if "$?" in text:
        return ""
    if text.startswith(("[", "test ", "((")):
        return text if _OF_FILES.search(text) or _written(text, reading) else ""
    program = text.split(maxsplit=1)[0].rpartition("/")[2] if text.strip() else ""
    return text if program in _LOOK else ""


def _written(test: str, reading: ShellReading) -> bool:
    """Whether it looks at a variable that has what a command writes: N=$(ls data | wc -l)."""
    values = (shown(each.value) for name in _NAMED.findall(test) for each in reading.given(name))
    return any(_OUTPUT.search(each) for each in values)
