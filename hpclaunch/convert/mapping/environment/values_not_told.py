"""An exported value that the script does not tell: it is the submitter's, or made where the script runs."""

import re
from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment.reached import Handed, inherit
from hpclaunch.convert.mapping.ranks import ports, rendezvous
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.mapping.words.made import alternatives, by_submission, in_doubt
from hpclaunch.convert.mapping.words.texts import is_here, line
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.slurm_variables import OF_GPUS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, shown

_MOST_LINES = 20


def put(
    reading: ShellReading,
    each: Handed,
    command: Command,
    draft: Draft,
    *,
    stand_ins: Mapping[str, str],
    gpus: int | None,
    in_container: bool,
) -> list[tuple[str, Value]]:
    """Put such a variable into the draft, or say what is left of it. Returns it where the command's text must
    set it. `stand_ins` are names of the job's for what the script computes, `gpus` how many a node has;
    `in_container`: the ranks are in one, and the script is not."""
    name, value = each.name, each.value
    own = isinstance(value[0], Unknown) and value[0].name == name  # HOSTNAME, exported as it is
    addressed = value if own else rendezvous.with_first_node(reading, value)
    if ports.exported(name, value):
        draft.put(("rendezvous",), "torch", each.places, name, why=rendezvous.SETS_ALL)
        value = (Unknown("variable", ports.PORT),)
    elif addressed != value and not line([addressed], stand_ins).doubt:
        draft.put(("rendezvous",), "torch", each.places, name, why=rendezvous.STANDS_IN)
        value = addressed
    part = value[0] if len(value) == 1 else ""
    to_fill = sorted(draft.to_fill_in & set(names_in(value)))
    if to_fill:
        question = f"{name}={each.short}: {', '.join(to_fill)} is to be filled in"
        draft.ask(("env", name), question, each.places, name)
        return []
    doubtful = [made for made in in_doubt(reading, [value]) if not stand_ins.get(made)]
    if doubtful:
        question = alternatives(reading, doubtful[0])
        lines = [other.place for other in reading.given(doubtful[0])]
        draft.ask(("env", name), question, (*lines[:_MOST_LINES], *each.places), name)
        return []
    if in_container and any(map(is_here, value)):
        why = "it names the folder where the job was submitted, which a rank in an image does not know"
        todo = (
            f"write env.{name} in the job file, with the folder in the image; where that has the same name "
            "there convert again with --env PWD=/FOLDER"
        )
        draft.say("left", each.places, f"{name}={each.short}", why=why, todo=todo)
        return []
    its_own = isinstance(part, Unknown) and part.name == name and part.kind in ("variable", "either")
    if its_own and not stand_ins.get(name):  # of a loop's counter the number of the trial stands in
        if name in OF_GPUS and gpus and any(of.system == "SBATCH" for of in reading.directives):
            why = "Slurm had set it, to the GPUs of the job, and the job's ranks have those without it"
            draft.say("replaced", each.places, f"{name}={each.short}", why=why)
        elif its_job := by_submission(reading, f"${{{name}}}"):  # --export=NAME=$NAME in a loop of sbatch
            draft.ask(("env", name), f"the value of {name}: {its_job}", each.places, name)
        else:
            inherit((name,), each.places, draft, name)
        return []
    each_job = next(filter(None, (by_submission(reading, shown((made,))) for made in value)), "")
    can_be_made = not line([value], stand_ins).doubt
    if can_be_made and not each_job and not _is_of_all_rounds(reading, name, value, command):
        shows = f"{name}={each.short}"
        draft.say("carried", each.places, name, became=f"command: export {shows}", key="command")
        return [(name, value)]
    if _is_in_text(name, command):
        question = f"the value of {name}, which the command names: {each.short} is made by the script"
        draft.ask(("env", name), question, each.places, name)
        return []
    if any(isinstance(made, Unknown) and made.kind == "argument" for made in value):
        question = f"the value of {name}, which the script exports: {each.short}"
        draft.ask(("env", name), question, each.places, f"{name}={each.short}")
        return []
    made = each_job or "made where the script runs"
    shows = name if can_be_made and each_job else f"{name}={each.short}"
    if shows == name:
        made = f"{each.short}, {made}"
    todo = f"write env.{name} in the job file if the ranks need it"
    if name in rendezvous.ADDRESSES:
        todo = f"if the ranks need it and it is the first node's {rendezvous.in_command(name)}"
    draft.say(
        "left",
        each.places,
        shows,
        why=f"its value is {made}, and a job file has none of it",
        todo=todo,
        key=f"env.{name}",
    )
    return []


def _is_of_all_rounds(reading: ShellReading, name: str, value: Value, command: Command) -> bool:
    """Whether it has a random number that is made before the loop, where each trial gets another."""
    if "RANDOM" not in names_in(value) or not loops_of_trials(command):
        return False
    if name in dict(command.prefix):
        return "RANDOM" not in command.uses
    made = reading.at(name, command.place)
    return made is not None and not (made.loops and "RANDOM" in made.uses)


def _is_in_text(name: str, command: Command) -> bool:
    """Whether a text that the ranks' own shell reads names the variable: bash -c '$LAUNCHER train.py'."""
    named = re.compile(rf"\$(?:{name}\b|\{{{name}\b)")
    return any(isinstance(part, str) and named.search(part) for word in command.words for part in word)
