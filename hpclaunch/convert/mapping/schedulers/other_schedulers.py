"""What scripts for PBS, LSF, Grid Engine and others ask for, as far as a job file could say it.

Options of PBS, LSF, Grid Engine, PJM and OAR by the modules of their names. Cobalt was Argonne's (qsub(1) of
Cobalt 1.0), and Moab's msub takes what qsub takes. Flux's are of flux-batch(1) of flux-core 0.60, whose times
are RFC 23's. LoadLeveler's keywords are of "LoadLeveler: Using and Administering" (IBM), "Job command file
keyword descriptions".
"""

import math
import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment.reached import OF_SCHEDULER, STAND_IN
from hpclaunch.convert.mapping.schedulers import asked_otherwise, grid_engine, lsf, oar, pbs, pjm
from hpclaunch.convert.mapping.schedulers.asked_values import (
    SEE,
    Places,
    Rule,
    put_array,
    put_count,
    put_hint,
    put_name,
    put_number,
    put_seconds,
    put_time,
)
from hpclaunch.convert.programs.schedulers import scheduler_of
from hpclaunch.convert.reading import Directive, ShellReading
from hpclaunch.values.conversion import Place

_OWN_FOLDER = ("PBS", "Grid Engine", "PBS or Grid Engine")
# Those without a prefix that Grid Engine sets in a job (qsub(1) of Grid Engine 8, "Environment variables"):
# in a script for another scheduler each may be one of its own.
_OF_GRID_ENGINE = frozenset(
    ("ARC", "JOB_ID", "JOB_NAME", "JOB_SCRIPT", "NQUEUES", "PE", "QUEUE", "REQUEST", "RESTARTED")
)
_WRITE = "write what it asks for in the job file"
_ON_NODE = "how many of these are on a node is not told"
_VARIABLE = re.compile(r"\$[A-Za-z_{(]")
_MOST = 1000  # lines of a script
_FURTHER = "this line for a scheduler and those behind it"
# Whose options of one letter may have their value in the same word, as getopt(3) reads them.
_ATTACHED = ("PBS", "Moab", "PJM", "Cobalt", "Flux")
_SYSTEMS = {
    "PBS": "PBS",
    "BSUB": "LSF",
    "$": "Grid Engine",
    "SGE": "Grid Engine",
    "PJM": "PJM",
    "COBALT": "Cobalt",
    "MSUB": "Moab",
    "OAR": "OAR",
    "FLUX": "Flux",
    "LOADLEVELER": "LoadLeveler",
}


def put(directives: Sequence[Directive], draft: Draft) -> None:
    """Facts and findings for the lines of another scheduler."""
    for directive in directives[_MOST : _MOST + 1]:
        todo = "give the script that one of its jobs has"
        draft.say("unread", [directive.place], _FURTHER, why=f"no script has more than {_MOST:,}", todo=todo)
    directives = directives[:_MOST]
    later: dict[Rule, list[tuple[str, list[Place], str]]] = {each: [] for each in _IN_THE_END}
    for directive in directives:
        words = list(directive.words)
        its = system(directive)
        rules = {**asked_otherwise.RULES.get(its, {}), **_RULES.get(its, {})}
        while words:
            option, value, what = _option(words, its)
            rule = rules.get(option)
            if rule is not None and rule in later:
                later[rule].append((value.strip("\"'"), [directive.place], what))
            elif rule is None or not rule(value.strip("\"'"), [directive.place], what, draft):
                why, todo = f"an option of {its or 'Slurm'}", SEE
                if rule is not None and _VARIABLE.search(value):
                    why, todo = f"{why}, of which the script does not tell all", _WRITE
                draft.say("left", [directive.place], what, why=why, todo=todo)
    for rule, its_own in later.items():
        for value, places, what in its_own:
            if not rule(value, places, what, draft):
                draft.say("left", places, what, why=_ON_NODE, todo=_WRITE)
    pjm.put_processes([each for each in directives if system(each) == "PJM"], draft)
    pbs.say_places([each for each in directives if system(each) in ("PBS", "Moab")], draft)
    lsf.put_slots([each for each in directives if system(each) == "LSF"], draft)


