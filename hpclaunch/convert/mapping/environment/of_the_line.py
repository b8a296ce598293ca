"""Exported texts of which the script itself makes the line of its run: LAUNCHER="torchrun --nnodes 2" and
ARGS="train.py --lr 0.1" before srun $LAUNCHER $ARGS."""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.walk import inner
from hpclaunch.readback.shell.values import Value, known, known_parts, program_of, shown

_SCRIPT = re.compile(r"\S+\.(?:sh|bash|slurm|sbatch|sub)")


def names(reading: ShellReading, command: Command, exported: Sequence[tuple[str, Value]]) -> frozenset[str]:
    """Those of the exported variables that hold several words of the command's line, and that nothing names
    beside the rank: no program is thought to read them there. A script of the shell may, and so may a text of
    which nothing is told."""
    used = reading.used_by(command)
    made = [name for name, value in exported if name in used and _is_several(value)]
    if not made or _may_read(command):
        return frozenset()
    line = " ".join(" ".join(map(shown, command.words)).split())
    named = re.compile(r"\$\{?(\w+)")
    texts = [known_parts(word) for each in reading.starting for word in (*each.words, each.stdin or ())]
    there = {found[1] for text in texts if text for found in named.finditer(text)}
    return frozenset(
        name for name, value in exported if name in made and name not in there and _stands_in(value, line)
    )


def _is_several(value: Value) -> bool:
    return any(isinstance(part, str) and re.search(r"\S\s+\S|^\s+\S|\S\s+$", part) for part in value)


def _may_read(command: Command) -> bool:
    """Whether it starts a script of the shell, which may name any variable, or what is not told."""
    words = layers(command.words)[-1].words
    program = known(words[0]) if words else None
    if program is None or _SCRIPT.fullmatch(program):
        return True
    if program_of(words) not in SHELLS:
        return False
    of_text = inner(command, words)
    return not of_text or any(map(_may_read, of_text))


def _stands_in(value: Value, line: str) -> bool:
    return all(" ".join(part.split()) in line for part in value if isinstance(part, str))
