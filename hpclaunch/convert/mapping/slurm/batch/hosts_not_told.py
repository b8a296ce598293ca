"""Hosts of mpirun or deepspeed, in a script that no sbatch runs, of which nothing tells how many they are."""

import re
from collections.abc import Iterator

from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.words.host_lists import lists
from hpclaunch.convert.programs.flags import not_told
from hpclaunch.convert.programs.layers import MPI, OVER_HOSTS, STARTERS, Layer, layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.values.conversion import Place

# An option by which a launcher takes hosts, at the beginning of what a variable is given.
_TAKES_HOSTS = re.compile(r"--?(?:(?:default-)?hostfile|machinefile|hosts?|H)(?=[\s=]|$)|-f(?=\s)")


def find(reading: ShellReading) -> tuple[tuple[str, str], Place] | None:
    """What has them, why that tells nothing, and the line."""
    if reading.directives or next(lists(reading), None) is not None:
        return None
    for command in reading.of(*STARTERS):
        for layer in layers(command.words):
            if layer.program in (*MPI, *OVER_HOSTS) and (said := _of(reading, command, layer)) is not None:
                return said, command.place
    return None


def _of(reading: ShellReading, command: Command, layer: Layer) -> tuple[str, str] | None:
    listed = layer.option("hostfile")
    name = layer.program if layer.program in OVER_HOSTS else "mpirun"
    if listed is not None and known(listed.value or ()) != "":
        return f"the hostfile of {name}", f"the file of hosts that {name} takes has them, and is not given"
    host = layer.option("host")
    if host is not None:
        is_told = mpi.nodes_of(layer) is not None
        return None if is_told else (host.written, f"{host.written} has them, and is not told")
    perhaps = next(perhaps_given(reading, command), None)
    if perhaps is not None:
        variable, option = perhaps
        return f"${{{variable}}}", f"{variable} has the hosts of {name} ({option}) or none, which is not told"
    return None


def perhaps_given(reading: ShellReading, command: Command) -> Iterator[tuple[str, str]]:
    """Variables among the words, not told, to which the script gives an option with hosts in some case."""
    names = {name for word in command.words for name in not_told(word)}
    for each in reading.assigned:
        option = _TAKES_HOSTS.match(shown(each.value)) if each.name in names else None
        if option is not None:
            yield each.name, option[0]
