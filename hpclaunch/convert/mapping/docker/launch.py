"""The command of a launcher with docker -> its ranks, their environment, and the command."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import beyond, trials
from hpclaunch.convert.mapping.bind import binding, by_ranks, in_front, ompi_bind
from hpclaunch.convert.mapping.container.images import OF_IMAGE
from hpclaunch.convert.mapping.docker import arguments, caller, container, ranks, sizes, standard_input
from hpclaunch.convert.mapping.docker.steps import Started, copies_of
from hpclaunch.convert.mapping.environment import handed_on, reached
from hpclaunch.convert.mapping.ranks import numbers as numbers_of_mpirun
from hpclaunch.convert.mapping.ranks import rendezvous, threads
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.numbers.settled import by_role
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.words import hosts
from hpclaunch.convert.mapping.words.lines import uses_of
from hpclaunch.convert.mapping.words.made import alternatives, in_doubt
from hpclaunch.convert.mapping.words.texts import line, submitters
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of, shown
from hpclaunch.values.conversion import Place

_LAUNCHER = re.compile(
    r"^[^#]*((torch|bagua|oneflow)\.distributed\.(launch|run)|torchrun|bind_launch|deepspeed\s"
    r"|accelerate launch)"
)


class Launch(Struct, frozen=True):
    """What the script starts: all its `steps`, the `main` one, which is the job's own command, and `home`,
    which starts the container that it is in, None where no line does."""

    reading: ShellReading
    steps: Sequence[Started]
    main: Started
    home: Started | None


def put(launch: Launch, found: Allocation, draft: Draft, options: Options) -> None:
    """The container, the ranks and the command."""
    reading, main = launch.reading, launch.main
    handed = _handed(launch, draft)
    by_name = {each.name: each.value for each in handed if each.value is not None}
    repeated = trials.find(reading, trials.Run(main.command, main.words, handed=by_name), draft)
    _put_container(launch, draft)
    numbers = sizes.numbers(reading, found)
    once = _put_ranks(launch, found, numbers, handed, draft)
    receivers = handed_on.Receivers(once, repeated.seed, numbers, repeated.stand_ins)
    exports = handed_on.put(reading, handed, draft, receivers)
    _say_not_handed(launch, handed, draft)
    beyond.in_front_of_starter(_of_starters(main), main.command, draft)
    if ("command",) not in draft.facts:
        stand_ins = {**repeated.stand_ins, **hosts.stand_ins(main.command)}
        words = _words(launch, draft, options, once=once)
        _put_command(launch, words, stand_ins, exports, draft)
    threads.put(main.launcher if main.mpirun is None else None, (main.command.place,), draft)
    trials.ask_rounds(reading, main.command, draft, repeated.seed)


def _of_starters(main: Started) -> list[Layer]:
    """What stands in front of what starts the command, and is no part of it. Who binds is said elsewhere."""
    before = main.layers[: len(main.layers) - len(main.own_layers)]
    return [each for each in before if each.program in IN_FRONT]


def _put_container(launch: Launch, draft: Draft) -> None:
    reading, main, home = launch.reading, launch.main, launch.home
    if home is not None:
        container.put_container(reading, home, main, draft)
    elif main.container is not None:
        container.ask_image(reading, main, draft)
    if home is not main and main.container is not None:
        context = arguments.Context(reading, main.command, main.container)
        arguments.put(context, draft, is_main=True)
    if main.workdir:
        draft.put(("workdir",), main.workdir, (main.command.place,), f"cd {main.workdir}")


def _put_ranks(
    launch: Launch,
    found: Allocation,
    numbers: Mapping[str, int],
    handed: Sequence[handed_on.Handed],
    draft: Draft,
) -> bool:
    """Put how many there are, and what they have of a node. Whether the command is started once on a node,
    and starts its processes itself."""
    reading, main = launch.reading, launch.main
    ranks.put(reading, main, found, numbers, draft)
    mpirun, launcher = main.mpirun, main.launcher
    if mpirun is not None:
        _say_outside(main, mpirun, draft)
    sizes.put_gpus(reading, [each for each in (launch.home, main) if each], draft)
    starter = launcher or mpirun
    if starter is None:
        return _put_alone(launch, found, handed, draft)
    if launcher is not None and not ranks.is_on_each(main, launcher, found):
        _ask_nodes(main, draft)
    if launcher is not None or starter.program == "horovodrun":
        sizes.assume_gpus(starter.program, draft)
    return False


def _put_alone(launch: Launch, found: Allocation, handed: Sequence[handed_on.Handed], draft: Draft) -> bool:
    """A command that nothing starts several times on a node but srun: whether that does not do so either."""
    reading, main = launch.reading, launch.main
    of_srun = ranks.of_srun(reading, main, found)
    once = of_srun is None or of_srun.per_node == 1
    if of_srun is None or not caller.is_podman(main):
        _put_unbound(main, draft)
    if once and (_calls_for_rendezvous(handed) or _starts_some(reading, main)):
        _say_own_processes(reading, main, draft)
    if of_srun is None:
        on_each_node = main.is_per_node or found.nodes == 1 or len(copies_of(main, launch.steps)) > 1
    else:
        on_each_node = of_srun.nodes in (None, found.nodes)
    if of_srun is None and not on_each_node and found.nodes is None and ("nodes",) not in draft.facts:
        on_each_node = is_of_slurm(reading) and _is_alone(launch, draft)
    if not on_each_node:
        _ask_nodes(main, draft)
    return once


def _is_alone(launch: Launch, draft: Draft) -> bool:
    """Whether the script starts nothing on other nodes, and asks Slurm for none: it has the one that sbatch
    gives it, unless the operator asked for more."""
    if any(step.layer("srun", "ssh", "unknown") is not None or step.is_over_hosts for step in launch.steps):
        return False
    why = "no line asks for more, and the script's own shell starts it once"
    draft.put(("nodes",), 1, (launch.main.command.place,), "one run of the script", why=why, kind="assumed")
    return True


def _say_not_handed(launch: Launch, handed: Sequence[handed_on.Handed], draft: Draft) -> None:
    """What does not reach the ranks, or not all of them."""
    reading, main = launch.reading, launch.main
    if main.mpirun is not None:
        by_ranks.of_env((main.command.place,), draft)
        _say_first_host(handed, main, main.mpirun, draft)
    its = [each for each in (launch.home, main) if each]
    if not any(layer.option("env-file") or layer.option("env-host") for each in its for layer in each.layers):
        used = {name for each in its for name in uses_of(reading, each.command)}
        handed_on.say_not_handed(reading, handed, main.command, used, draft)


def _put_unbound(main: Started, draft: Draft) -> None:
    hidden = ranks.hidden_starter(main)
    why = "docker binds nobody, and the command may start processes of its own"
    for kind in ("cpus", "memory"):
        if hidden:
            question = f"what ranks are bound to (local, or none): {hidden} in {main.text} may start some"
            draft.ask(("bind", kind), question, (main.command.place,), main.text)
        else:
            draft.put(("bind", kind), "none", (main.command.place,), _name(main), why=why)


def _calls_for_rendezvous(handed: Sequence[handed_on.Handed]) -> bool:
    return any(
        each.name in rendezvous.COMPUTED
        or rendezvous.with_own_addresses(each.value or each.there.get(each.name, ())) is not None
        for each in handed
    )


def _starts_some(reading: ShellReading, main: Started) -> bool:
    """Whether the text of a shell, or the script that was given, starts processes by MPI or for each GPU."""
    return any(each.is_parallel for each in main.pieces) or bool(_lines_of_launchers(reading, main))


def _ask_nodes(main: Started, draft: Draft) -> None:
    """Ask for the nodes of a command that is not started on each: what the others do is not known."""
    fact = draft.facts.get(("nodes",))
    nodes, what = fact.value if fact is not None else None, _name(main)
    if nodes != 1:
        which = "one" if main.is_on_one else "the first"
        told = f"{which} of {nodes} nodes" if nodes else "one node"
        question = f"how many nodes: {what} is started on {told} alone, a job's command on all of them"
        draft.ask(("nodes",), question, (main.command.place, *(fact.places if fact else ())), what)


def _name(main: Started) -> str:
    return main.text or OF_IMAGE


def _say_own_processes(reading: ShellReading, main: Started, draft: Draft) -> None:
    """A script in the container starts a process for each GPU, from addresses in its environment."""
    draft.say(
        "left",
        (main.command.place, *_lines_of_launchers(reading, main)),
        f"{main.text} is started once on each node",
        why="the job does so too; processes that it starts there itself are neither placed nor watched",
        todo="let the job start what that starts, once for each GPU (leave ranks_per_node and bind out): "
        "ranks then sit beside their GPUs, and one that fails ends the job at once",
    )


def _lines_of_launchers(reading: ShellReading, main: Started) -> list[Place]:
    """Where the script of the ranks, if it was given, starts them."""
    program = program_of(main.words)
    return [
        Place(source.name, number)
        for source in (*reading.sources, *reading.beside)
        if source.name.rpartition("/")[2] == program
        for number, text in enumerate(source.text.splitlines(), 1)
        if _LAUNCHER.search(text)
    ]


def _handed(launch: Launch, draft: Draft) -> list[handed_on.Handed]:
    """What the ranks are handed: docker run's -e, docker exec's, and mpirun's -x, which counts most."""
    reading, main, mpirun = launch.reading, launch.main, launch.main.mpirun
    found: list[handed_on.Handed] = []
    for step, program in ((launch.home, "docker run"), (main, "docker exec")):
        layer = step.layer(program) if step is not None else None
        if step is not None and layer is not None:
            found += caller.handed(reading, step, layer, draft)
    programs = [each.program for each in main.layers]
    if mpirun is not None and programs.index(mpirun.program) > _index(programs, "docker"):
        inner = structs.replace(main.command, environment=())
        found += handed_on.given(reading, inner, mpirun.all("x"), f"{mpirun.called} -x")
    return found


