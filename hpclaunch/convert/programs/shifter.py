"""shifter and sarus: a command in an image of a registry.

The options are those of Shifter's src/shifter.c and of Sarus 1.7 (src/cli/CommandRun.hpp and its global ones
in src/cli/CLI.cpp). Shifter takes the image by --image, of its own or of sbatch; Sarus as its first word, and
so does the Shifter of CSCS, which came before it: `shifter run --mpi IMAGE COMMAND`
(reframe/core/containers.py of ReFrame starts the two alike).
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.flags import stands_for_options, table, take
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
_OF_CSCS = frozenset(("run", "pull", "load", "images", "rmi"))
_SARUS_GLOBAL = table(((0, "debug verbose version help"),))
_SARUS = table(
    (
        (1, "annotation device entrypoint env=e mount mpi-type name=n pid workdir=w"),
        (0, "centralized-repository glibc init mpi=m ssh tty=t writable-volatile"),
    )
)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "shifter", or "sarus run" or "shifter run" with the image as its one word, and the command in
    it. With another command than run they start nothing."""
    program = program_of(words)
    first, rest = take(words[1:], _SARUS_GLOBAL)
    command = (known(rest[0]) if rest else None) or ""
    is_of_cscs = command in _OF_CSCS and all(each.name in _SARUS_GLOBAL for each in first)
    if program == "shifter" and not is_of_cscs:  # whose image an option tells, of it or of sbatch
        options, rest = take(words[1:], _SHIFTER, clusters=True, own=stands_for_options(_SHIFTER))
        return Layer("shifter", tuple(options)), rest
    if command != "run":
        return Layer(f"{program} {command}".strip(), words=tuple(rest[1:])), []
    options, rest = take(rest[1:], _SARUS, clusters=True)
    return Layer(f"{program} run", (*first, *options), tuple(rest[:1])), rest[1:]
