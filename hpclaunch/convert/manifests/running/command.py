"""The job's command, and what stands around it in a shell's text."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from hpclaunch.convert.draft import Draft, shown
from hpclaunch.convert.manifests.numbers import mpi_size
from hpclaunch.convert.manifests.objects.workload import COMMAND, Workload
from hpclaunch.convert.manifests.running import launchers, loops, prepared, shelltext, steps
from hpclaunch.convert.manifests.running.launch import Launch, line_in, words_of
from hpclaunch.convert.manifests.running.loops import Looped
from hpclaunch.convert.manifests.running.shelltext import ShellText
from hpclaunch.convert.manifests.running.steps import LOOK
from hpclaunch.convert.manifests.running.units import Unit, bare
from hpclaunch.convert.mapping.around import other_runs
from hpclaunch.convert.mapping.around.beyond import say_input
from hpclaunch.convert.mapping.around.preparations import Candidate, ask, prepares
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.words.texts import NOTHING, line
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import MPI, layers
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.readback.shell.values import Unknown, Value, known
from hpclaunch.values.conversion import Place

# What a command ends with that goes on until it is killed: sleep infinity, tail -f /dev/null.
_MOST_ITEMS = 1000
_OF_LOGIN = re.compile(r"-[a-z]*l[a-z]*")
_WAITS = re.compile(
    r"""(?:^|[\s;&'"])(?:\S*/)?(?:sleep\s+(?:inf\w*|\d{5,}|\d+d)|tail\s+-[fF]\s+/dev/null)"""
    r"""[\s;&'"]*(?:wait|done)?[\s;'"]*$"""
    r"""|^sleep\s+(?:\d{3,4}|\d+[mh])$"""  # and nothing else
    r"""|\bwhile\s{1,9}(?:true|:|\[ 1 \])[\s;]{1,99}do\s{1,99}sleep\s{1,9}\w{1,9}[\s;]{1,99}done[\s;'"]*$"""
)


def put(
    workload: Workload,
    launch: Launch,
    draft: Draft,
    exports: Sequence[tuple[str, Value]] = (),
    stand_ins: Mapping[str, str] = NOTHING,
) -> None:
    """The job's command, its folder, and the steps around it. `exports` are variables that it sets, and
    `stand_ins` those that ranks have for the text's own."""
    container = workload.starter.container
    if not launch.words:
        _of_image(workload, draft)
        return
    if container.get("command") is None:
        args = container.get("args")
        assert args is not None
        why = "args without a command go to the image's own entrypoint"
        draft.put(("container", "entrypoint"), True, [args.at], "args without command", why=why)
    if launch.shell is not None:
        _around(workload, launch, launch.shell, {name for name, _ in exports}, draft)
    if launch.is_buried or (workload.is_apart and not launch.outer):
        _hidden(launch, draft)
        return
    command, doubt = _command(launch, exports, stand_ins)
    what = _what(launch)
    if command is None:
        question = f"what each rank executes: {doubt} is not told"
        draft.ask(("command",), question, launch.lines, what)
    else:
        there = folder_gone_to(workload, launch)
        lines = launch.lines
        command = prepared.in_front(launch, prepared.numbers(workload, launch), command)
        if there and launch.shell is not None and launch.shell_place is not None:
            command = _in_folder(there, command)
            lines = (*lines, line_in(launch.shell_place, launch.shell.folder_line))
        draft.put(("command",), command, lines, what, why=_why(launch))
        _ask_for_work(launch, in_one(command), draft)
    for key in COMMAND:
        listed = container.get(key)
        for each in listed.items(_MOST_ITEMS) if listed is not None else ():
            if each.is_null:
                why = "it has no value, which the API refuses: the command has an empty word there"
                todo = "write in its place what the command is to be given"
                draft.say("question", [each.at], f"an item of {key}", why=why, todo=todo)
    if launch.shell is not None:
        _variables(workload, launch, launch.shell, draft)
        _ask_for_run(launch, launch.shell, draft)
        _say_login(launch, draft)
    _say_inputs(launch, draft)
    _made_by_each(launch, draft)
    if launch.gets_local_rank:
        why = "a program that reads LOCAL_RANK from its environment needs it no more"
        became = 'command: ... --local_rank="$LOCAL_RANK"'
        what = f"{launch.outer[-1].program} gives each process --local_rank=N"
        draft.say("carried", launch.places, what, became=became, why=why, key="command")


def _say_login(launch: Launch, draft: Draft) -> None:
    """A login shell in front of the launcher (bash -lc), which the ranks themselves do not begin with."""
    options = [each for each in launch.shell_words[1:] if each == "--login" or _OF_LOGIN.fullmatch(each)]
    if launch.outer and options:
        why = "the launcher began with what /etc/profile and ~/.profile of its image set; the ranks do not"
        todo = "where the program needs it (an environment of conda) let the command be bash -lc '...'"
        draft.say("left", launch.whole, f"{launch.shell_words[0]} {options[0]}", why=why, todo=todo)


def _say_inputs(launch: Launch, draft: Draft) -> None:
    """What the launcher reads, which no rank does."""
    if launch.looped is not None:
        run = launch.looped.command
        if run.stdin or run.reads is not None:
            file = "" if run.stdin else shown(run.reads)
            say_input(file, launch.inner, run.place, _what(launch), draft)
    elif launch.outer and launch.unit is not None and launch.shell_place is not None:
        for file in steps.inputs(launch.unit):
            place = line_in(launch.shell_place, launch.unit.line)
            say_input(file, launch.inner, place, _what(launch), draft)


def _ask_for_work(launch: Launch, command: str, draft: Draft) -> None:
    """The question what is done in a pod that only waits: people and other scripts start it there."""
    if _WAITS.search(command) and not launch.outer:
        why = "it waits for somebody to look in (kubectl exec), and no line tells what is started then"
        todo = "write what is started in it as `command`: as it is the job waits until its time is over"
        draft.say("question", launch.lines, "a pod that sleeps", why=why, todo=todo)


def _variables(workload: Workload, launch: Launch, shell: ShellText, draft: Draft) -> None:
    """What the text sets before the run. What it exports ranks have, or the launcher's mpirun says whether;
    what it does not is the text's own, but for what changes a variable of the container."""
    assert launch.shell_place is not None
    fact = draft.facts.get(("command",))
    command = in_one(fact.value) if fact is not None and not fact.is_open else None
    layer = launch.layer(*MPI)
    unseen = launchers.unseen_exports(workload, layer, [name for name, _, _ in shell.exported])
    for name, value, offset in shell.exported:
        lines = [line_in(launch.shell_place, offset)]
        of_text = name in shell.own and ("env", name) not in draft.facts
        if of_text and command is not None and f"${name}" not in command and f"${{{name}" not in command:
            why = "the text has used it, and exports it to nobody"
            draft.say("without effect", lines, shown(f"{name}={value}", 60), why=why)
            continue
        if owner(name) == "rendezvous" and ("rendezvous",) in draft.facts:
            why = f"rendezvous: torch gives each rank its own ({name} was {shown(value, 60)})"
            draft.say("replaced", lines, f"export {name} in the shell's text", why=why)
            continue
        draft.put(("env", name), value, lines, f"export {name} in the shell's text")
        if name in unseen and not of_text:
            todo = f"take env.{name} out, if the ranks are to run as before"
            draft.say("defect", lines, f"{name} did not reach the ranks", why=unseen[name], todo=todo)


def folder_gone_to(workload: Workload, launch: Launch) -> str:
    """The folder that the ranks' shell goes to itself: one that the steps of the text make or do not run in
    yet, or one below a folder that only the image knows. "" where it is the job's own."""
    shell = launch.shell
    if workload.is_apart or shell is None or shell.launch is None or launch.unit is None or not shell.folder:
        return ""
    layer = launch.layer(*MPI)
    if layer is not None and layer.option("wdir") is not None:
        return ""
    below = not shell.folder.startswith("/")
    if below and workload.starter.container.get("workingDir") is None:
        return shell.folder
    for unit, folder in zip(shell.units[: shell.launch], shell.folders, strict=False):
        is_step = bool(unit.words) and known(unit.words[0]) not in LOOK | FOLDERS
        if is_step and folder != shell.folder and (below or folder or shell.folder in unit.text):
            return shell.folder
    return ""


def _in_folder(folder: str, command: list[str] | str) -> str:
    text = command if isinstance(command, str) else f"exec {shlex.join(command)}"
    return f"cd {shlex.quote(folder)} {'|| exit;' if '; ' in text else '&&'} {text}"


def in_one(command: object) -> str:
    """A command of a job file in one text."""
    return command if isinstance(command, str) else " ".join(map(str, command))  # type: ignore[call-overload]


def _made_by_each(launch: Launch, draft: Draft) -> None:
    """$(date) of a launcher's shell was one value for all ranks."""
    made = [
        part
        for word in launch.inner
        for part in word
        if isinstance(part, Unknown) and part.kind == "output" and not part.name.startswith("${")
    ]
    if launch.outer and made:
        why = "the launcher's shell made one value for all ranks; now each rank's shell makes its own"
        todo = "give it as a value: env, or a word of the command"
        draft.say("left", launch.lines, "$(...) in the command", why=why, todo=todo, key="command")


def _of_image(workload: Workload, draft: Draft) -> None:
    place = workload.starter.place
    question = "what each rank executes: the container has no command, so it runs what its image says"
    todo = ""
    if workload.torch and workload.slots is not None:
        todo = f"{workload.slots.what} is for a torchrun that the image may start: write what that starts; "
        todo += "where it starts no torchrun, write ranks_per_node: 1 too"
    draft.ask(("command",), question, [place], "a container without command and args", todo=todo)


def _hidden(launch: Launch, draft: Draft) -> None:
    text = " ".join(known(word.value) or "..." for word in launch.words)
    why, more = "no mpirun is in it", ""
    if launch.hides_mpirun:
        of_what, where = shelltext.launcher_in(text), "it"
        if launch.unread.launcher:
            of_what, where = launch.unread.launcher, launch.unread.path
        why, more = f"no option of the {of_what} in {where} is read", ", and what its options say: env, bind"
    elif shelltext.has_launcher(text):
        why = "what starts the ranks in it stands where it depends on other commands"
    question = f"what each rank executes: the launcher runs {shown(text, 60)!r}, and {why}"
    todo = f"write the command that each rank executes into the job file{more}"
    if launch.unread.launcher:
        todo += (
            f"; or let the pod start {launch.unread.path} alone (command: [bash, FILE]), and convert again"
        )
    draft.ask(("command",), question, launch.places, "the launcher's command", todo=todo)


def _what(launch: Launch) -> str:
    if launch.outer:
        return f"what {launch.outer[-1].program} starts"
    return "command and args" if launch.shell is None else "the shell's text"


def _why(launch: Launch) -> str:
    names = " and ".join(layer.program for layer in launch.outer)
    return f"{names} only started it; hpclaunch starts each rank itself" if names else ""


def _command(
    launch: Launch, exports: Sequence[tuple[str, Value]], stand_ins: Mapping[str, str]
) -> tuple[list[str] | str | None, str]:
    """The command for the job file, or None and what is not known of it."""
    texts = [known(word) for word in launch.inner]
    if launch.shell is not None and not launch.outer:
        return _of_shell(launch, launch.shell), ""
    if not texts:
        return None, "the program"
    if all(text is not None for text in texts) and not exports:
        return [text for text in texts if text is not None], ""
    if launch.unit is not None and not all(text is not None for text in texts):
        return str(line((), exports=exports, in_turn=True).value).removesuffix("exec ") * bool(
            exports
        ) + _as_written(launch, launch.unit), ""
    made = line(launch.inner, stand_ins, exports, in_turn=True)
    return (None, made.doubt) if made.doubt else (made.plain, "")


def _of_shell(launch: Launch, shell: ShellText) -> list[str] | str | None:
    only = shell.units[0] if len(shell.units) == 1 and shell.units[0].simple else None
    options = "".join(launch.shell_words[1:]).replace("-", "")
    if only is not None and set(options) <= set("ecu"):
        words = [known(word) for word in bare(only.words)]
        if all(word is not None for word in words):
            return [word for word in words if word is not None]
    if launch.shell_words[0] in ("sh", "/bin/sh") and launch.shell_words[1:] == ("-c",):
        return shell.text or None
    return [*launch.shell_words, shell.text] if shell.text else None


def _as_written(launch: Launch, unit: Unit) -> str:
    """A text for the shell: words that the launcher adds in quotes, and the rest as it stands."""
    words = [word.value for word in launch.words]
    offsets = unit.rest[len(unit.rest) - len(words) :]
    same = 0
    while same < min(len(words), len(launch.inner)) and words[-1 - same] == launch.inner[-1 - same]:
        same += 1
    added = line(launch.inner[: len(launch.inner) - same]).value if same < len(launch.inner) else ()
    before = added if isinstance(added, str) else " ".join(added)
    # Behind the words stand redirections and pipes of the launcher, which no rank has.
    data = unit.text.encode()[: unit.words_end - unit.start]
    tail = data[offsets[len(offsets) - same] - unit.start :].decode("utf-8", "replace") if same else ""
    return " ".join(filter(None, (before, tail.strip().removesuffix(";").strip())))


def _around(
    workload: Workload, launch: Launch, shell: ShellText, carried: Collection[str], draft: Draft
) -> None:
    """What a shell's text does before and after the launcher. The command itself sets what is `carried`."""
    assert launch.shell_place is not None
    place = launch.shell_place
    if launch.looped is not None:
        _around_the_loop(workload, launch.looped, shell, place, draft)
    if launch.unit is None or shell.launch is None:
        return
    if launch.unit.piped:
        why = "the job's log has the output; `hpclaunch logs` shows it"
        draft.say(
            "replaced", [line_in(place, launch.unit.line)], f"| {shown(launch.unit.piped, 60)}", why=why
        )
    if launch.outer and (files := steps.outputs(launch.unit)):
        why = "the job's log has the output; `hpclaunch logs` shows it"
        todo = "where something reads the file, let the command write it"
        at = line_in(place, launch.unit.line)
        draft.say("replaced", [at], f"> {shown(', '.join(files), 60)}", why=why, todo=todo)
    on_nodes: list[Unit] = []
    gone = folder_gone_to(workload, launch)
    by_ranks = prepared.numbers(workload, launch)
    for number, unit in enumerate(shell.units):
        at = line_in(place, unit.line)
        before = number < shell.launch
        if number in by_ranks:
            text = unit.text.strip().removesuffix(";")
            became = f"command: {text}; ..."
            draft.say("carried", [at], text, became=became, why=prepared.WHY, key="command")
            continue
        if before and unit.exports and not unit.words and all(name in carried for name, _ in unit.exports):
            continue
        if before and _sets_up_nodes(workload, launch, shell, unit, at, draft):
            on_nodes.append(unit)
        elif number != shell.launch:
            there = shell.folders[number]
            made = steps.made_before(shell, number)
            steps.put(workload, unit, before, at, draft, there if there is None or gone else "", made)
    run = _start(workload, launch, launch.unit, place)
    if run is not None:
        beside = [each for each in shell.units if each not in (launch.unit, *on_nodes)]
        others = [_start(workload, launch, each, place) for each in beside]
        todo = "where another is the job's run leave this one out, and convert again"
        other_runs.ask_which(run, [each for each in others if each is not None], draft, todo)


def _sets_up_nodes(
    workload: Workload, launch: Launch, shell: ShellText, unit: Unit, at: Place, draft: Draft
) -> bool:
    """Put an mpirun in front of the run as a step of the job, where it starts one process on each node, of a
    program that prepares by its name. False where it does not."""
    start = _start(workload, launch, unit, at)
    if start is None or start.per_node != 1 or start.nodes != workload.nodes.value:
        return False
    program = layers(words_of(unit, shell, {}))[-1].words
    run = [text for word in program if (text := known(word)) is not None]
    if len(run) < len(program) or not prepares(program):
        return False
    why = "mpirun started it once on each node, before the ranks: now a step of the job does"
    draft.add("setup", {"run": run}, [at], unit.text.strip(), why=why)
    return True


def _ask_for_run(launch: Launch, shell: ShellText, draft: Draft) -> None:
    """The question which command is the run, where mpirun starts what by its name prepares something, and the
    launcher's shell goes on with programs of its own."""
    place = launch.shell_place
    if shell.launch is None or place is None or not launch.outer:
        return
    for unit in shell.units[: shell.launch]:
        if unit.text.rstrip().endswith("&") and shelltext.has_launcher(unit.text):
            why = "it runs at the same time as what the job's ranks are, and a step ends before they start"
            todo = "write which of them the job is, and submit the other as a job of its own"
            draft.say("question", [line_in(place, unit.line)], unit.text.strip(), why=why, todo=todo)
    later = (unit for unit in shell.units[shell.launch + 1 :] if unit.words)
    others = [
        Candidate(layers(unit.words), line_in(place, unit.line))
        for unit in later
        if (known(unit.words[0]) or "").rpartition("/")[2] not in LOOK | that("ends", "files", "copies")
    ]
    ask(Candidate(layers(launch.inner), launch.places[0]), others, draft)


def _around_the_loop(
    workload: Workload, looped: Looped, shell: ShellText, place: Place, draft: Draft
) -> None:
    """What stands before the loop of trials, behind it, and in it beside the command."""
    run = looped.command.place
    for unit in shell.units:
        at = line_in(place, unit.line)
        end = at.line + unit.text.count("\n")
        if loops.is_of(looped, at.line, end):
            continue
        if loops.waits(looped, at.line, end):
            why = "ranks are started when all nodes are there"
            draft.say("replaced", [Place(at.file, at.line, end)], unit.text.strip(), why=why)
        else:
            steps.put(workload, unit, at.line < run.line, at, draft)
    for each in looped.reading.commands:
        if each.place == run or not each.loops or each.loops != looped.command.loops:
            continue
        if each.program in LOOK:
            why = "it changes nothing for the ranks"
            draft.say("without effect", [each.place], each.written, why=why)
        else:
            why = "it ran in each round, in the launcher's own pod, and a job has no such pod"
            todo = "if ranks need it, add it to before_each (per: node, or per: job)"
            draft.say("left", [each.place], each.written, why=why, todo=todo)


def _start(workload: Workload, launch: Launch, unit: Unit, place: Place) -> other_runs.Start | None:
    """How many ranks an mpirun starts, None for any other command."""
    layer = next((each for each in layers(unit.words) if each.program in MPI), None)
    if layer is None:
        return None
    nodes, per_node, total = mpi_size.of_mpirun(workload, launch, layer)
    return other_runs.Start(unit.text.strip(), line_in(place, unit.line), nodes, per_node, total)
