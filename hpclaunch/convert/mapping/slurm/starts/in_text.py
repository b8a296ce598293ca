"""`srun bash -c 'cd FOLDER; source env.sh; torchrun ...'`: a text for a shell that ends with a launcher is
read as if srun started the launcher, and what the text does before it each rank does."""

import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.mapping.ranks.rendezvous import COMPUTED
from hpclaunch.convert.mapping.ranks.torch_variables import with_variables
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.environments import CONDAS, HOOK
from hpclaunch.convert.programs.layers import PER_GPU, Layer, layers
from hpclaunch.convert.programs.names import BY_TORCH, SHELLS, any_of
from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.convert.shell import walk
from hpclaunch.convert.shell.names import used, with_names
from hpclaunch.convert.shell.parsed import parsed
from hpclaunch.convert.shell.started import as_inside
from hpclaunch.readback.shell import inside, outside
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.statements import AndOr, Declaration, Group, Simple, Statement
from hpclaunch.readback.shell.values import Value, join, known, program_of, shown

_MAY = re.compile(any_of(BY_TORCH))
_MOST = 200
# What each rank has as the one process of its node had it.
_SAME = frozenset(
    f"SLURM_{name}"
    for name in (
        *("JOB_ID", "JOBID", "JOB_NAME", "JOB_PARTITION", "JOB_NODELIST", "NODELIST", "NODEID", "NNODES"),
        *("JOB_NUM_NODES", "ARRAY_JOB_ID", "ARRAY_TASK_ID"),
    )
) | {"MASTER_ADDR", "MASTER_PORT"}
# With a default, as a job of no array has none of them: the text's own shell tells which it is.
_PERHAPS = re.compile(r"\$\{SLURM_ARRAY_\w+:?[-=+?]")
# What each rank may do as well as the one process of a node that did it: nothing that writes files.
_FOR_EACH = that("says", "looks", "enters") | {"set", "unset", "shopt", "ulimit", "module", "nvidia-smi"}
_GIVEN = re.compile(r"(?:[A-Za-z_]\w*=[\w./:,@%+-]*\s+)+")  # variables in front of the launcher
_SETS_RANKS = re.compile(rf"\b(?:{'|'.join(COMPUTED)})=")  # which are other ones for each rank of a job
_OF_CONDA = re.compile(r"(?:conda|mamba|micromamba)\s+activate\b.*")


class Front(Struct, frozen=True):
    """What a shell does before it starts the launcher, as text, and the shell."""

    shell: Value
    text: str

    def then(self, words: Sequence[Value]) -> list[Value]:
        """The words of the shell that does this and becomes the command."""
        quoted = [
            tuple(shlex.quote(part) if isinstance(part, str) else part for part in word) for word in words
        ]
        texts = [part for word in quoted for part in (" ", *word)]
        return [self.shell, ("-c",), join([f"{self.text}exec", *texts])]


class Started(Struct, frozen=True):
    """What the text starts: the words with the launcher, their layers, and what the shell does before; or the
    `folder`, where it does no more than to enter one."""

    words: tuple[Value, ...]
    layers: tuple[Layer, ...]
    front: Front | None = None
    folder: Value | None = None


