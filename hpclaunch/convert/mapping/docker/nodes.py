"""How many nodes a launcher has that goes to its hosts by itself."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker.steps import Started, copies_of
from hpclaunch.convert.mapping.ranks import launchers, mpi
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.words import hosts
from hpclaunch.convert.mapping.words.host_lists import lists
from hpclaunch.convert.mapping.words.hosts import Counted
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.programs.layers import MPI, OVER_HOSTS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

_NO_NUMBERS: Mapping[str, int] = MappingProxyType({})


def put(reading: ShellReading, steps: Sequence[Started], main: Started | None, draft: Draft) -> Allocation:
    """The job's name and its nodes: by the first of these that tells them, where no other one contradicts."""
    file = reading.script.rpartition("/")[2]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", file.rsplit(".", 1)[0]).strip("-._")
    draft.put(("name",), name or "job", (Place(reading.script),), f"the script's name {file}")
    found = list(_told(reading, steps, main))
    if found and all(each.count == found[0].count for each in found):
        first = found[0]
        draft.put(("nodes",), first.count, first.places, first.what)
        return Allocation(nodes=first.count, places={"nodes": first.places})
    if found:
        each = "; ".join(dict.fromkeys(f"{each.what} says {each.count}" for each in found))
        places = tuple(dict.fromkeys(place for each in found for place in each.places))
        draft.ask(("nodes",), f"how many nodes: {each}", places, found[0].what)
        return Allocation()
    where, what = _list(reading, steps)
    alone = _only_host(steps)
    why = f"{what}, and how many those are is not told"
    if alone:
        why = f"the script reaches {alone} alone, and whether it does so on other hosts is not told"
    draft.ask(("nodes",), f"how many nodes: {why}", (where,), "the hosts")
    return Allocation()


def _only_host(steps: Sequence[Started]) -> str:
    """The host that ssh is given where it is one and the same everywhere; "" where others are there too."""
    remote = [layer for step in steps for layer in step.layers if layer.program in ("ssh", *OVER_HOSTS, *MPI)]
    named = {known(word) for layer in remote for word in layer.words[:2]}
    other = any(layer.program != "ssh" or not layer.words for layer in remote)
    text = next(iter(named), None) if len(named) == 1 and not other else None
    return text if text is not None and hosts.count(text) == 1 else ""


def _told(reading: ShellReading, steps: Sequence[Started], main: Started | None) -> Iterator[Counted]:
    if main is not None:
        yield from _by_options(reading, main)
        copies = copies_of(main, steps)
        if len(copies) > 1:
            places = tuple(dict.fromkeys(each.command.place for each in copies))
            yield Counted(len(copies), places, f"{main.text} on {len(copies)} hosts")
    seen: set[str] = set()
    for step in steps:
        if not any(each.program.startswith("docker ") for each in step.layers):
            continue
        for loop in hosts.loops_over(step.command):
            counted = hosts.of_loop(loop)
            if counted is not None and counted.what not in seen:
                seen.add(counted.what)
                yield counted
        for layer in step.layers:
            option, reached = layer.option("host"), mpi.nodes_of(layer) if layer.program in MPI else None
            if option is not None and reached is not None and option.written not in seen:
                seen.add(option.written)
                yield Counted(reached, lines_of(reading, step.command, option), option.written)
            for option in layer.all("host") if layer.program == "ssh" else ():
                text = known(option.value or ())
                count = hosts.count(text) if text else None
                # Of one host nobody knows whether the others have a command of their own.
                if count is not None and count > 1 and option.written not in seen:
                    seen.add(option.written)
                    yield Counted(count, lines_of(reading, step.command, option), option.written)
    yield from (each.hosts for each in lists(reading))


def _by_options(reading: ShellReading, main: Started) -> Iterator[Counted]:
    """What the launcher is told: -H a,b of mpirun, --nnodes of torchrun."""
    for layer in main.layers:
        if layer.program in MPI:
            nodes, option = mpi.nodes_of(layer), layer.option("host")
            if nodes is not None and option is not None:
                yield Counted(nodes, lines_of(reading, main.command, option), option.written)
            total = layer.option("np")
            count = number(total.value, reading, _NO_NUMBERS) if total is not None else None
            size = mpi.ranks_of(reading, main.command, layer, None, _NO_NUMBERS)
            if total is None or size is None or size.what == total.written:
                continue
            if count and size.per_node and count % size.per_node == 0:
                places = (*lines_of(reading, main.command, total), *size.places)
                yield Counted(count // size.per_node, places, f"{total.written} with {size.what}")
        elif launchers.is_launcher(layer):
            option = layer.option("nnodes")
            count = number(option.value, reading, _NO_NUMBERS) if option is not None else None
            if option is not None and count:
                yield Counted(count, lines_of(reading, main.command, option), option.written)


def _list(reading: ShellReading, steps: Sequence[Started]) -> tuple[Place, str]:
    """Where the hosts are named, and by what."""
    for step in steps:
        for loop in hosts.loops_over(step.command):
            reads = loop.over.startswith("read ")
            return loop.place, "the script reads the hosts" if reads else f"the script goes over {loop.over}"
        for layer in step.layers:
            option = layer.option("hosts") or layer.option("hostfile") or layer.option("host")
            if option is not None and layer.program in ("ssh", *OVER_HOSTS, *MPI):
                return step.command.place, f"{option.written} names the hosts"
    for step in steps:
        if any(layer.program == "ssh" or layer.program in MPI for layer in step.layers):
            return step.command.place, "the script has a list of hosts"
    return Place(reading.script), "the script has a list of hosts"
