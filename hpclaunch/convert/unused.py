"""Files and options of the command line that no finding names."""

import re
from collections.abc import Mapping, Sequence
from os.path import basename

from hpclaunch.convert import arguments
from hpclaunch.convert.file_names import names
from hpclaunch.convert.inputs import Input, Role
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Finding, Place

# What a file that nobody uses is, and what becomes of it.
ROLES: Mapping[Role, tuple[str, str]] = {
    "program": ("a program in Python", "it stays as it is: the job's command starts it"),
    "rank script": (
        "a script that runs in or beside the ranks",
        "it stays as it is: the job's command starts it",
    ),
    "binding": (
        "lists of cores and memory for ranks",
        "no program that binds ranks, as far as this command knows, takes it",
    ),
    "hostfile": ("a list of hosts", "the scheduler knows the hosts of a job"),
    "mounts": ("a list of mounts", "nothing in the launcher refers to it"),
    "mca": ("settings of Open MPI", "give those that the job needs as OMPI_MCA_NAME in env"),
    "env file": ("variables for a container", "no command that is launched has it as --env-file"),
    "accelerate": ("a configuration of accelerate", "no --config_file of a launch in the script names it"),
    "manifest": ("a manifest beside a script", "convert it without the script: what starts the ranks is one"),
    "own script": ("a script that hpclaunch rendered", "give it alone, to convert it"),
    "own manifest": ("a manifest that hpclaunch rendered", "give it alone, to convert it"),
    "points": ("the points of a sweep", "give them beside the script that hpclaunch rendered"),
    "unclear": ("a file of an unknown kind", "it is no shell script, configuration or manifest"),
}
_STEPS = ("setup.", "before_each.", "after.")
# Of a program that writes scripts for a scheduler, or starts ranks.
_NOT_STARTED = (
    "no line of the other files starts it, and what it says of ranks, variables and binding is in no job "
    "file: where it is what the job is for convert it alone, or write it as `command`"
)
_OF_ACCELERATE = (
    "it stays as it is where accelerate reads it in the ranks' command; nothing of it is in the job file"
)
_LEFT_OUT = "nothing of the job starts it: see what is said of the lines that name it"


def _of_operator(name: str, inputs: Sequence[Input]) -> Finding:
    """What is said of a variable of --env that no finding names: whether a line has its value."""
    use = re.compile(rf"^[^#\n]*\$\{{?[#!]?{re.escape(name)}\b", re.MULTILINE)
    by_option = Place(f"--env {name}")
    for each in inputs:
        if each.role == "shell" and (line := use.search(each.text)):
            place = Place(each.name, each.text.count("\n", 0, line.end()) + 1)
            return Finding("carried", (by_option, place), name, why="the lines that name it have its value")
    return Finding("without effect", (by_option,), name, why="nothing in the files uses it")


def _is_named(file: Input, inputs: Sequence[Input]) -> bool:
    """Whether another file names it."""
    return any(names(each.text, basename(file.name)) for each in inputs if each is not file)


def _is_of_step(file: Input, findings: Sequence[Finding]) -> bool:
    """Whether what became a step of the job names it."""
    named = _name_of(file)
    return any(each.became.startswith(_STEPS) and named.search(each.what) for each in findings)


def _is_left_out(file: Input, inputs: Sequence[Input], findings: Sequence[Finding]) -> bool:
    """Whether the lines that name it start nothing of the job, and no other script beside the ranks does."""
    named = _name_of(file)
    its = [each for each in findings if named.search(each.what)]
    if not its or any(each.kind not in ("left", "without effect") for each in its):
        return False
    return not any(
        each.role == "rank script" and each is not file and named.search(each.text) for each in inputs
    )


def _name_of(file: Input) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(basename(file.name))}(?![\w.-])")


def told(inputs: Sequence[Input], options: Options, findings: Sequence[Finding]) -> list[Finding]:
    """Files and options of the command line that no finding names."""
    named = {place.file for each in findings for place in each.places if each.kind != "defect"}
    found = []
    for each in inputs:
        if each.name not in named and each.role in ROLES:
            what, todo = ROLES[each.role]
            if each.role == "rank script" and _is_of_step(each, findings):
                what, todo = "a script of a step of the job", "it stays as it is: the step starts it"
            elif each.role == "rank script" and not _is_named(each, inputs):
                todo = _NOT_STARTED
            elif each.role in ("program", "rank script") and _is_left_out(each, inputs, findings):
                todo = _LEFT_OUT
            elif each.role == "accelerate" and _is_named(each, inputs):
                todo = _OF_ACCELERATE
            found.append(Finding("unread", (Place(each.name),), what, todo=todo))
    for name in options.environment:
        if f"--env {name}" not in named:
            found.append(_of_operator(name, inputs))
    if options.arguments is not None and "--args" not in named:
        found.append(arguments.unused())
    return found