def started(reading: ShellReading, command: Command, words: Sequence[Value]) -> Started | None:
    """What a text starts that these words of the command give to a shell; None for any other: one that needs
    a login shell, does what a node needs once, or hands variables to the program that only its own shell
    knows."""
    if len(words) != 3 or program_of(words) not in SHELLS or known(words[1]) != "-c":
        return None
    if any(_PERHAPS.search(part) for part in words[2] if isinstance(part, str)):
        return None
    if _MAY.search(shown(words[2])) is None or not _are_few(reading):
        return None
    calls, before = _parts(words[2])
    if not calls:
        return None
    found = [each for each in walk.inner(command, words) if each.within != "output"]
    last = found[-1].words if found else ()
    given = {**dict(found[-1].environment), **dict(found[-1].prefix)} if found else {}
    its = tuple(with_variables(each, given) for each in layers(last))
    if not its[-1].words or not any(layer.program in PER_GPU for layer in its):
        return None
    own = {name for part in words[2] if isinstance(part, str) for name in used(part)}
    of_program = (_names(its[-1].words) & own) - _SAME
    of_launcher = {name for name in _names(last) & own if not (is_slurms(name) or name in COMPUTED)}
    if of_program or of_launcher or (before and _is_joined(last, its)):
        return None
    enters = found[0].words if len(calls) == 2 and found[0].program == "cd" else ()
    if len(enters) == 2 and (known(enters[1]) or "").startswith("/"):
        return Started(last, its, folder=enters[1])
    return Started(last, its, Front(words[0], before) if before else None)


def unfolded(
    reading: ShellReading, command: Command, inner: Sequence[Layer], *, in_container: bool
) -> tuple[tuple[Layer, ...], tuple[Asked, ...], Front | None]:
    """The layers with those of the text in place of its shell, the folder that it enters as an option of
    srun, and what its shell does before; the layers as they are and no more for any other."""
    found = started(reading, command, inner[-1].words) if inner else None
    if found is None:
        return tuple(inner), (), None
    its = (*inner[:-1], *found.layers)
    if found.folder is None:
        return its, (), found.front
    name = "container-workdir" if in_container else "chdir"
    written = f"cd {shown(found.folder)}"
    return its, (Asked(name, found.folder, written, (command.place,), "command"),), None


@once
def _are_few(reading: ShellReading) -> bool:
    """Whether there is time to read such texts: no launcher has hundreds of them."""
    may_be = (each.written for each in reading.starting if " -c " in each.written)
    return sum(_MAY.search(text) is not None for text in may_be) <= _MOST


def _names(words: Sequence[Value]) -> set[str]:
    return {name for word in words for name in names_in(word)}


def _is_joined(words: Sequence[Value], its: Sequence[Layer]) -> bool:
    """Whether something stands in front of the launcher, whose place would be in front of the shell."""
    return its[0].program not in PER_GPU and program_of(words) != "exec"


def _parts(text: Value) -> tuple[list[Statement], str]:
    """The commands of the text, one after the other, and all that stands before the last as it is written;
    nothing for a text of another form: with conditions, loops, pipes or redirections, or with a part in front
    that the script made."""
    script = with_names(as_inside(text))[0]
    try:
        calls = list(_calls(parsed(script)))
    except ScriptError:
        return [], ""
    last = calls[-1] if calls else None
    if not isinstance(last, Simple) or last.redirections:
        return [], ""
    given = _GIVEN.match(last.written)
    if last.assignments and not given:
        return [], ""
    at = script.rfind(last.written) + (given.end() if given else 0)
    first = text[0] if isinstance(text[0], str) else ""
    if at > len(inside(first)) or not all(map(_may_each, calls[:-1])):
        return [], ""
    before = outside(script[:at]).lstrip()
    return ([], "") if _SETS_RANKS.search(before) else (calls, before)


def _may_each(call: Statement) -> bool:
    """Whether each rank may do it."""
    if isinstance(call, Declaration):
        return True
    if not isinstance(call, Simple) or call.redirections:
        return False
    first = call.written.split(None, 1)[0].rpartition("/")[2] if call.words else "export"
    if first in CONDAS:
        return bool(_OF_CONDA.fullmatch(call.written))
    return first in _FOR_EACH or bool(HOOK.fullmatch(call.written))


def _calls(statement: Statement) -> Iterator[Statement]:
    if isinstance(statement, Group):
        for each in statement.body:
            yield from _calls(each)
    elif isinstance(statement, AndOr) and all(operator == "&&" for operator, _ in statement.others):
        yield from _calls(statement.first)
        for _, each in statement.others:
            yield from _calls(each)
    else:
        yield statement
