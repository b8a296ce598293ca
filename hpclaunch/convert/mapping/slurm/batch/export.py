"""Which of the exported variables reach the ranks: --export of srun and sbatch, and SLURM_EXPORT_ENV.

sbatch puts its --export into SLURM_EXPORT_ENV, which each srun of the script takes for its own (sbatch(1),
"Output environment variables"; srun(1), --export). What the script's own shell starts has all that the script
exports: of that the option keeps nothing back, and only of the submitter's.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from msgspec import Struct, structs

from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.flags import cut
from hpclaunch.convert.programs.layers import MPI, layers
from hpclaunch.convert.programs.names import BY_OTHER_MPI
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.shell.lenient import LISTS
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place

_NOTHING = ("NONE", "NIL")
# Of the shell that a login makes, which --export=NONE begins with, or of modules in it.
OF_LOGIN = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "LANG", "LC_ALL", "MODULEPATH"),
        *LISTS,
    )
)
_OF_LINE = re.compile(r"#SBATCH\s(?:[^#\n]*\s)?--export(?:=|\s+)(\S+)")
_VARIABLE = "SLURM_EXPORT_ENV"
# A device or a number, which goes on with the value before it: NCCL_IB_HCA=mlx5_0,mlx5_1.
_OF_A_VALUE = re.compile(
    r"(?:mlx\d|mthca|hfi\d|ib|eth|en[ospx]|bond|bnxt|rdma|cxi|hsn|roce|efa|irdma)\w*\d(?::\d+)?|\d[\w.:-]*"
)


_QUOTES = re.compile(r"['\"]")
_QUOTED = re.compile(r"'.*'|\".*\"")


class Export(Struct, frozen=True):
    """`everything`: all that is exported is handed on. `given` are the variables that the option names, with
    the value that it gives them (None: the one that they have). `cut` are those whose value Slurm ends at a
    comma that was meant to be in it. `unclear`: a part of it is not told. `yields`: of a variable that is
    exported the ranks have that value, and not the one that the option gives. `quoted` are those whose value
    keeps its quotes, and `unread` those behind NONE. `by_shell`: no srun starts it, and the ranks have all
    that the script itself exports."""

    everything: bool = True
    given: tuple[tuple[str, Value | None], ...] = ()
    written: str = ""
    places: tuple[Place, ...] = ()
    unclear: bool = False
    cut: tuple[str, ...] = ()
    yields: bool = False
    quoted: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    by_shell: bool = False

    @property
    def of_script(self) -> bool:
        """Whether all that the script exports is handed on."""
        return self.everything or self.by_shell

    @property
    def hands_on(self) -> bool:
        """Whether anything that the script exports is handed on."""
        return self.of_script or any(value is None for _, value in self.given)


def of(
    reading: ShellReading,
    command: Command,
    own: Asked | None,
    batch: Sequence[Asked],
    nodes: int | None = None,
) -> Export:
    """What counts for a srun: its own option, else the variable, else that of sbatch. With ALL what is
    exported goes before the values that the option gives (_build_user_env of src/srun/launch.c of Slurm); of
    sbatch it does not. For a command on so many `nodes` that no srun starts, that of sbatch."""
    if _is_by_shell(command, nodes):
        found = structs.replace(_of_batch(batch, by_srun=False), by_shell=True)
    else:
        found = _of_srun(command, reading, own, batch)
    return structs.replace(found, yields=found.of_script and not found.unclear)


def _is_by_shell(command: Command, nodes: int | None) -> bool:
    """Whether the script's shell starts it, or an mpirun of that shell, which starts what it needs on other
    nodes by srun (plm_slurm_module.c in orte/mca/plm of Open MPI). What else starts ranks of MPI, such as
    ibrun, may do so by srun on any."""
    its = {layer.program for layer in layers(command.words)}
    by_srun = {"srun", *(BY_OTHER_MPI if nodes == 1 else MPI)}
    return bool(command.words) and its.isdisjoint(by_srun)


def _of_srun(command: Command, reading: ShellReading, own: Asked | None, batch: Sequence[Asked]) -> Export:
    variable = {**dict(command.environment), **dict(command.prefix)}.get(_VARIABLE)
    outer = Export()
    if variable is not None:
        outer = _read(variable, f"{_VARIABLE}={shown(variable)}", (command.place,))
    elif unset(reading, command) is None:
        outer = _of_batch(batch, by_srun=True)
    if own is None:
        return outer
    found = _read(own.value or (), own.written, own.places)
    before = outer.given if found.everything else ()
    return structs.replace(found, given=(*before, *found.given))


def _of_batch(batch: Sequence[Asked], *, by_srun: bool) -> Export:
    its = next((each for each in reversed(batch) if each.name == "export"), None)
    return Export() if its is None else _read(its.value or (), its.written, its.places, by_srun=by_srun)


def unset(reading: ShellReading, command: Command) -> Command | None:
    """What takes sbatch's --export away from each srun behind it: unset SLURM_EXPORT_ENV."""
    return next(
        (
            each
            for each in takewhile(lambda one: one is not command, reading.commands)
            if each.program == "unset" and (_VARIABLE,) in each.words and not (each.within or each.conditions)
        ),
        None,
    )


