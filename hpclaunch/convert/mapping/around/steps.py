"""What a launcher does beside its run -> `stage_in`, `setup`, `before_each` and `after`."""

import re
import shlex
from collections.abc import Collection, Sequence
from itertools import takewhile
from posixpath import normpath
from typing import Any

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.mapping.around.beyond import script_of
from hpclaunch.convert.mapping.around.likeness import say_own, unlike
from hpclaunch.convert.mapping.around.trials import Trials
from hpclaunch.convert.mapping.container import images
from hpclaunch.convert.mapping.environment.exported import inherit
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.mapping.words import inputs
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.mapping.words.texts import Line, from_here, line, path, submitters
from hpclaunch.convert.programs.enroot import imported, is_about_images
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.walk import inner as inside_of
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.image import FILE_ENDINGS

_COPIES = re.compile(r"^(rsync|cp|copy[-_.\w]*)$")
# What a script does on the batch host that is a step of a job too: files and scripts of its own.
_ON_HOST = re.compile(
    r"^(mkdir|rm|cp|mv|ln|rsync|touch|chmod|tar|unzip|sync|python3?|bash|sh|[\w.-]+\.(sh|py))$"
)
NO_LOGIN = (
    "the nodes fetch the image as the submitter",
    "put the password into ~/.config/enroot/.credentials, or ask the site",
)
CACHES = "optional: where the user may not do it, or on Kubernetes, the job goes on without"
AFTER_EACH = (
    "a job has nothing that runs after each trial: as a step of before_each it would run before the first "
    "one too, and not after the last"
)
AFTER_EACH_TODO = (
    "where that does no harm, as of a clean-up, write it in before_each and in after; else do it in the "
    "command"
)
_ENDS = frozenset(("EXIT", "0"))  # trap's names of the script's end


def put(
    reading: ShellReading,
    run: Command,
    all_steps: Sequence[Step],
    per_node: int | None,
    trials: Trials,
    draft: Draft,
    *,
    image: bool,
) -> None:
    """Put all that stands around the run into the draft. `per_node` is how many ranks the run has on a node,
    `image` whether the job has one."""
    by_command = {id(step.command): step for step in all_steps}
    containers = images.made(all_steps)
    after = False
    order = _order(reading)
    staged = _stage_in(reading, all_steps, run, draft)
    at_the_end = _at_the_end(reading)
    named = {normpath(shown(word)) for word in run.words}
    for command in sorted(reading.commands, key=lambda each: bool(each.signals)):
        if command is run:
            after = True
            continue
        step = by_command.get(id(command))
        words = step.words if step is not None else command.words
        program = program_of(words)
        of_run = by_command.get(id(run))
        if _is_image(command, step, words, draft) or _is_container(command, words, of_run, draft):
            continue
        if program == "tee" and step is None and command.pipeline[0] > 0:
            why = "the output of trials and steps is in their logs and in the job's own: `hpclaunch logs`"
            draft.say("replaced", (command.place,), _text(command), why=why)
            continue
        if step is None and not (_is_step_of_host(command, program) or _writes_for(command, named)):
            continue
        if not words:
            _say_empty(command, draft)
            continue
        if id(command) in staged or _of_staged(words, program, staged, command, draft):
            continue
        if _runs_beside(order, command, run, draft):
            continue
        if command.signals and not (at_the_end and _ENDS & set(command.signals)):
            told = " ".join(command.signals)
            why = f"it runs where the script is told {told}, and a step is told of no signal"
            todo = "do it in the command itself, or add it to after if it may run at each end"
            draft.say("left", (command.place,), _text(command), why=why, todo=todo)
            continue
        key = _when(command, trials, after, draft)
        other = ""
        if key and step is not None and of_run is not None:
            other = unlike(step, of_run, containers, draft, _per(step, per_node))
        if other:
            todo = f"add it to {key} where it does with the job's, or submit it as a job of its own"
            draft.say("left", (command.place,), _text(command), why=other, todo=todo)
        elif key:
            number = draft.count(key)
            _put(reading, command, step, _Run(run, per_node, trials, image), key, draft)
            if step is not None and of_run is not None and draft.count(key) > number:
                say_own(step, of_run, f"{key}.{number}", draft)


