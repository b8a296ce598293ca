"""The number of the node, with which a script is started on each of them: NODE_RANK=0 ./run.sh on one,
NODE_RANK=1 ./run.sh on the next. What is given is of one node, and hpclaunch sets NODE_RANK in each rank.
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.names import REMOTE, SUBMITTERS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

OWN = "NODE_RANK"
# An option by which torchrun, deepspeed or accelerate is told it, with the variable that it has.
_BY_OPTION = re.compile(r"--(?:node|machine)[-_]rank(?:=|\s+)[\"']?\$\{?([A-Za-z_]\w*)")
_NUMBER = "the number of the node where the script was started, and each node had its own"
_WHY = f"it is {_NUMBER}: hpclaunch sets {OWN} in each rank"
_MADE = f"they are made of {_NUMBER}: the job's are those of that node on all of them"
_TODO = f"where they are to differ let the command make them, of {OWN}"
_LONGEST = 60


def names(command: Command) -> frozenset[str]:
    """The variables that have it."""
    return frozenset((OWN, *_BY_OPTION.findall(command.written)))


def put(name: str, value: Value, places: Sequence[Place], draft: Draft) -> list[tuple[str, Value]]:
    """Say what becomes of such a variable. Returns it where the command has to set it."""
    if name == OWN:
        draft.say("replaced", places, f"{name}={shown(value)}", why=_WHY)
        return []
    became = f"command: export {name}=${OWN}"
    draft.say("carried", places, name, became=became, why=_WHY, key="command")
    return [(name, (Unknown("variable", OWN),))]


def say_made(reading: ShellReading, command: Command, draft: Draft) -> None:
    """Say which words and variables of the run are made of it, and so are those of one node."""
    of_node = {name for name in names(command) if (last := reading.last(name)) and known(last.value)}
    made: dict[str, Place] = {}
    for each in reading.assigned:
        if each.name not in of_node and not of_node.isdisjoint(each.uses):
            of_node.add(each.name)
            made[each.name] = each.place
    used = [name for name in made if name in command.uses or ("env", name) in draft.facts]
    own = _BY_OPTION.sub("", command.written)
    in_words = [name for name in names(command) & of_node if re.search(rf"\$\{{?{name}\b", own)]
    if used or in_words:
        places = (command.place, *(made[name] for name in used))
        what = ", ".join([*used, *in_words])[:_LONGEST]
        draft.say("assumed", places, what, became="the values of one node", why=_MADE, todo=_TODO)


def is_for_srun(reading: ShellReading) -> bool:
    """Whether the script may be what srun starts on each node, where a number of the node is that node's own:
    it has no line for sbatch, and no srun itself."""
    return not any(each.system == "SBATCH" for each in reading.directives) and not reading.of("srun")


def is_on_each(reading: ShellReading, command: Command) -> bool:
    """Whether the script is started on each node, with the node's number, and the command is its run there: a
    variable that the launcher is told has the number, and no line goes to other hosts."""
    told = bool(_BY_OPTION.search(command.written)) and not command.loops
    alone = command.place.file == reading.script and not reading.of(*REMOTE, *SUBMITTERS)
    return told and alone and is_for_srun(reading)
