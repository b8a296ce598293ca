"""What the kernel takes when a program is started: a job that is larger would die far from the cause."""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.launchplan import Common, LocalTarget, SlurmTarget
from hpclaunch.values.pods import KubernetesTarget
from hpclaunch.values.steps import Step
from hpclaunch.values.words import LONGEST, EnvVar

# An object that etcd stores has at most 1.5 MiB (its --max-request-bytes), and this is what may be in it of
# the job's own, with room for the texts and for what the API server notes.
LARGEST_OBJECT = 1_000_000
# Open MPI's mpirun gives each rank the whole of its command line in one more variable, OMPI_ARGV
# (orte/orted/orted_submit.c). The rank wrapper's own text is in it as well, of at most so many bytes.
WRAPPER = 37_000
# All strings together: a quarter of the usual 8 MiB stack, less the rank wrapper's own text and what the
# scheduler adds for each rank.
LARGEST = 1_900_000


class _Part(Struct, frozen=True):
    """One string that srun or the rank wrapper is started with: its bytes, what set it, and what would make
    it shorter."""

    what: str
    size: int
    document: str
    path: Path
    instead: str


def problems(
    common: Common, target: SlurmTarget | KubernetesTarget | LocalTarget, copies: int = 1
) -> list[Problem]:
    """What is too large in the arguments and the environment of what starts the ranks. One command line has
    so many `copies` of the arguments, each with the rank wrapper's text."""
    runs = [[*_command(common)], *map(list, map(_of_step, common.steps))]
    shared = [*_environment(common), *_tables(target)]
    found = [
        Problem(
            f"{part.what} is {part.size:,} bytes long, and the kernel takes {LONGEST:,}: {part.instead}",
            part.document,
            part.path,
        )
        for part in chain(*runs, shared)
        if part.size > LONGEST
    ]
    if found:
        return found
    most, beside = _together(target)
    most = most if copies == 1 else most // copies - WRAPPER
    # Those for the host are in srun's environment as well.
    of_host = () if isinstance(target, KubernetesTarget) else target.host_env
    for key, run in zip(("command", *(step.when for step in common.steps)), runs, strict=True):
        parts = [*run, *shared]
        total = sum(part.size + beside for part in parts) + sum(_bytes(each) + beside for each in of_host)
        if total > most:
            found.append(_too_much(parts, total, most, (key,)))
    if isinstance(target, KubernetesTarget) and len(runs) > 1 and not found:
        parts = [*chain(*runs), *shared]
        total = sum(part.size + beside for part in parts)
        if total > LARGEST_OBJECT:
            found.append(_too_much(parts, total, LARGEST_OBJECT, ("command",)))
    return found


def _too_much(parts: Sequence[_Part], total: int, most: int, path: Path) -> Problem:
    largest = max(parts, key=lambda part: part.size)
    message = (
        f"command, variables and the ranks' tables have {total:,} bytes, and {most:,} can be passed "
        f"on; {largest.what} has {largest.size:,} of them: {largest.instead}"
    )
    return Problem(message, "job", path)


def _together(target: SlurmTarget | KubernetesTarget | LocalTarget) -> tuple[int, int]:
    """The most bytes of all strings, and what each costs beside its own: an end and a pointer, or where they
    become one text a space."""
    if not isinstance(target, KubernetesTarget):
        return LARGEST, 9
    if target.starter[:1] == ("mpirun",):
        return LONGEST - WRAPPER, 1
    return LARGEST_OBJECT, 9


def _command(common: Common) -> Iterator[_Part]:
    for index, word in enumerate(common.argv):
        # With the `=` that each word has before it.
        size = len(word.encode()) + 1
        yield _Part(f"word {index} of the command", size, "job", ("command",), "put it in a file")
    for group in common.groups.members if common.groups else ():  # every rank is given those of all
        path: Path = ("groups", group.name)
        for index, word in enumerate(group.argv):
            what = f"word {index} of the command of group {group.name}"
            yield _Part(what, len(word.encode()) + 1, "job", (*path, "command"), "put it in a file")
        for variable in group.environment:
            where = (*path, "env", variable.name)
            yield _Part(variable.name, _bytes(variable), variable.origin, where, "put it in a file")


def _of_step(step: Step) -> Iterator[_Part]:
    for index, word in enumerate(step.argv):
        yield _Part(
            f"word {index} of {step.title}", len(word.encode()) + 1, "job", (step.when,), "put it in a file"
        )


def _environment(common: Common) -> Iterator[_Part]:
    for variable in common.environment:
        path = ("env", variable.name)
        yield _Part(variable.name, _bytes(variable), variable.origin, path, "put it in a file")


def _tables(target: SlurmTarget | KubernetesTarget | LocalTarget) -> Iterator[_Part]:
    """What the plan itself writes, and grows with the ranks of a node."""
    tables = [option.text for option in target.wrapper]
    if isinstance(target, SlurmTarget):
        for option, masks in (
            ("--cpu-bind=mask_cpu:", target.cpu_masks),
            (f"--mem-bind={target.mem_policy}:", target.mem_masks),
        ):
            tables += [option + ",".join(masks)] if masks else []
        for flag in (*target.srun, *target.pyxis):
            what = f"srun's {flag.text.partition('=')[0]}"
            yield _Part(what, len(flag.text.encode()), "job", (), "shorten what it is made of")
    for text in tables:
        what = f"the ranks' table {text.partition('=')[0]}"
        yield _Part(what, len(text.encode()), "job", ("ranks_per_node",), "take fewer ranks per node")


def _bytes(variable: EnvVar) -> int:
    return len(variable.name) + 1 + len(variable.value.encode())