def _say_empty(command: Command, draft: Draft) -> None:
    """srun docker login, and the like: what has no command of its own in it."""
    if " login " in f"{_text(command)} ":
        why, todo = NO_LOGIN
    else:
        why = "it is about containers and starts no command, and a job's containers are made by its steps"
        todo = "see whether the job needs it, and do it before it is submitted"
    draft.say("left", (command.place,), _text(command), why=why, todo=todo)


def _at_the_end(reading: ShellReading) -> bool:
    """Whether one trap alone says what the script does when it ends: a second one replaces the first."""
    ends = reading.of("trap")
    return sum(any(known(word) in _ENDS for word in each.words[1:]) for each in ends) == 1


class _Order(Struct, frozen=True):
    """Where each command stands, by its id, and where those are that wait for others."""

    at: dict[int, int]
    waits: tuple[int, ...]


def _order(reading: ShellReading) -> _Order:
    waits = (index for index, each in enumerate(reading.commands) if each.program == "wait")
    return _Order({id(each): index for index, each in enumerate(reading.commands)}, tuple(waits))


def _runs_beside(order: _Order, command: Command, run: Command, draft: Draft) -> bool:
    """Whether the command goes on while the run does: in the background, and nobody waits for it before."""
    if not command.background:
        return False
    own, others = order.at[id(command)], order.at[id(run)]
    if own < others and any(own < wait < others for wait in order.waits):
        return False
    if own > others and not run.background:
        return False
    if run.background and command.program == run.program:
        why = f"it and {_text(run)} run at the same time, and a job has one command: it is not started at all"
        todo = "submit it as a job of its own, or let one script start both"
    else:
        why = "it goes on beside the run, and a job's steps run one after the other: it is not started"
        todo = "start it in the command itself, or submit it as a job of its own"
    draft.say("left", (command.place,), _text(command), why=why, todo=todo)
    return True


def _when(command: Command, trials: Trials, after: bool, draft: Draft) -> str:
    """The key of the job, "" where a finding says that there is none."""
    in_loop = trials.loop is not None and trials.loop in command.loops
    what = _text(command)
    if command.within == "output":
        why = "its output becomes a value of the script, and a job file has no such values"
        todo = "write the variable in env, or let the command find it out itself"
        draft.say("left", (command.place,), what, why=why, todo=todo)
        return ""
    conditions = [each for each in command.conditions if not each.endswith("a loop")]
    if conditions:
        why = f"whether it runs depends on something that is not told ({conditions[0]})"
        todo = "add it to setup, before_each or after if the job needs it, or convert again with --env"
        draft.say("left", (command.place,), what, why=why, todo=todo)
        return ""
    if loops_of_trials(command) and not in_loop:
        why = "a loop of its own, and a job has one"
        draft.say(
            "left", (command.place,), what, why=why, todo="write a script for it, and a step that runs it"
        )
        return ""
    if in_loop and after:
        draft.say("left", (command.place,), what, why=AFTER_EACH, todo=AFTER_EACH_TODO)
        return ""
    return "before_each" if in_loop else "after" if after else "setup"


class _Run(Struct, frozen=True):
    """What a step is written for: the run's command, how many ranks it has on a node, its trials, and whether
    it is in an image."""

    command: Command
    per_node: int | None
    trials: Trials
    image: bool