def _option(words: list[str], its: str) -> tuple[str, str, str]:
    """The first option of the words, which are taken out, its value, and both as they are written."""
    word = words.pop(0)
    option, _, value = word.partition("=") if word.startswith("--") or its == "Flux" else (word, "", "")
    attached = its in _ATTACHED and not value and re.fullmatch(r"(-[A-Za-z])([^-].*)", option)
    if attached:
        option, value = attached.groups()
    more = []
    while words and not _is_option(words[0]):
        more.append(words.pop(0))
    value = " ".join(([value] if value else []) + more)
    return option, value, " ".join((word, *more)) if attached else f"{option} {value}".strip()


def say_set_by(name: str, draft: Draft) -> None:
    """What a scheduler, by its name, sets in each job is not the submitter's. TMPDIR is a folder that PBS and
    Grid Engine make (qsub(1B) of OpenPBS 23, qsub(1) of Grid Engine 8, "Environment variables")."""
    for fact in draft.drop_values("inherit", {"TMPDIR"}) if name in _OWN_FOLDER else ():
        why = f"{name} makes a folder for each job, and sets TMPDIR to it"
        draft.say("left", fact.places, "TMPDIR", why=why, todo="write env.TMPDIR in the job file")
    for fact in draft.drop_values("inherit", _OF_GRID_ENGINE) if name == "Grid Engine" else ():
        draft.say("left", fact.places, str(fact.value), why=OF_SCHEDULER, todo=STAND_IN)


def put_commands(reading: ShellReading, draft: Draft) -> None:
    """Say of commands of other schedulers, beside what the launcher starts, whose they are."""
    # By which line the scheduler is known says nothing of what the line starts.
    said = [each for each in draft.findings if not each.what.startswith("a script for ")]
    named = {(each.file, each.line) for finding in said for each in finding.places}
    for command in reading.commands:
        its = scheduler_of(command.words)
        if its and (command.place.file, command.place.line) not in named:
            why = f"`{command.program}` is a command of {its}: it starts a job or ranks of its own there"
            todo = "hpclaunch sends jobs to Slurm and Kubernetes: make a job file of what it starts"
            draft.say("left", [command.place], command.brief(), why=why, todo=todo)


def _is_option(word: str) -> bool:
    return bool(re.match(r"--?[A-Za-z]", word))


def system(directive: Directive) -> str:
    """Whose line it is."""
    return _SYSTEMS.get(directive.system, "")