def _index(programs: Sequence[str], begin: str) -> int:
    """The place of the last program whose name begins so, -1 for none."""
    return max((index for index, each in enumerate(programs) if each.startswith(begin)), default=-1)


def _say_outside(main: Started, mpirun: Layer, draft: Draft) -> None:
    """-x of an mpirun on the host: docker's client gets it, and the container nothing of it."""
    programs = [each.program for each in main.layers]
    if programs.index(mpirun.program) > _index(programs, "docker"):
        return
    for option in mpirun.all("x"):
        name = shown(option.value or ()).partition("=")[0]
        draft.say(
            "left",
            (main.command.place,),
            f"{mpirun.called} -x {name}",
            why="mpirun gives it to docker on each host, and the container has nothing of it",
            todo=f"write env.{name} in the job file if the ranks are to have it",
        )


def _say_first_host(handed: Sequence[handed_on.Handed], main: Started, mpirun: Layer, draft: Draft) -> None:
    """-e of the docker that starts mpirun: it is for that one host, and mpirun hands on what -x names and
    Open MPI's own (mpirun(1), "Exported environment variables")."""
    programs = [each.program for each in main.layers]
    outer = next((each for each in main.layers if each.program in ("docker run", "docker exec")), None)
    if outer is None or (draft.number("nodes") or 1) == 1 or mpirun.option("genvall") is not None:
        return
    if programs.index(mpirun.program) < programs.index(outer.program) or mpirun.program != "mpirun":
        return
    by_x = {each.name for each in handed if each.by.endswith(" -x")}
    own = {shown(each.value or ()).partition("=")[0] for each in outer.all("env")}
    for each in handed:
        is_carried = ("env", each.name) in draft.facts and not each.name.startswith(("OMPI_", "PMIX_"))
        if each.name in own - by_x and is_carried and not each.by.endswith(" -x"):
            draft.say(
                "assumed",
                each.places,
                f"{each.by} {each.name}",
                became=f"env.{each.name}, which all ranks have",
                why="it is for the first host: mpirun hands on to the others what -x names alone",
                todo="take it out of env where they are not to have it",
            )


