"""shifter and sarus: a command in an image of a registry.

The options are those of Shifter's src/shifter.c and of Sarus 1.7 (src/cli/CommandRun.hpp and its global ones
in src/cli/CLI.cpp). Shifter takes the image by --image, of its own or of sbatch; Sarus as its first word.
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.flags import table, take
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.readback.shell.values import Value, known, program_of

_SHIFTER = table(
    (
        (1, "volume=V image=i module=m env=e env-file"),
        (0, "verbose=v help=h clearenv=E entry entrypoint workdir=w"),
    )
)
# What it adds to sbatch and srun (wlm_integration/slurm of its sources), for the commands that it starts.
OF_SBATCH = re.compile(r"--(?:image|imagevolume|volume|module|ccm)(?=[= ]|$)")
_SARUS_GLOBAL = table(((0, "debug verbose version help"),))
_SARUS = table(
    (
        (1, "annotation device entrypoint env=e mount mpi-type name=n pid workdir=w"),
        (0, "centralized-repository glibc init mpi=m ssh tty=t"),
    )
)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "shifter", or "sarus run" with the image as its one word, and the command in it. sarus with
    another command starts nothing."""
    if program_of(words) == "shifter":
        options, rest = take(words[1:], _SHIFTER, clusters=True)
        return Layer("shifter", tuple(options)), rest
    first, rest = take(words[1:], _SARUS_GLOBAL)
    command = (known(rest[0]) if rest else None) or ""
    if command != "run":
        return Layer(f"sarus {command}".strip(), words=tuple(rest[1:])), []
    options, rest = take(rest[1:], _SARUS, clusters=True)
    return Layer("sarus run", (*first, *options), tuple(rest[:1])), rest[1:]
