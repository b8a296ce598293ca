"""What the kernel takes when a program is started: a job that is larger would die far from the cause."""

from collections.abc import Sequence

from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.launchplan import Common, EnvVar

# execve(2) refuses a longer string (MAX_ARG_STRLEN in the kernel: 32 pages of 4 KiB).
LONGEST = 131_072
# All strings together: a quarter of the usual 8 MiB stack, less what the scheduler adds for each rank.
LARGEST = 1_900_000


def problems(common: Common, on_host: Sequence[EnvVar]) -> list[Problem]:
    """What is too large in a rank's arguments and environment. `on_host` are the variables that srun gets
    in its environment as well."""
    found: list[Problem] = []
    total = sum(map(_bytes, on_host))
    parts: list[tuple[str, int, str, Path]] = [
        (f"word {index} of the command", len(word.encode()), "job", ("command",))
        for index, word in enumerate(common.argv)
    ]
    parts += [
        (variable.name, _bytes(variable), variable.origin, ("env", variable.name))
        for variable in common.environment
    ]
    for what, size, document, path in parts:
        total += size + 9  # the string's end and its pointer
        if size >= LONGEST:
            message = f"{what} is {size:,} bytes long, and the kernel takes {LONGEST - 1:,}: put it in a file"
            found.append(Problem(message, document, path))
    if total > LARGEST and not found:
        message = f"command and variables have {total:,} bytes, and {LARGEST:,} can be passed on: use a file"
        found.append(Problem(message, "job", ("command",)))
    return found


def _bytes(variable: EnvVar) -> int:
    return len(variable.name) + 1 + len(variable.value.encode())