def _words(launch: Launch, draft: Draft, options: Options, *, once: bool) -> list[Value]:
    """The words of the command, with what tells each rank of a launcher its number."""
    main = launch.main
    words = _bound(launch.reading, main, draft, options)
    if main.launcher is not None and torch.passes_local_rank(main.launcher):
        at = _after_program(words)
        return [*words[:at], rendezvous.local_rank(), *words[at:]]
    own = rendezvous.own_addresses(words) if once else words
    if own != words:
        why = "hpclaunch sets the node's number and the first node's address in each rank"
        draft.put(("rendezvous",), "torch", (main.command.place,), main.text, why=why)
    return own


def _put_command(
    launch: Launch,
    words: Sequence[Value],
    stand_ins: Mapping[str, str],
    exports: Sequence[tuple[str, Value]],
    draft: Draft,
) -> None:
    reading, main = launch.reading, launch.main
    if main.mpirun is not None:
        given = numbers_of_mpirun.scripts_of(reading)
        exports = [*exports, *numbers_of_mpirun.exports(words, given, (main.command.place,), draft)]
    words, in_texts = rendezvous.in_texts(words, stand_ins)
    written = line(words, stand_ins, exports, piped=standard_input.put(main, draft))
    places, what = reading.origin(main.command), _name(main)
    if any(stand_ins.get(name) in rendezvous.COMPUTED for name in written.used | in_texts):
        why = "the loop counts the nodes, as NODE_RANK does that hpclaunch sets in each rank"
        draft.put(("rendezvous",), "torch", places, what, why=why)
    if written.doubt or not words:
        missing = f"{written.doubt} is not told" if written.doubt else "docker run leaves it to the image"
        draft.ask(("command",), f"what each rank executes: {missing}", places, what)
        return
    doubts = [each for each in in_doubt(reading, words) if ("env", each) not in draft.facts]
    doubts = [each for each in doubts if not stand_ins.get(each)]
    if doubts:
        which = alternatives(reading, doubts[0])
        draft.ask(("command",), f"what each rank executes: {what}, and {which}", places, what)
        return
    draft.put(("command",), written.plain, places, what)
    _say_hosts(words, launch.steps, places, draft)
    _say_empty(reading, main, written.names, draft)
    names = [name for name in submitters(written.names) if name not in rendezvous.COMPUTED]
    reached.inherit(names, places, draft, what)