def named_by(value: Value) -> tuple[tuple[str, Value], ...]:
    """The variables that --export gives a value, with it."""
    given = _read(value, "", ()).given
    return tuple((name, value) for name, value in given if value is not None)


def of_submission(given: Value | None, exported: Mapping[str, Value], script: str) -> Value | None:
    """The --export that counts for a script: that of the command line, else SBATCH_EXPORT, else that of the
    script's own lines; None where none of them says it (sbatch(1))."""
    if given is not None:
        return given
    if "SBATCH_EXPORT" in exported:
        return exported["SBATCH_EXPORT"]
    found = None
    for line in takewhile(lambda each: not each.strip() or each.startswith("#"), script.splitlines()):
        found = _OF_LINE.match(line) or found
    return (found[1].strip("\"'"),) if found else None


def handed_to_job(value: Value | None, exported: Mapping[str, Value]) -> dict[str, Value]:
    """What a job has of what is exported where it is submitted: of Slurm's own variables all."""
    if value is None:
        return dict(exported)
    own = {name: its for name, its in exported.items() if name.startswith("SLURM_")}
    return own | kept_by(value, exported)


def kept_by(value: Value, exported: Mapping[str, Value], *, by_srun: bool = False) -> dict[str, Value]:
    """What sbatch, or srun, with this --export hands on of what is exported to it, with what it gives."""
    found = _read(value, "", (), by_srun=by_srun)
    kept = dict(exported) if found.everything else {}
    named = {name: exported.get(name) if its is None else its for name, its in found.given}
    values = {name: its for name, its in named.items() if its is not None}
    return values | kept if by_srun else kept | values


def without_secrets(value: Value, written: str) -> str:
    """The option as it is written, with *** for the values of secrets."""
    for part in _parts(value):
        named = cut(part, "=")
        if named and named[1] and is_secret(named[0]):
            written = written.replace(shown(named[1]), "***")
    return written


def _read(value: Value, written: str, places: tuple[Place, ...], *, by_srun: bool = True) -> Export:
    """srun reads nothing behind NONE (_build_user_env), sbatch does (_env_merge_filter of src/sbatch)."""
    everything, unclear = False, False
    unread: list[str] | None = None
    given: list[tuple[str, Value | None]] = []
    cut_off: dict[str, None] = {}
    for part in _parts(value):
        named = cut(part, "=")
        text = known(part)
        if unread is not None:
            unread += [named[0] if named else text or ""]
        elif by_srun and text is not None and text.upper() == "NONE":
            unread = []
        elif named:
            given.append(named)
        elif text is None:
            unclear = True
        elif text.upper() == "ALL" or not value:
            everything = True
        elif text and given and _OF_A_VALUE.fullmatch(text):
            cut_off[given[-1][0]] = None
        elif text and text.upper() not in _NOTHING:
            given.append((text, None))
    hidden = without_secrets(value, written)
    quoted = tuple(name for name, its in given if _QUOTED.fullmatch(known(its or ()) or ""))
    lost = tuple(filter(None, unread or ()))
    return Export(
        everything or unclear,
        tuple(given),
        hidden,
        places,
        unclear,
        tuple(cut_off),
        quoted=quoted,
        unread=lost,
    )


def _parts(value: Value) -> list[Value]:
    """The value cut at each comma that stands in no quotes. Those around the whole of a part are taken away,
    and all others stay (find_quote_token of src/common/env.c)."""
    text = known(value)
    if text is None or not _QUOTES.search(text):
        return split(value, ",")
    found = [""]
    within: set[str] = set()
    for sign in text:
        if sign == "," and not within:
            found.append("")
            continue
        if sign in "'\"":
            within ^= {sign}
        found[-1] += sign
    bare = [each[1:-1] if _QUOTED.fullmatch(each) else each for each in found]
    return [(each,) if each else () for each in bare]
