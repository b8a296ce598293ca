"""What the run has, and a job has not: parts of several kinds, an input, runs side by side, a limit of its
own. Each is said, and what it makes uncertain is asked for."""

import re
from collections.abc import Sequence

from hpclaunch.convert import arguments
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import guards
from hpclaunch.convert.mapping.around.at_once import AT_ONCE
from hpclaunch.convert.mapping.around.logs import OF_RECORD
from hpclaunch.convert.mapping.around.ways import PLACE, decided_by, is_failure, is_test, test_of
from hpclaunch.convert.mapping.bind import in_front
from hpclaunch.convert.mapping.environment import of_the_node, sourced
from hpclaunch.convert.mapping.slurm.numbers import size_variables
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.mapping.words.made import decided, in_doubt
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import Layer, may_be_many
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, CONTAINERS, STEPS, interpreter
from hpclaunch.convert.programs.profilers import PROFILERS
from hpclaunch.convert.programs.slurm_variables import OF_GPUS, OF_RANK, READ_BY_SRUN, is_slurms
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.shell import slurm_options
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of, shown
from hpclaunch.values.conversion import Place

_PARTS = ("hetjob", "packjob")
_OF_IF = re.compile(r"^(?:if |not \()")
_FILE = re.compile(r"[\w./-]*[\w-]/?[\w.-]+\.(?:py|sh|exe|x)|[\w.-]*/[\w./-]+")
_SHELL = re.compile(r"(\S*/)?(ba|da|z)?sh")
_LIKE_BASH = frozenset(("zsh", "ksh", "mksh"))
_OF_ZSH = "arrays and variables without quotes may mean other words there: zsh splits none, and counts from 1"
STARTERS = frozenset((*STEPS, *CONTAINERS, *BY_MPI, *BY_TORCH))
_PRIORITY = (
    "it was the starter's own: ranks that slurmstepd started did not have it",
    "where ranks are to have it write it in front of the command",
)
_NO_TERMINAL = ("the script of a job waits for its ranks, and has no terminal", "")
_TO_LOG = (OF_RECORD, "")
_PROFILED = (
    "it looked at what starts the ranks, and a job starts them itself",
    "write `profile` for nsys and ncu, or begin the command with it",
)
_OF_STARTER = {
    **dict.fromkeys(PROFILERS, _PROFILED),
    **dict.fromkeys(("nice", "ionice"), _PRIORITY),
    **dict.fromkeys(("nohup", "setsid"), _NO_TERMINAL),
    **dict.fromkeys(("stdbuf", "unbuffer", "logsave"), _TO_LOG),
    "time": ("Slurm accounts how long each step ran: `sacct`", ""),
}
_MOST_DEFAULTS = 8
_ONE_SIZE = "write a group for each program, with nodes of its own, or submit the parts as jobs of their own"


def put(reading: ShellReading, run: Step, draft: Draft, *, reads: bool) -> None:
    """Findings and questions about the run. `reads`: its command has its input."""
    _parts(reading, run, draft)
    if not reads:
        _input(run, draft)
    _side_by_side(reading, run, draft)
    _of_each_rank(reading, run, draft)
    _one_of_several(reading, run, draft)
    _by_variable(reading, run, draft)
    guards.say(reading, run.command, draft)
    size_variables.ask(reading, run, draft)
    in_front_of_starter(run.before, run.command, draft)


def in_front_of_starter(before: Sequence[Layer], command: Command, draft: Draft) -> None:
    """What stands in front of srun, mpirun or docker, and was that program's own."""
    lines = (command.place,)
    for layer in before:
        what = " ".join([layer.program, *(each.written for each in layer.options), *map(shown, layer.words)])
        if layer.program == "timeout":
            todo = "lower `time` where the command is to end sooner"
            draft.say("left", lines, what, why="the job has one limit, `time`", todo=todo)
        elif layer.program in BINDERS:
            in_front.say(layer, command, draft)
        elif layer.program in _OF_STARTER:
            why, todo = _OF_STARTER[layer.program]
            draft.say("left" if todo else "replaced", lines, what, why=why, todo=todo)