def flux_time(value: str, places: Places, what: str, draft: Draft) -> bool:
    """Minutes, or a number with a letter for its unit: 1.5h, 90s."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)(ms|[smhd]?)", value)
    minutes = math.ceil(float(found[1]) * _MINUTES[found[2]]) if found else 0
    if not minutes:
        return False
    draft.put(("time",), minutes, places, what)
    return True


_MINUTES = {"ms": 1 / 60_000, "s": 1 / 60, "m": 1, "": 1, "h": 60, "d": 1440}


def _tasks(value: str, places: Places, what: str, draft: Draft) -> bool:
    """All tasks of the job, which are those of each node where the nodes are told."""
    nodes = draft.number("nodes")
    if nodes is None and value == "1":
        nodes = 1
        put_number("nodes", value, places, what, draft)
    if not nodes or not value.isdecimal() or int(value) % nodes:
        return False
    return put_number("ranks_per_node", str(int(value) // nodes), places, what, draft)


def _gpus_of_tasks(value: str, places: Places, what: str, draft: Draft) -> bool:
    ranks = draft.number("ranks_per_node")
    if not ranks or not value.isdecimal():
        return False
    return put_number("gpus_per_node", str(int(value) * ranks), places, what, draft)


# They divide by what other lines tell, wherever those stand.
_IN_THE_END: tuple[Rule, ...] = (_tasks, _gpus_of_tasks)


def _loadleveler_time(value: str, places: Places, what: str, draft: Draft) -> bool:
    """wall_clock_limit: a hard limit and a soft one behind a comma, each [[hours:]minutes:]seconds."""
    hard = value.partition(",")[0].strip()
    return put_seconds(hard, places, what, draft)


def _cobalt_time(value: str, places: Places, what: str, draft: Draft) -> bool:
    """Minutes, or hours:minutes:seconds (qsub(1) of Cobalt 1.0, -t)."""
    if value.isdecimal():
        return put_number("time", value, places, what, draft)
    return value.count(":") == 2 and put_time(value, places, what, draft)


def _step(value: str, places: Places, what: str, draft: Draft) -> bool:
    why = "a further step of the job, with what the lines before it ask for: what is told is of the first"
    draft.say("left", places, what, why=why, todo="make a job file of it too, where it is to run")
    return True


def _environment(value: str, places: Places, what: str, draft: Draft) -> bool:
    """COPY_ALL; A=1; $B: of names alone the values are those of the shell that submits. LoadLeveler puts its
    own variables in, such as $(jobid) (IBM, "Job command file variables")."""
    for each in filter(None, (part.strip() for part in value.split(";"))):
        name, sign, text = each.partition("=")
        name = name if sign else name.removeprefix("$")
        if name == "COPY_ALL":
            asked_otherwise.put_all_variables(value, places, what, draft)
        elif not name.strip().isidentifier():
            draft.say("left", places, each, why="an option of LoadLeveler", todo=SEE)
        elif sign and "$(" in text:
            why = "LoadLeveler puts the value of its own variable in, which is not told here"
            draft.say("left", places, each, why=why, todo=f"write env.{name.strip()} in the job file")
        elif sign:
            draft.put(("env", name.strip()), text.strip().strip("\"'"), places, what)
        elif not draft.lists("inherit", name):
            draft.add("inherit", name, places, what)
    return True


_LOADLEVELER: dict[str, Rule] = {
    "job_name": put_name,
    **dict.fromkeys(("node", "bg_size"), put_count("nodes")),
    "tasks_per_node": put_count("ranks_per_node"),
    "total_tasks": _tasks,
    "wall_clock_limit": _loadleveler_time,
    "class": put_hint("partition"),
    "account_no": put_hint("account"),
    "notify_user": put_hint("mail"),
    "environment": _environment,
    "queue": _step,
}
_FLUX: dict[str, Rule] = {
    **dict.fromkeys(("-N", "--nodes"), put_count("nodes")),
    **dict.fromkeys(("-n", "--nslots", "--ntasks"), _tasks),
    "--tasks-per-node": put_count("ranks_per_node"),
    "--gpus-per-node": put_count("gpus_per_node"),
    **dict.fromkeys(("-g", "--gpus-per-slot", "--gpus-per-task"), _gpus_of_tasks),
    **dict.fromkeys(("-t", "--time-limit", "--time"), flux_time),
    "--job-name": put_name,
    **dict.fromkeys(("-q", "--queue"), put_hint("partition")),
    **dict.fromkeys(("-B", "--bank"), put_hint("account")),
}
_RULES: dict[str, dict[str, Rule]] = {
    "PBS": {
        "-N": put_name,
        "-l": pbs.put_resources,
        "-q": put_hint("partition"),
        "-A": put_hint("account"),
        "-P": put_hint("account"),
        "-M": put_hint("mail"),
        "-J": put_array("PBS", "PBS_ARRAY_INDEX"),
        "-t": put_array("Torque", "PBS_ARRAYID"),
    },
    "LSF": lsf.RULES,
    "PJM": pjm.RULES,
    "Cobalt": {
        **dict.fromkeys(("-n", "--nodecount"), put_count("nodes")),
        **dict.fromkeys(("-t", "--time"), _cobalt_time),
        **dict.fromkeys(("-A", "--project"), put_hint("account")),
        **dict.fromkeys(("-q", "--queue"), put_hint("partition")),
        "--jobname": put_name,
    },
    "Grid Engine": grid_engine.RULES,
}
_RULES["Moab"] = _RULES["PBS"]
_RULES["OAR"] = oar.RULES
_RULES["Flux"] = _FLUX
_RULES["LoadLeveler"] = _LOADLEVELER