def _put(
    reading: ShellReading, command: Command, step: Step | None, run: _Run, key: str, draft: Draft
) -> None:
    what = _text(command)
    options = "" if step is None else next((each.written for each in step.asked if not each.name), "")
    if options:
        why = f"which options srun gets there ({options}) is not told"
        draft.say("left", (command.place,), what, why=why, todo=f"add it to {key} where the job needs it")
        return
    in_its_folder = run.image or ("workdir",) not in draft.facts
    written = _line(command, step, run.trials, in_its_folder=in_its_folder)
    places = reading.origin(command)
    if written.doubt:
        why = f"{written.doubt} is known only where the script runs"
        todo = f"add it to {key} with its value"
        draft.say("left", (command.place,), what, why=why, todo=todo)
        return
    per = _per(step, run.per_node)
    if not per:
        why = "a step runs once, once on each node, or as the ranks do"
        draft.say("left", (command.place,), what, why=why, todo="write it as a step of one of these kinds")
        return
    entry: dict[str, Any] = {"run": written.plain}
    inside = step is not None and step.in_container
    if run.image and not inside:
        entry["where"] = "host"
    if per != "node":
        entry["per"] = per
    of_trial = run.trials.loop is not None and key == "before_each"
    optional = command.unnoticed and not (run.command.unnoticed and of_trial)
    why = "it may fail, as nobody reads its status in the original" if optional else ""
    if not inside and "drop_caches" in what:
        optional, why = True, CACHES
    if optional:
        entry["optional"] = True
    inherit(submitters(written.names), (command.place,), draft, what)
    if key == "after" and rounds.gives_up(reading, run.command):
        why = "the script came here only where its run did well; `after` is done in any case"
    draft.add(key, entry, places, what, why)


def _line(command: Command, step: Step | None, trials: Trials, *, in_its_folder: bool) -> Line:
    """`in_its_folder`: on the host a step starts in the job file's folder."""
    words = step.words if step is not None else command.words
    if in_its_folder and not (step is not None and step.in_container):
        words = tuple(map(from_here, words))
    if script := script_of(command.stdin, words):
        return line(script, trials.stand_ins)
    inside = step is not None and step.in_container
    given = inputs.given(command, words, inside=inside)
    if given.doubt:
        return Line("", doubt=given.doubt)
    ending = given.after
    for output in command.writes:
        target = path(output.path)
        if output.tee:
            continue
        of_host = inside and target != "/dev/null"
        to = shlex.quote(target) if target is not None else _in_text(output.path, trials)
        if not to or of_host or output.descriptor not in ("1", ""):
            where = " on the host" if of_host else ""
            return Line("", doubt=f"where its output goes{where} ({shown(output.path)})")
        ending += f" {'>>' if output.append else '>'} {to}"
    return line(words, trials.stand_ins, ending=ending, piped=given.before)


def _in_text(value: Value, trials: Trials) -> str:
    """A word with the job's own variables in it as a text has it, "" where none stands for it."""
    written = line([("true",), value], trials.stand_ins)
    text = written.value if isinstance(written.value, str) else ""
    return "" if written.doubt or submitters(written.names) else text.removeprefix("exec true ")


def _per(step: Step | None, per_node: int | None) -> str:
    """`per` of the step, "" for a layout that no step has."""
    if step is None or (step.ranks.nodes == 1 and step.ranks.per_node == 1 and _one(step)):
        return "job"
    if step.ranks.per_node == 1:
        return "rank" if per_node == 1 and step.option("mpi") is not None else "node"
    return "rank" if step.ranks.per_node is not None and step.ranks.per_node == per_node else ""


def _one(step: Step) -> bool:
    """Whether the step itself says that it is one task: in a job of one node all are on one."""
    return any((each.text == "1") for each in step.asked if each.name in ("ntasks", "nodes"))


def _is_step_of_host(command: Command, program: str) -> bool:
    if command.within or (command.pipeline[1] > 1 and command.pipeline[0] > 0):
        return False
    return bool(_ON_HOST.match(program))


def _writes_for(command: Command, named: Collection[str]) -> bool:
    """Whether it writes a text that is known into a file that the run names: a script of its ranks."""
    if command.program != "cat" or len(command.words) > 1 or known(command.stdin or ()) is None:
        return False
    return any(not each.append and normpath(shown(each.path)) in named for each in command.writes)


