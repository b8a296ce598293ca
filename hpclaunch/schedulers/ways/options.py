"""What a job asks of sbatch, for the ways that do not read #SBATCH lines: from the plan in its record."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from hpclaunch.records.record import Record
from hpclaunch.schedulers.ways.contract import CannotExpress
from hpclaunch.values.words import Option

# As sbatch reads a directive (get_argument in src/sbatch/opt.c): a value with one of these may mean another.
_QUOTING = frozenset("\\\"'# \t")


# What stands between the components of a heterogeneous job. pyslurm has no word for them.
HETJOB = "hetjob"


class _Target(Struct, frozen=True):
    sbatch: tuple[Option, ...] = ()
    components: tuple[tuple[Option, ...], ...] = ()


class _Plan(Struct, frozen=True):
    target: _Target = _Target()


def of_record(record: Record) -> tuple[str, ...] | None:
    """The options that became the script's #SBATCH lines, None where its lines are others than the plan's.
    The components of a heterogeneous job have HETJOB between them."""
    try:
        plan = msgspec.json.decode((record.folder / "plan.json").read_bytes(), type=_Plan)
        script = record.script.read_text(encoding="utf-8")
    except (OSError, ValueError):  # msgspec's errors are ValueErrors, and so is text that is not UTF-8
        return None
    options = list(plan.target.sbatch)
    for component in plan.target.components:
        options += [Option(HETJOB), *component]
    planned = [f"#SBATCH {option.text}" + (f"  # {option.why}" if option.why else "") for option in options]
    return tuple(option.text for option in options) if planned == _directives(script) else None


def components(options: Sequence[str] | None) -> list[tuple[str, ...] | None]:
    """The options of each component of a heterogeneous job; those of another job are one."""
    if options is None:
        return [None]
    found: list[list[str]] = [[]]
    for text in options:
        if text == HETJOB:
            found.append([])
        else:
            found[-1].append(text)
    return list(map(tuple, found))


def _directives(script: str) -> list[str]:
    """The lines that sbatch would read: those before the first command."""
    found: list[str] = []
    for line in script.splitlines():
        if line.startswith("#SBATCH"):
            found.append(line)
        elif line.strip() and not line.startswith("#"):
            break
    return found


def by_name(options: Sequence[str] | None, more: Sequence[str] = ()) -> dict[str, str]:
    """Name -> value ("" for none) of options in their long form. Raises CannotExpress where that is not what
    they are."""
    if options is None:
        raise CannotExpress("its #SBATCH lines are not those of its plan")
    found: dict[str, str] = {}
    for text in (*options, *more):
        name, _, value = text.partition("=")
        if not name.startswith("--") or _QUOTING & set(text) or name in found:
            raise CannotExpress(text)
        found[name] = value
    return found


def spelled(name: str, value: str) -> str:
    """An option as it stands on a command line: --NAME, or --NAME=VALUE."""
    return f"{name}={value}" if value else name


def is_utf8(text: str) -> bool:
    """Whether no byte in it is a mere stand-in for one that was not UTF-8 (Python's surrogateescape)."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def tasks(asked: Mapping[str, str]) -> int:
    """How many tasks the job has, which sbatch works out from its nodes and the tasks on each."""
    try:
        return int(asked.get("--ntasks") or int(asked["--nodes"]) * int(asked["--ntasks-per-node"]))
    except (KeyError, ValueError):
        raise CannotExpress("a number of nodes or tasks that is none") from None
