"""The command of a launcher with docker -> its ranks, their environment, and the command."""

import re
from collections.abc import Mapping, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import trials
from hpclaunch.convert.mapping.bind import binding, of_mpirun, ompi_bind
from hpclaunch.convert.mapping.docker import arguments, container, ranks, sizes, standard_input
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.environment import exported, handed_on
from hpclaunch.convert.mapping.ranks import launchers, rendezvous
from hpclaunch.convert.mapping.slurm.settled import by_role
from hpclaunch.convert.mapping.slurm.sizes import Allocation
from hpclaunch.convert.mapping.words import hosts
from hpclaunch.convert.mapping.words.lines import uses_of
from hpclaunch.convert.mapping.words.made import alternatives, in_doubt
from hpclaunch.convert.mapping.words.texts import line, submitters
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import MPI, Layer
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, base_name, known, program_of, shown
from hpclaunch.values.conversion import Place

_LAUNCHER = re.compile(
    r"^[^#]*(torch\.distributed\.(launch|run)|torchrun|bind_launch|deepspeed\s|accelerate launch)"
)




def put(
    reading: ShellReading,
    steps: Sequence[Started],
    main: Started,
    home: Started | None,
    found: Allocation,
    draft: Draft,
    options: Options,
) -> None:
    """The container, the ranks and the command."""
    mpirun = main.layer(*MPI)
    handed = _handed(reading, home, main, mpirun)
    by_name = {each.name: each.value for each in handed if each.value is not None}
    repeated = trials.find(reading, main.command, draft, main.words, handed=by_name)
    stand_ins = {**repeated.stand_ins, **hosts.stand_ins(main.command)}
    if home is not None:
        container.put_container(reading, home, main, draft)
    elif main.container is not None:
        container.ask_image(reading, main, draft)
    if home is not main and main.container is not None:
        context = arguments.Context(reading, main.command, main.container)
        arguments.put(context, draft, is_main=True)
    if main.workdir:
        draft.put(("workdir",), main.workdir, (main.command.place,), f"cd {main.workdir}")
    launcher = next((each for each in main.layers if launchers.is_launcher(each)), None)
    alone = launcher is None and mpirun is None
    slurm_numbers = sizes.numbers(reading, found)
    ranks.put(reading, main, launcher, mpirun, found, slurm_numbers, draft)
    if mpirun is not None:
        _say_outside(main, mpirun, draft)
    sizes.put_gpus(reading, [each for each in (home, main) if each], draft)
    if launcher is not None or (mpirun is not None and mpirun.program == "horovodrun"):
        sizes.assume_gpus((launcher or mpirun or Layer("")).program, draft)
    of_srun = ranks.of_srun(reading, main, found) if alone else None
    per_node = alone and (main.is_per_node or found.nodes == 1)
    if of_srun is not None:
        per_node = of_srun.nodes in (None, found.nodes)
    if alone and not (of_srun is not None and _is_podman(main)):
        _put_unbound(main, draft)
    if alone and (of_srun is None or of_srun.per_node == 1) and _calls_for_rendezvous(handed):
        _say_own_processes(reading, main, draft)
    if alone and not per_node:
        _ask_nodes(main, draft)
    once = alone and (of_srun is None or of_srun.per_node == 1)
    exports = handed_on.put(
        reading,
        handed,
        draft,
        per_node=once,
        seed=repeated.seed,
        slurm=slurm_numbers,
        stand_ins=repeated.stand_ins,
    )
    if mpirun is not None:
        of_mpirun.of_env((main.command.place,), draft)
        _say_first_host(handed, main, mpirun, draft)
    used = {name for each in (home, main) if each for name in uses_of(reading, each.command)}
    containers = [layer for each in (home, main) if each for layer in each.layers]
    if not any(layer.option("env-file") or layer.option("env-host") for layer in containers):
        handed_on.say_not_handed(reading, handed, main.command, used, draft)
    _put_command(reading, main, launcher, stand_ins, steps, exports, once, draft, options)
    trials.ask_rounds(reading, main.command, draft, repeated.seed)


def _put_unbound(main: Started, draft: Draft) -> None:
    hidden = ranks.hidden_starter(main)
    why = "docker binds nobody, and the command may start processes of its own"
    for kind in ("cpus", "memory"):
        if hidden:
            question = f"what ranks are bound to (local, or none): {hidden} in {main.text} may start some"
            draft.ask(("bind", kind), question, (main.command.place,), main.text)
        else:
            draft.put(("bind", kind), "none", (main.command.place,), main.text, why=why)