def _say_empty(reading: ShellReading, main: Started, names: Sequence[str], draft: Draft) -> None:
    """Variables that the script's own shell puts into the command, and that the container alone has."""
    outer = [each for each in reading.commands if each.place == main.command.place]
    of_script = {
        part.name
        for each in outer
        for word in each.words
        for part in word
        if isinstance(part, Unknown) and part.kind == "variable"
    }
    for name in dict.fromkeys(names):
        fact = draft.facts.get(("env", name))
        if name not in of_script or fact is None or reading.last(name) is not None:
            continue
        draft.say(
            "defect",
            (main.command.place, *fact.places),
            f"${name} in the command",
            became=f"the command reads env.{name}: {fact.value}",
            why="the script's own shell puts it in, which nobody gave it: it was empty. The container alone "
            "has it, by -e, and reads it where the text for its shell stands in single quotes",
            todo="take it out of the command if it is to run as it did",
        )


def _say_hosts(
    words: Sequence[Value], steps: Sequence[Started], places: Sequence[Place], draft: Draft
) -> None:
    """Hosts of the original by their names in the command: the job runs on others."""
    text = " ".join(map(shown, words))
    named = hosts.named([(each.command, each.layers) for each in steps])
    for name in sorted(named & set(re.findall(r"[\w.-]+", text))):
        why = "it is a host of the original, and the job may run on others"
        todo = "write $MASTER_ADDR for the first node (rendezvous: torch sets it), or take it out"
        draft.say("left", places, f"{name} in the command", why=why, todo=todo)


def _bound(reading: ShellReading, main: Started, draft: Draft, options: Options) -> list[Value]:
    """The words of the command, without those that bind it where `bind` says the same."""
    per_node = draft.number("ranks_per_node")
    if ompi_bind.is_binder(main.words):
        name = known(main.words[0]) or ""
        ompi_bind.put(name, per_node, (*reading.sources, *reading.beside), (main.command.place,), draft)
        return list(main.words[1:])
    of_mpirun, binders = in_front.apart(main.layers)
    for each in of_mpirun:
        in_front.say(each, main.command, draft)
    if not binders:
        return list(main.own_words)
    files = by_role(reading).get("binding", [])
    ranks = binding.Ranks((main.command.place,), per_node, files)
    kept = binding.of_layers(binders, ranks, draft, options)
    return [*in_front.words(main.command, main.layers, kept), *(main.own_words if kept else main.words)]


def _after_program(words: Sequence[Value]) -> int:
    """Where the arguments of `python -u x.py` or `python -u -m x` begin."""
    at = 1
    while at < len(words) and (known(words[at]) or "").startswith("-"):
        at += 1
    return min(at + 1, len(words))
