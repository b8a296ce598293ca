"""How many ranks the command has on a node, and what starts them -> `ranks_per_node`, `mpi`, `rendezvous`."""

import re
from collections.abc import Mapping
from itertools import pairwise

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker import sizes
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.ranks import launchers, mpi, mpi_library, named_hosts, parameter_files
from hpclaunch.convert.mapping.slurm.batch.asked import of_options
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks, ranks
from hpclaunch.convert.mapping.slurm.srun.run_mpi import NO_WHERE
from hpclaunch.convert.mapping.slurm.starts import inner_launchers
from hpclaunch.convert.mapping.words.host_lists import lists
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.docker import MPI_OF_HPC
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import base_name, known, shown

# Names of variables by which a rank finds srun's PMI.
_OF_PMI = re.compile(r"PMIX?(?:\d?_|\*)")

_FIRST = 4  # words in which a script stands: bash -x FILE


def put(
    reading: ShellReading, main: Started, found: Allocation, slurm_numbers: Mapping[str, int], draft: Draft
) -> None:
    """Put them into the draft; what does not tell them is asked."""
    command, launcher, mpirun = main.command, main.launcher, main.mpirun
    if mpirun is not None:
        parameter_files.put(reading, draft)
        mpi.put_kind(command, mpirun, mpi_library.of(reading, command, mpirun), draft)
        mpi.put_options(reading, command, mpirun, draft)
        sizes.put_ranks(reading, command, mpirun, found, slurm_numbers, draft)
        named_hosts.say(reading, command, mpirun, draft)
        return
    if launcher is not None:
        launchers.put_launcher(reading, command, launcher, draft)
        if is_on_each(main, launcher, found):
            launchers.say_apart(command, launcher, Ranks(found.nodes, 1, ()), draft)
        size = launchers.size(reading, command, launcher, found.nodes, slurm_numbers)
        if launcher.program == "deepspeed" and size.per_node is None and not size.doubt:
            size = _of_list(reading, size)
        if size.per_node is not None:
            draft.put(("ranks_per_node",), size.per_node, size.places, size.what)
        elif size.doubt:
            question = f"how many ranks on each node: {size.doubt}"
            draft.ask(("ranks_per_node",), question, size.places, size.what)
        else:
            why = "one rank for each GPU, as without the key"
            draft.say("carried", size.places, size.what, became="ranks_per_node", why=why)
        return
    by_srun = of_srun(reading, main, found)
    what = main.text or "the command"
    hidden = hidden_starter(main)
    if by_srun is None and hidden:
        question = f"how many ranks on each node: whether {hidden}, a word of what is started, starts some"
        draft.ask(("ranks_per_node",), question, (command.place,), what)
    elif by_srun is None:
        why = "docker starts the command once on a node"
        draft.put(("ranks_per_node",), 1, (command.place,), what, why=why)
        _say_script(reading, main, draft)
    elif by_srun.per_node is None:
        question = f"how many ranks on each node: {by_srun.doubt or 'srun does not tell it'}"
        draft.ask(("ranks_per_node",), question, by_srun.places, what)
    else:
        why = "srun starts a container for each rank"
        draft.put(("ranks_per_node",), by_srun.per_node, by_srun.places, what, why=why)
    _put_mpi(reading, main, by_srun, draft)


def is_on_each(main: Started, launcher: Layer, found: Allocation) -> bool:
    """Whether the launcher is started on each node: by srun or ssh, or by what nobody gave, as one is that is
    told of the others. The script's own shell starts it on its first node alone."""
    by_others = main.layer("srun", "ssh", "unknown") is not None and not main.is_on_one
    by_others = by_others or main.is_per_node or main.is_over_hosts
    told = any(
        each.name in ("nnodes", "node_rank", "hostfile", "host", "include", "") for each in launcher.options
    )
    return by_others or told or found.nodes is None or found.nodes == 1 or bool(main.command.loops)


def _put_mpi(reading: ShellReading, main: Started, by_srun: Ranks | None, draft: Draft) -> None:
    """How srun's ranks find each other. Nothing of srun's is in a container of docker's; one of Podman's has
    it where an option brings it there."""
    step, place = main.layer("srun"), main.command.place
    option = step.option("mpi") if step is not None else None
    given = reading.last("SLURM_MPI_TYPE")
    if option is not None:
        kind, places, what = known(option.value or ()) or "", (place,), option.written
    elif given is not None:
        kind, places, what = known(given.value) or "", (given.place,), "SLURM_MPI_TYPE"
    else:
        kind, places, what = "", (place,), "srun without --mpi"
    kind = srun.mpi_kind(kind)
    brought = _brings_mpi(main)
    if kind in srun.MPI_KINDS and (option is not None or brought):
        draft.put(("mpi",), kind, places, what)
    elif by_srun is not None and brought and (by_srun.nodes, by_srun.per_node) != (1, 1):
        question = f"pmix, pmi2 or none: {NO_WHERE}; {brought} brings it into the container"
        draft.ask(("mpi",), question, places, what)


def _brings_mpi(main: Started) -> str:
    """The option of podman-hpc for MPI, or the variables of PMI that one hands on, "" for none."""
    layer = main.layer("docker run")
    for option in layer.options if layer is not None else ():
        if option.name in MPI_OF_HPC or (option.name == "env" and _OF_PMI.match(shown(option.value or ()))):
            return option.written
    return ""


def _say_script(reading: ShellReading, main: Started, draft: Draft) -> None:
    """Say of a script that docker starts once what starts ranks in it, and of one that is not given that it
    may."""
    given = {each.name.rpartition("/")[2]: each for each in (*reading.sources, *reading.beside)}
    its = next((given[name] for name in map(base_name, main.words[:_FIRST]) if name in given), None)
    if its is not None:
        inner_launchers.say_in(its, "docker", main.command.place, draft)
        return
    script = known(main.words[0]) if main.words else None
    if script is not None and script.endswith(".sh"):
        why = "docker starts it once on a node, and what it starts is not read: the file is not given"
        todo = "see that file: where it starts ranks write ranks_per_node, mpi and bind as it has them"
        what = f"whether {script} starts ranks itself"
        draft.say("question", (main.command.place,), what, became="ranks_per_node: 1", why=why, todo=todo)


def hidden_starter(main: Started) -> str:
    """What starts ranks, where it is a word behind a program that is not known, "" where nothing is."""
    starters = (*BY_MPI, *BY_TORCH)
    words = pairwise(map(base_name, main.words))
    return next((word for before, word in words if word in starters and not before.startswith("-")), "")


def _of_list(reading: ShellReading, size: launchers.FanOut) -> launchers.FanOut:
    """deepspeed starts a process for each slot of a host in its list."""
    for each in lists(reading):
        if each.slots is not None:
            return launchers.FanOut(each.slots, (*size.places, *each.hosts.places), f"slots={each.slots}")
    return size


def of_srun(reading: ShellReading, main: Started, found: Allocation) -> Ranks | None:
    """The ranks of the srun that starts the container on all nodes at once, None where there is none."""
    step = main.layer("srun")
    if step is None or step.option("nodelist") is not None or main.is_over_hosts:
        return None
    return ranks(reading, of_options(reading, main.command, step.options), found, main.command.place)