def _is_image(command: Command, step: Step | None, words: Sequence[Any], draft: Draft) -> bool:
    """Whether the command makes, brings or removes the image or the container."""
    texts = [known(word) or "" for word in words[:1]]
    if step is not None and step.in_container and texts[:1] in (["true"], [":"], ["/bin/true"]):
        why = "the image is brought, and its container made, by the first step that uses it"
        draft.say("replaced", (command.place,), _text(command), why=why)
        return True
    if imported(words) is not None:
        if not any(fact.key[0] == "image" and command.place in fact.places for fact in draft.facts.values()):
            why = "the image of the job may be brought once to a file that all nodes use: image.import"
            draft.say("replaced", (command.place,), _text(command), why=why)
        return True
    shared = ("image", "import") in draft.facts
    if (
        texts[:1] == ["rm"]
        and (any(shown(word).endswith(FILE_ENDINGS) for word in words) or _is_cont(words))
        and shared
    ):
        why = "the shared file stays for the next job; the site's folder of images is cleared by who keeps it"
        draft.say("replaced", (command.place,), _text(command), why=why)
        return True
    return False


def _is_container(command: Command, words: Sequence[Value], run: Step | None, draft: Draft) -> bool:
    """Whether the command makes the container that `enroot start` has, or takes it away."""
    if run is None or run.in_enroot is None:
        return False
    inside = [each.words for each in inside_of(command, words)] if program_of(words) in SHELLS else [words]
    if not inside or not all(map(is_about_images, inside)):
        return False
    why = "the container is made by the first step that uses it, and goes with the job"
    draft.say("replaced", (command.place,), _text(command), why=why)
    return True


def _is_cont(words: Sequence[Any]) -> bool:
    return any("squashfs" in shown(word) or "sqsh" in shown(word) for word in words)


def _stage_in(
    reading: ShellReading, all_steps: Sequence[Step], run: Command, draft: Draft
) -> dict[int, tuple[str, Place]]:
    """Copies to each node -> `stage_in`. Returns the target and the line by the command that made it."""
    found: dict[int, tuple[str, Place]] = {}
    before = {id(each) for each in takewhile(lambda each: each is not run, reading.commands)}
    for step in all_steps:
        if id(step.command) not in before or step.command.signals:
            continue  # what is copied after the run is what it made
        words = [path(word) for word in step.words]
        program = (words[0] or "").rpartition("/")[2] if words else ""
        if not _COPIES.match(program) and not (words and words[0] is None and len(words) == 3):
            continue
        folders = [word for word in words[1:] if word is None or not word.startswith("-")]
        script = known(step.words[0]) is None or program.startswith("copy")
        if script and "copy" not in shown(step.words[0]):
            continue
        if step.in_container or step.command is run or len(folders) != 2 or step.ranks.per_node != 1:
            continue
        source, target = folders
        if step.command.conditions and any(not each.endswith("a loop") for each in step.command.conditions):
            continue
        if not source or not target or not target.startswith("/") or not source.startswith("/"):
            continue
        if step.ranks.nodes == 1 and _one(step):
            continue
        why = "copied on each node, once: a copy that ended before is not made again"
        entry = f"{source.rstrip('/')}:{target.rstrip('/')}"
        places = reading.origin(step.command)
        draft.put(("stage_in", draft.count("stage_in")), entry, places, _text(step.command), why=why)
        found[id(step.command)] = (target.rstrip("/"), step.command.place)
    return found


def _of_staged(
    words: Sequence[Any],
    program: str,
    staged: dict[int, tuple[str, Place]],
    command: Command,
    draft: Draft,
) -> bool:
    """Whether the command only prepares or shows the folder that is staged."""
    targets = [target for target, _ in staged.values()]
    text = " ".join(map(shown, words))
    names = any(target and target in text for target in targets)
    if names and (program in ("mkdir", "ls", "du", "find") or re.search(r"\b(ls|du)\b", text)):
        draft.say(
            "replaced", (command.place,), _text(command), why="stage_in makes the folder, and fails by name"
        )
        return True
    return False


def _text(command: Command) -> str:
    text = " ".join((command.written or " ".join(map(shown, command.words))).split())
    return text if len(text) <= 100 else text[:97] + "..."
