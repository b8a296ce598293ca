"""Parameters of Open MPI in files: mca_params.conf, given beside the launcher or written by it."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.numbers.settled import by_role
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.readback.shell.values import Value, shown
from hpclaunch.values.conversion import Place

_NAME = re.compile(r"mca[-_]params")


def put(reading: ShellReading, draft: Draft) -> None:
    """What the given files say; options of the command line, which are put after it, count more
    (Open MPI's FAQ, "How do I set the value of MCA parameters?")."""
    for source in _given(reading):
        for number, line in enumerate(source.text.splitlines(), 1):
            _put_line(line, (Place(source.name, number),), draft)


def put_text(text: str, places: Sequence[Place], draft: Draft) -> None:
    """The lines of a file that the launcher writes."""
    for line in text.splitlines():
        _put_line(line, places, draft)


def _put_line(line: str, places: Sequence[Place], draft: Draft) -> None:
    """A line `name = value`; nothing for any other."""
    name, equals, value = (part.strip() for part in line.partition("="))
    if line.lstrip().startswith("#") or not equals or not name.replace("_", "").isalnum():
        return
    if "$" in value and not mpi.is_of_the_launch(name):
        draft.ask(("env", f"OMPI_MCA_{name}"), f"the value of {name}", places, line.strip())
    else:
        mpi.parameter(name, value, places, line.strip(), draft)


def are_told(reading: ShellReading) -> bool:
    """Whether the input has the text of such a file."""
    return bool(_given(reading)) or any(
        command.stdin and any(_NAME.search(shown(each)) for each in _files(command))
        for command in reading.commands
    )


def _files(command: Command) -> Iterator[Value]:
    """What it may write into: by a redirection, or as tee does."""
    yield from (each.path for each in command.writes)
    yield from command.words


def _given(reading: ShellReading) -> Sequence[Source]:
    return by_role(reading).get("mca", ())
