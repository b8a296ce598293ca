"""Variables that a Python program of the ranks reads, where the file was given: what starts the ranks may set
none of that name."""

import re
from collections.abc import Collection, Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import numbers, rendezvous
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place

_READS = re.compile(r"\benviron\[\s*[\"'](?P<name>\w+)[\"']\s*\](?!\s*=[^=])")
_COMMENT = re.compile(r"^[ \t]*#.*$|#[^\n\"']*$", re.MULTILINE)


def put(
    reading: ShellReading, words: Sequence[Value], given: Collection[str], draft: Draft, *, by_srun: bool
) -> None:
    """Say which of them nobody sets, and let hpclaunch set those that it can. `given` are those that the
    ranks have of the script, `by_srun`: no mpirun starts them."""
    of_torch: dict[str, Place] = {}
    for name, place in _read(reading, words):
        if name in given or any((key, name) in draft.facts for key in ("env", "secrets")):
            continue
        if name in rendezvous.COMPUTED:
            of_torch.setdefault(name, place)
        elif by_srun and numbers.is_of_mpirun(name):
            own = numbers.of_slurm(name)
            why = "mpirun sets it in each rank, and srun does not: the program finds none and ends"
            todo = f"let it take {own} where that is missing" if own else "set it in env"
            draft.say("defect", (place,), f"the program reads {name}", why=why, todo=todo)
    if of_torch and ("rendezvous",) not in draft.facts:
        what = f"the program reads {', '.join(of_torch)}"
        why = f"no line sets {'it' if len(of_torch) == 1 else 'them'}; {rendezvous.SETS_ALL}"
        places = tuple(dict.fromkeys(of_torch.values()))
        draft.put(("rendezvous",), "torch", places, what, why=why, kind="assumed")


def _read(reading: ShellReading, words: Sequence[Value]) -> Iterator[tuple[str, Place]]:
    """Each name that a program cannot do without, with its line. One that it looks for or sets is not of
    them."""
    programs = [each for each in reading.beside if each.name.endswith(".py")]
    for program in numbers.started(words, programs):
        text = _COMMENT.sub("", program.text)
        for found in _READS.finditer(text):
            name = found["name"]
            if not _is_set_or_looked_for(text, name):
                yield name, Place(program.name, text.count("\n", 0, found.start()) + 1)


def _is_set_or_looked_for(text: str, name: str) -> bool:
    quoted = rf"[\"']{name}[\"']"
    sets = rf"environ\[\s*{quoted}\s*\]\s*=[^=]|setdefault\(\s*{quoted}"
    return re.search(rf"{sets}|{quoted}\s+(?:not\s+)?in\b|except\s+KeyError", text) is not None
