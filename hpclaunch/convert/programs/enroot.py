"""`enroot import`: an image brought to a squashfs file."""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.convert.programs.flags import table, take
from hpclaunch.readback.shell.values import Value, known, program_of

# enroot(1) import: -a and -o take a word.
_IMPORT = table(((1, "arch=a output=o"), (0, "help=h")))


class Import(Struct, frozen=True):
    """What is imported, as Enroot's URI, and the file that it becomes; () where Enroot names it itself."""

    image: Value
    output: Value


def imported(words: Sequence[Value]) -> Import | None:
    """The import of `enroot import ...`, None for any other command."""
    if len(words) < 3 or program_of(words) != "enroot" or known(words[1]) != "import":
        return None
    options, rest = take(words[2:], _IMPORT, clusters=True)
    if not rest:
        return None
    output = next((each.value for each in options if each.name == "output"), None)
    return Import(rest[0], output or ())
