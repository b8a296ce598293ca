"""A submit description for HTCondor: refused by its name, and what its commands tell is told.

Commands by condor_submit(1) of HTCondor 23.
"""

import re
import shlex
from collections.abc import Sequence

from hpclaunch.convert.cores import MEMORY
from hpclaunch.convert.draft import WRITE_ONE, Draft
from hpclaunch.convert.inputs import Input
from hpclaunch.convert.mapping.around.logs import OF_RECORD
from hpclaunch.convert.mapping.container.images import reference
from hpclaunch.convert.mapping.schedulers.asked_values import (
    SEE,
    Places,
    Rule,
    put_count,
    put_hint,
    put_name,
    put_seconds,
)
from hpclaunch.convert.mapping.slurm.srun.run_command import ACTIVATE, OF_SHELL
from hpclaunch.convert.programs.condor import (
    QUEUE,
    Line,
    filled,
    is_description,
    lines,
    names_in,
    of_each_job,
    one_item,
)
from hpclaunch.values.conversion import Place

_NAME = "a submit description for HTCondor"
_REASON = f"{_NAME}: hpclaunch sends jobs to Slurm and Kubernetes, and reads launchers of those"
_YES = ("true", "yes", "t", "1")
# Universes whose job is one process on one machine; without a line the pool's own counts, which is vanilla.
_OF_ONE = ("", "vanilla", "docker", "container")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_COMMAND = ("executable", "arguments")


def refuse(inputs: Sequence[Input], draft: Draft) -> bool:
    """Refuse the first such description. Returns whether there is one."""
    found = next((each for each in inputs if is_description(each.text)), None)
    if found is None:
        return False
    for each in inputs:
        if each is not found:
            why = "beside a submit description no script is read"
            draft.say("left", [Place(each.name)], each.name, why=why, todo="convert it alone")
    all_lines = list(lines(found.text))
    _put(found.name, all_lines, draft)
    draft.refuse(_REASON, [_place(found.name, all_lines[0])], _NAME, todo=WRITE_ONE)
    return True


def _place(name: str, line: Line) -> Place:
    return Place(name, line.first, line.last if line.last > line.first else 0)


def _put(name: str, all_lines: Sequence[Line], draft: Draft) -> None:
    at = next(number for number, line in enumerate(all_lines) if line.name == QUEUE)
    of_first = [line for line in all_lines[:at] if line.name]
    values = {line.name: line.value for line in of_first}
    whats = {line.name: line.written for line in of_first}
    places = {line.name: _place(name, line) for line in of_first}
    used = {each for line in all_lines for each in names_in(line.value)}
    of_queue = of_each_job(all_lines[at].value)
    told = {**values, **of_queue}
    for key, value in values.items():
        if key in _COMMAND or key == "universe":
            continue
        what, rule = whats[key], _RULES.get(key)
        if rule is not None and rule(filled(value, told), [places[key]], what, draft):
            continue
        if rule is None and key in used:
            draft.say("carried", [places[key]], what, why="the commands that name it have its value")
        else:
            draft.say("left", [places[key]], what, why="a command of HTCondor", todo=SEE)
    if "executable" in told:
        of_each = dict.fromkeys(of_queue, _place(name, all_lines[at]))
        _job(told, {**places, **of_each}, draft)
    _queues(name, all_lines, at, draft)


def _job(values: dict[str, str], places: dict[str, Place], draft: Draft) -> None:
    """What each rank executes, and that it is one where the universe is of such jobs."""
    its = [places[key] for key in ("universe", *_COMMAND) if key in places]
    universe = values.get("universe", "").lower()
    if universe in _OF_ONE:
        what = f"universe = {universe}" if universe else "a job of the vanilla universe"
        draft.put(("nodes",), 1, its, what, why="a job there is one process on one machine")
        draft.put(("ranks_per_node",), 1, its, what)
    elif universe != "parallel" or "machine_count" not in values:
        why = "how many machines and processes a job of this universe has is not told"
        draft.say("left", its[:1], f"universe = {universe}", why=why, todo="write nodes and ranks_per_node")
    written = " ".join(values[key] for key in _COMMAND if key in values)
    command = " ".join(filled(_plain(values[key]), values) for key in _COMMAND if key in values)
    if names_in(command):
        why = (
            f"what each rank executes: $({names_in(command)[0]}) is another one in each job that queue sends"
        )
        draft.say("left", its, written, why=why, todo="write it in a job file")
    else:
        draft.put(("command",), command, its, written)


def _plain(arguments: str) -> str:
    """Arguments as a shell takes them: of the new form, which is in double quotes, without these."""
    if len(arguments) > 1 and arguments[0] == arguments[-1] == '"':
        return arguments[1:-1].replace('""', '"')
    return arguments


def _queues(name: str, all_lines: Sequence[Line], at: int, draft: Draft) -> None:
    """Say which jobs are sent, where they are more than one."""
    first = all_lines[at]
    if first.value not in ("", "1") and not one_item(first.value):
        why = "it sends several jobs, each with a number or values of its own"
        todo = "write a sweep over what the command makes of them"
        draft.say("left", [_place(name, first)], first.written, why=why, todo=todo)
    for line in all_lines[at + 1 :]:
        why = "it is about a further job: what is told is of the first"
        draft.say(
            "left",
            [_place(name, line)],
            f"{line.name} {line.value}".strip(),
            why=why,
            todo="make a job file of it too",
        )


def _image(value: str, places: Places, what: str, draft: Draft) -> bool:
    draft.put(("image",), reference(value.removeprefix("docker://")), places, what)
    return True


def _variables(value: str, places: Places, what: str, draft: Draft) -> bool:
    """ "A=1 B='x y'", or as it was written before: A=1;B=2."""
    try:
        words = shlex.split(_plain(value)) if value.startswith('"') else value.split(";")
    except ValueError:
        return False
    named = [word.partition("=") for word in words if word.strip()]
    if not all(sign and _VARIABLE.fullmatch(name.strip()) for name, sign, _ in named):
        return False
    for name, _, text in named:
        draft.put(("env", name.strip()), text, places, what)
    return bool(named)


def _all_variables(value: str, places: Places, what: str, draft: Draft) -> bool:
    if value.lower() not in _YES:
        return False
    draft.say("replaced", places, what, why=OF_SHELL, todo=ACTIVATE)
    return True


def _kept(value: str, places: Places, what: str, draft: Draft) -> bool:
    draft.say("replaced", places, what, why=OF_RECORD)
    return True


def _memory(value: str, places: Places, what: str, draft: Draft) -> bool:
    draft.say("replaced", places, what, why=MEMORY)
    return True


_RULES: dict[str, Rule] = {
    "request_memory": _memory,
    "request_gpus": put_count("gpus_per_node"),
    "machine_count": put_count("nodes"),
    **dict.fromkeys(("docker_image", "container_image"), _image),
    "environment": _variables,
    "getenv": _all_variables,
    **dict.fromkeys(("allowed_execute_duration", "allowed_job_duration"), put_seconds),
    **dict.fromkeys(("output", "error", "log"), _kept),
    **dict.fromkeys(("batch_name", "jobbatchname"), put_name),
    "accounting_group": put_hint("account"),
    "notify_user": put_hint("mail"),
}