def _is_podman(main: Started) -> bool:
    """Podman's containers are processes of the step, and keep the cores that srun gives each; docker's are
    the daemon's."""
    return any(base_name(word) == "podman" for word in main.command.words)


def _calls_for_rendezvous(handed: Sequence[handed_on.Handed]) -> bool:
    return any(
        each.name in rendezvous.COMPUTED
        or rendezvous.with_own_addresses(each.value or each.there.get(each.name, ())) is not None
        for each in handed
    )


def _ask_nodes(main: Started, draft: Draft) -> None:
    """The command is not started on each node: what is on the others, the job cannot know."""
    fact = draft.facts.get(("nodes",))
    nodes = fact.value if fact is not None else None
    if nodes != 1:
        told = f"of {nodes} nodes" if nodes else "node"
        question = f"how many nodes: {main.text} is started on the first {told} alone, a job's on all of them"
        draft.ask(("nodes",), question, (main.command.place, *(fact.places if fact else ())), main.text)


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


def _handed(
    reading: ShellReading, home: Started | None, main: Started, mpirun: Layer | None
) -> list[handed_on.Handed]:
    """What the ranks are handed: docker run's -e, docker exec's, and mpirun's -x, which counts most."""
    found: list[handed_on.Handed] = []
    for step, program in ((home, "docker run"), (main, "docker exec")):
        layer = step.layer(program) if step is not None else None
        if step is not None and layer is not None:
            found += handed_on.given(reading, step.command, layer.all("env"), f"{program} -e")
    programs = [each.program for each in main.layers]
    if mpirun is not None and programs.index(mpirun.program) > _index(programs, "docker"):
        inner = structs.replace(main.command, environment=())
        found += handed_on.given(reading, inner, mpirun.all("x"), f"{mpirun.program} -x")
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
            f"{mpirun.program} -x {name}",
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


def _put_command(
    reading: ShellReading,
    main: Started,
    launcher: Layer | None,
    stand_ins: Mapping[str, str],
    steps: Sequence[Started],
    exports: Sequence[tuple[str, Value]],
    per_node: bool,
    draft: Draft,
    options: Options,
) -> None:
    if ("command",) in draft.facts:
        return
    words = _bound(reading, main, draft, options)
    if launcher is not None and torch.passes_local_rank(launcher):
        at = _after_program(words)
        words = [*words[:at], rendezvous.local_rank(), *words[at:]]
    elif per_node:
        own = rendezvous.own_addresses(words)
        if own != words:
            why = "hpclaunch sets the node's number and the first node's address in each rank"
            draft.put(("rendezvous",), "torch", (main.command.place,), main.text, why=why)
        words = own
    words, in_texts = rendezvous.in_texts(words, stand_ins)
    written = line(words, stand_ins, exports, piped=standard_input.put(main, draft))
    places = reading.origin(main.command)
    what = main.text
    if any(stand_ins.get(name) in rendezvous.COMPUTED for name in written.used | in_texts):
        why = "the loop counts the nodes, as NODE_RANK does that hpclaunch sets in each rank"
        draft.put(("rendezvous",), "torch", places, what, why=why)
    if written.doubt or not words:
        missing = written.doubt or "every word of it"
        draft.ask(("command",), f"what each rank executes: {missing} is not told", places, what)
        return
    doubts = [each for each in in_doubt(reading, words) if ("env", each) not in draft.facts]
    doubts = [each for each in doubts if not stand_ins.get(each)]
    if doubts:
        which = alternatives(reading, doubts[0])
        draft.ask(("command",), f"what each rank executes: {what}, and {which}", places, what)
        return
    draft.put(("command",), written.plain, places, what)
    _say_hosts(words, steps, places, draft)
    _say_empty(reading, main, written.names, draft)
    names = [name for name in submitters(written.names) if name not in rendezvous.COMPUTED]
    exported.inherit(names, places, draft, what)


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
    binders = [each for each in main.layers if each.program in BINDERS]
    if not binders:
        return list(main.own_words)
    files = by_role(reading).get("binding", [])
    kept = binding.of_layers(binders, (main.command.place,), per_node, files, draft, options)
    return list(main.own_words if kept else main.words)


def _after_program(words: Sequence[Value]) -> int:
    """Where the arguments of `python -u x.py` or `python -u -m x` begin."""
    at = 1
    while at < len(words) and (known(words[at]) or "").startswith("-"):
        at += 1
    return min(at + 1, len(words))