def _one_of_several(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Another run that stands in another way of the same `case` or `if`, of which nothing tells which is
    gone; or none."""
    tests = {test_of(each): each for each in run.command.conditions if is_test(each)}
    for command in reading.of(run.command.program):
        word = decided_by(run.command, command) if command is not run.command else ""
        if word:
            question = f"what each rank executes: {word} decides it, which is not told"
            places = (run.command.place, command.place)
            draft.unsay(("command",))
            draft.ask(("command",), question, places, run.text)
            return
    other = _other_way(reading, run)
    if other is not None:
        command, condition = other
        question = f"what each rank executes: {condition} decides it, which is not told"
        draft.unsay(("command",))
        draft.ask(("command",), question, (run.command.place, command.place), run.text)
        return
    for test, condition in tests.items():
        if is_failure(condition, condition):
            continue
        question = f"whether the run is started at all: {test} decides it, which is not told"
        option = "--args" if arguments.ARGUMENT.search(test) else "--env"
        todo = f"give what decides it with {option} and convert again"
        todo += "; else the job runs whenever it is submitted"
        draft.say(
            "question", (run.command.place,), f"a condition of the run: {test}", why=question, todo=todo
        )


def _other_way(reading: ShellReading, run: Step) -> tuple[Command, str] | None:
    """What starts the same file in the other way of an `if` around the run, with another program, and the
    condition."""
    opposite = {_opposite(each) for each in run.command.conditions} - {""}
    files = {text for word in run.words if (text := known(word)) and _FILE.fullmatch(text)}
    for command in reading.commands if opposite and files else ():
        found = next((each for each in command.conditions if each in opposite), None)
        if found is not None and files & {known(word) for word in command.words}:
            return command, _OF_IF.sub("", PLACE.sub("", found)).removesuffix(")")
    return None


def _opposite(condition: str) -> str:
    """`FILE:LINE: if X` of `FILE:LINE: not (X)`, and the other way round."""
    found = PLACE.match(condition)
    rest = condition[found.end() :] if found else ""
    if rest.startswith("if "):
        return f"{condition[: -len(rest)]}not ({rest[3:]})"
    return f"{condition[: -len(rest)]}if {rest[5:-1]}" if rest.startswith("not (") else ""


def started_by_variable(reading: ShellReading) -> tuple[str, tuple[Place, ...]] | None:
    """What starts ranks by a variable of which the script makes one launch or another ($CMD): what it may be,
    and its lines."""
    looked_at: set[str] = set()
    for command in reading.commands:
        name = next(iter(in_doubt(reading, command.words[:1])), "")
        if not name or name in looked_at:
            continue
        looked_at.add(name)
        given = reading.given(name)
        if any(program_of([(word,)]) in STARTERS for each in given for word in shown(each.value).split()[:1]):
            texts = " or ".join(dict.fromkeys(repr(shown(each.value)) for each in given))
            may_be = f"{name} is {texts}, and which of them {decided(reading, name)}"
            return may_be, (command.place, *(each.place for each in given))
    return None


def started_by_unknown(reading: ShellReading) -> tuple[Command, str] | None:
    """The last command whose program is what a variable has that nobody gave ($MPIEXEC ./solver), and which
    variable that is."""
    for command in reversed(reading.commands):
        if not command.within and not command.signals and not command.conditions:
            match command.words:
                case ((Unknown(kind="variable", name=name),), _, *_):
                    return command, name
    return None


def started_by_arguments(reading: ShellReading) -> Command | None:
    """The last command whose program is among the words behind the script's name ("$@"), or made of one
    (./runs/$1), where nobody told these."""
    for command in reversed(reading.commands):
        if not command.within and not command.signals and not command.conditions:
            first = command.words[0] if command.words else ()
            if any(isinstance(part, Unknown) and part.kind == "argument" for part in first):
                return command
    return None


def started_in_rounds(reading: ShellReading) -> tuple[str, tuple[Place, ...]] | None:
    """What starts ranks by the variable of a loop, in each round by another program: what it may be, and the
    line."""
    for command in reading.commands:
        names = [
            word[0].name for word in command.words[:1] if may_be_many(word) and isinstance(word[0], Unknown)
        ]
        for loop in command.loops:
            programs = (program_of([(word,)]) for each in loop.values for word in shown(each).split()[:1])
            if loop.variable in names and not STARTERS.isdisjoint(programs):
                why = f"{loop.variable} is another one in each round of the loop over {loop.over}"
                return why, (command.place, loop.place)
    return None


def _by_variable(reading: ShellReading, run: Step, draft: Draft) -> None:
    found = started_by_variable(reading)
    if found is not None and run.command.place not in found[1]:
        draft.unsay(("command",))
        question = f"what each rank executes: {found[0]}"
        draft.ask(("command",), question, (*found[1], run.command.place), run.text)


def _of_each_rank(reading: ShellReading, run: Step, draft: Draft) -> None:
    """What differs from rank to rank, where the script's own shell puts it in (sbatch(1): the script is the
    job's first task)."""
    outer = run.command.words if run.command.program == "srun" else run.words
    names, every = (
        {part.name for word in words for part in word if isinstance(part, Unknown)} & OF_RANK
        for words in (run.words, outer)
    )
    for name in sorted(every):
        # What stands in front of the program is for a launcher that the job has no more.
        became = "command: each rank has its own" if name in names else "the job tells each rank its number"
        what, why = (
            f"${name} in the words of srun",
            f"the script's shell puts in its own {name}, so all get 0",
        )
        draft.say("defect", (run.command.place,), what, became=became, why=why)
    told = {each.what for each in draft.findings if each.kind == "defect"}  # of what finds the other ranks
    for variable, value in run.command.environment:
        if f"{variable}={shown(value)}" in told:
            continue
        for name in sorted({part.name for part in value if isinstance(part, Unknown)} & OF_RANK):
            each = reading.last(variable)
            if each is not None and sourced.by_ranks(reading, each.place.file):
                continue
            if of_the_node.is_for_srun(reading):
                continue
            draft.say(
                "defect",
                (each.place if each else run.command.place,),
                f"{variable}={shown(value)}",
                became="each rank has its own",
                why=f"the script's shell puts in its own {name}, so all ranks get 0",
            )


def defaults(reading: ShellReading, draft: Draft) -> None:
    """Each variable that nobody gave, and whose default counts; and a shell that is only like bash."""
    text = next((each.text for each in reading.sources if each.name == reading.script), "")
    shell = interpreter(text)
    if shell in _LIKE_BASH:
        draft.say(
            "assumed",
            (Place(reading.script, 1),),
            f"a script for {shell}",
            became="read as bash reads it",
            why=_OF_ZSH,
            todo="see that the words of the command are right",
        )
    told = {each.what for each in draft.findings if each.kind == "assumed"}
    several: dict[str, dict[str, Place]] = {}
    for each in reading.assumed:
        if each.default:
            several.setdefault(each.name, {}).setdefault(shown(each.default), each.place)
    for each in {each.name: each for each in reversed(reading.assumed)}.values():
        of_slurm = is_slurms(each.name) and each.name not in READ_BY_SRUN
        if each.name in told or (of_slurm and not slurm_options.is_unset(each.name, reading.sources)):
            continue
        is_argument = each.name.isdecimal() and each.name != "0"
        if not (is_argument or each.name.isidentifier()):
            continue
        default = "***" if each.default and is_secret(each.name) else shown(each.default)
        became, places = f"its default: {default}" if default else "not set", [each.place]
        its = several.get(each.name, {})
        if default and len(its) > 1 and not is_secret(each.name):
            became = f"its defaults, each where it stands: {', '.join(list(its)[:_MOST_DEFAULTS])}"
            places = list(its.values())[:_MOST_DEFAULTS]
        why = "no line asks sbatch for what Slurm tells by it" if of_slurm else "nobody gave it"
        if each.name in OF_GPUS and draft.number("gpus_per_node"):
            why = "Slurm sets it, to other GPUs in each job"
        draft.say(
            "assumed",
            places,
            f"${each.name}, an argument of the script" if is_argument else each.name,
            became=became,
            why=arguments.of_default(reading, int(each.name)) if is_argument else why,
            todo="where the operator gave it correct in the job file what comes of it"
            if is_argument
            else _where_set(each.name),
        )


def _where_set(name: str) -> str:
    if name in slurm_options.OF_ARRAYS:
        return f"where the job was an array convert again with --env {slurm_options.BY_VARIABLE}=1-8"
    if is_secret(name):
        return (
            f"where the operator had set it convert again with --env {name}=... and any text for the secret "
            f"itself, and write secrets: [{name}] in the job file"
        )
    return f"where the operator had set it convert again with --env {name}=..."


def parts(reading: ShellReading) -> Place | None:
    """The line that begins the second part of a heterogeneous job."""
    lines = (each for each in reading.directives if each.system == "SBATCH" and each.words[:1])
    return next((each.place for each in lines if each.words[0] in _PARTS), None)


def _parts(reading: ShellReading, run: Step, draft: Draft) -> None:
    line = parts(reading)
    several = any(known(word) == ":" for word in run.words)
    if line is not None:
        draft.unsay(("nodes",), ("gpus_per_node",))
        for key in ("nodes", "gpus_per_node", "ranks_per_node"):
            question = f"{key} of which part: the job has several from this line on: write each in `groups`"
            draft.ask((key,), question, (line,), "a heterogeneous job", todo=_ONE_SIZE)
    elif several:
        draft.unsay(("nodes",), ("ranks_per_node",))
        for key in ("nodes", "ranks_per_node"):
            question = f"{key} of which program: write each in `groups`, with nodes of its own"
            draft.ask((key,), question, (run.command.place,), AT_ONCE, todo=_ONE_SIZE)
    if several or (line is not None and run.option("het-group") is not None):
        question = f"what each rank executes: several programs at once ({run.text}), and a group has one"
        draft.ask(("command",), question, (run.command.place,), run.text, todo=_ONE_SIZE)


def script_of(stdin: Value | None, words: Sequence[Value]) -> list[Value]:
    """The command of a shell that reads its script from a text: srun hands that on to each rank (srun(1),
    --input). Nothing where the command is another one."""
    return [words[0], ("-c",), stdin] if stdin and _reads_script(words) else []


def _reads_script(words: Sequence[Value]) -> bool:
    """Whether they start a shell that takes its script from standard input."""
    texts = [known(word) or "" for word in words]
    return bool(texts and _SHELL.fullmatch(texts[0])) and texts[1:] in ([], ["-s"], ["-"])


def _input(run: Step, draft: Draft) -> None:
    command = run.command
    if not command.stdin and command.reads is None:
        return
    if not script_of(command.stdin, run.words):
        file = shown(command.reads) if command.reads else ""
        say_input(file, run.words, command.place, run.text, draft, is_script=command.stdin is None)


def say_input(
    file: str, words: Sequence[Value], place: Place, what: str, draft: Draft, *, is_script: bool = True
) -> None:
    """What becomes of a launcher's input: `file` is that which it reads, "" for a text; `is_script`: a shell
    among `words`, which each rank executes, reads its script there."""
    if file == "/dev/null":
        return
    if is_script and _reads_script(words):
        told = f"{shown(words[0])} reads it from {file or 'a text in the script'}"
        todo = "name that file in the command, by its path where the ranks are: bash FILE"
        draft.unsay(("command",))
        draft.ask(("command",), f"what each rank executes: {told}", (place,), what, todo=todo)
        return
    draft.say(
        "left",
        (place,),
        f"its input: {file}" if file else "its input, a text in the script",
        why="ranks read nothing from standard input",
        todo="name a file in the command, or let a shell read it: sh -c 'program < file'",
    )


def _side_by_side(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Runs in the background of a loop, each with a share of the job. Where each round waits there is one at
    a time."""
    loops = loops_of_trials(run.command)
    around = (run.command.loops, run.command.conditions)
    waits = any((each.loops, each.conditions) == around for each in reading.of("wait"))
    if run.command.background and loops and not waits:
        draft.say(
            "left",
            (loops[-1].place, run.command.place),
            f"runs side by side: a loop over {loops[-1].over}",
            why="a job's trials run one after the other, each with all that the job has",
            todo="give `time` for all of them, or submit a job for each, with the GPUs of one",
        )
