"""The MPI of ranks whose launchers are not read: they stand in words of another program, or several of them
where they depend on other commands. What each rank executes is asked for then, and so are its options; that
an mpirun starts the ranks is told all the same, and without it each of them would be alone.
"""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.running.launch import Launch, stand_in
from hpclaunch.convert.manifests.running.shelltext import LAUNCHERS, has_launcher
from hpclaunch.convert.manifests.running.units import bare
from hpclaunch.convert.mapping.ranks import mpi, mpi_library
from hpclaunch.convert.programs.layers import MPI, Layer, layers
from hpclaunch.readback.shell.values import Value, known

_CONTINUED = re.compile(r"\\\n|(?<!\S)#.*")  # and comments
_MOST = 20  # words that are tried as the start of a launcher


def put(launch: Launch, draft: Draft) -> None:
    """How the ranks find each other; asked for where some of the launchers are of MPI and others are not."""
    if not launch.is_buried:
        return
    found = list(_launchers(launch))
    ours = [each for each in found if each.program in MPI]
    if not ours:
        return
    if any(each.program != ours[0].program for each in found):
        names = " and ".join(dict.fromkeys(each.called for each in found))
        question = f"pmix, pmi2 or none: {names} are in it, and which of them is the run is asked for"
        draft.ask(("mpi",), question, launch.places, names)
        return
    # What one of them says of whose MPI it is, and of binding, counts for all: nothing else is read of them.
    options = tuple(option for each in ours for option in each.options)
    every = Layer(ours[0].program, options, name=ours[0].name)
    mpi.put_kind(stand_in(launch.places), every, mpi_library.by_options(every), draft)


def _launchers(launch: Launch) -> Iterator[Layer]:
    """The launchers of the text, each as it stands there; else the first one in words of other programs."""
    if launch.shell is not None and launch.shell.nested:
        rows = [bare(words) for words in launch.shell.nested]
        yield from filter(None, map(_last, rows))
        return
    rows = [unit.words for unit in launch.shell.units] if launch.shell is not None else []
    if launch.unread.text:
        rows += [tuple((word,) for word in _CONTINUED.sub(" ", launch.unread.text).split())]
    for row in rows or [tuple(word.value for word in launch.words)]:
        pieces = [piece for word in row for piece in _pieces(word)]
        starts = [at for at, piece in enumerate(pieces) if has_launcher(known(piece) or "")]
        found = next(filter(None, (_last(pieces[at:]) for at in starts[:_MOST])), None)
        if found is not None:
            yield found
            return


def _pieces(word: Value) -> list[Value]:
    """A word, or those of the text for another shell that it is."""
    text = known(word) or ""
    return [(piece,) for piece in text.split()] if has_launcher(text) and " " in text else [word]


def _last(words: Sequence[Value]) -> Layer | None:
    return next((each for each in reversed(layers(words)) if each.program in LAUNCHERS), None)
