"""The command that srun starts for each rank: the words of hpclaunch's wrapper, or another program."""

import re
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.values import IfSet, Unknown, Value, known, shown
from hpclaunch.readback.slurm.runs import RANK
from hpclaunch.readback.wrapper_words import WrapperWords, identity, wrapper_words
from hpclaunch.values.launch import SeenVariable

_SHELLS = ("/bin/sh", "sh")
_OF_SLURM = re.compile(r"(SLURM_[A-Z_]+)-0")


class Rank(Struct, frozen=True):
    """What srun runs: the wrapper's words where it is one, else the command itself."""

    argv: tuple[str, ...]
    words: WrapperWords | None
    wrapper: str
    unread: tuple[str, ...]


def rank(command: Sequence[Value], ranks: int, line: int, settings: tuple[str, ...]) -> Rank:
    """What the words at this line tell. `ranks` are those of a node, and `settings` those of other groups,
    for which the wrapper is too."""
    unread: list[str] = []
    texts = [known(word) for word in command[:4]]
    if len(texts) < 4 or texts[0] not in _SHELLS or texts[1] != "-c" or texts[3] != RANK:
        argv = tuple(_text(word, line, unread) for word in command)
        unread.append(f"line {line}: srun starts no rank wrapper, so what it says of a rank is not read")
        return Rank(argv, None, "", tuple(unread))
    seen = wrapper_words([_word(word, line, unread) for word in command[4:]], ranks)
    if seen.source != "slurm":
        unread.append(
            f"line {line}: the rank wrapper's from={seen.source}, so ranks do not find their numbers"
        )
    wrapper = identity(outside(texts[2] or ""), (*seen.given, *settings))
    return Rank(seen.argv, seen, wrapper, (*unread, *(f"line {line}: {each}" for each in seen.unread)))


def _word(word: Value, line: int, unread: list[str]) -> str | SeenVariable:
    """A word for the rank wrapper: text, a variable of the submitter's, ${NAME+"NAME=$NAME"}, or one that
    Slurm tells, NAME=${SLURM_NAME-0}."""
    inner = word[0].then if len(word) == 1 and isinstance(word[0], IfSet) else word
    if len(inner) == 2 and isinstance(inner[0], str) and isinstance(inner[1], Unknown):
        name = inner[0].removesuffix("=")
        if inner[1] == Unknown("variable", name):
            return SeenVariable(outside(name), source="submitter")
        told = _OF_SLURM.fullmatch(inner[1].name)
        if told and inner[1].kind == "either":
            return SeenVariable(outside(name), told[1], "scheduler")
    return _text(word, line, unread)


def _text(word: Value, line: int, unread: list[str]) -> str:
    text = known(word)
    if text is None:
        unread.append(f"line {line}: {outside(shown(word))} is known only when the script runs")
    return outside(shown(word))
