"""The folder that a script is in: that in which it was submitted, which --env PWD=/FOLDER tells, or where it
went from there."""

import re
from collections.abc import Mapping, Sequence
from posixpath import join, normpath
from typing import TYPE_CHECKING

from hpclaunch.convert.reading import Directive
from hpclaunch.convert.shell.names import python
from hpclaunch.readback.shell import inside
from hpclaunch.readback.shell.state import Array, State, Variable
from hpclaunch.readback.shell.statements import AndOr, Group, Simple, Statement
from hpclaunch.readback.shell.values import Unknown, Value, known
from hpclaunch.readback.shell.values import join as joined

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

# sbatch starts a script in the folder where it was typed, and names that (sbatch(1), OUTPUT ENVIRONMENT).
_OF_SUBMISSION = "SLURM_SUBMIT_DIR"
# The folder of submission under Slurm, PBS, LSF, Grid Engine, PJM and OAR.
SUBMITTED_FROM = (
    _OF_SUBMISSION,
    "PBS_O_WORKDIR",
    "LS_SUBCWD",
    "SGE_O_WORKDIR",
    "PJM_O_WORKDIR",
    "OAR_WORKDIR",
)
FOLDERS = frozenset(("cd", "pushd", "popd"))  # the commands that change it
_BEGUN = "the folder in which it began"  # a name that no script has
OF_PROCESS = frozenset(("PWD", "OLDPWD", _BEGUN))  # what another shell begins with, whatever is exported
SUBMITTED: Value = (Unknown("variable", "PWD"),)
_RESOLVES = re.compile(r"realpath(?: -[sLPem]+)*|readlink -[fem]+")
_ELSEWHERE: Value = (Unknown("output", "the folder that the script has gone to"),)


def submitted(shell: "Walker", environment: Mapping[str, str]) -> None:
    """Give the script what Slurm tells it of the folder, too."""
    folder = environment.get("PWD")
    if folder and _OF_SUBMISSION not in environment:
        shell.state.set(_OF_SUBMISSION, Variable((inside(folder),)))


def began(shell: "Walker", directives: Sequence[Directive], environment: Mapping[str, str]) -> None:
    """Let the script begin in the folder that its own lines tell sbatch (--chdir)."""
    told = [
        known(each.value or ())
        for directive in directives
        if directive.system == "SBATCH"
        for each in directive.options
        if each.name == "chdir"
    ]
    there = normpath(join(environment.get("PWD", ""), told[-1])) if told and told[-1] else ""
    if there.startswith("/"):
        here = Variable((there,))
        shell.state.set("PWD", here)
        shell.state.set(_BEGUN, here)


def gone_to(state: State) -> Value:
    """Where the script is, () where that is the folder in which it began."""
    here = _value(state, "PWD")
    began = (SUBMITTED, _value(state, _OF_SUBMISSION), _value(state, _BEGUN))
    return () if here is None or here in began else here


def in_which_it_began(state: State) -> Value:
    """The folder in which the script began, by its name where that is not told."""
    return python(_value(state, _BEGUN) or _value(state, _OF_SUBMISSION) or SUBMITTED)


def of_now(state: State) -> Value:
    """The folder in which the script is."""
    return python(gone_to(state)) or in_which_it_began(state)


def path_from(here: Value, path: Value) -> Value:
    """The path of a file as every folder has it, where that is known of the folder `here`."""
    there = _from(here, path)
    if there != _ELSEWHERE:
        return there
    first = path[0] if path else ""
    is_below = isinstance(first, str) and first[:1] not in ("-", "+", "~") and here != _ELSEWHERE
    return joined([*here, "/", *path]) if is_below else path


def change(shell: "Walker", words: list[Value]) -> None:
    """What cd, pushd and popd make of the folder."""
    here = _of(shell, "PWD") or SUBMITTED
    rest = [word for word in words[1:] if known(word) not in ("-P", "-L", "--")]
    goes_back = known(words[0]) == "popd" or [known(word) for word in rest] == ["-"]
    if goes_back:
        there = _of(shell, "OLDPWD") or _ELSEWHERE
        if known(words[0]) == "popd":
            here = _ELSEWHERE  # what was below it is not looked after
    else:
        there = _from(here, rest[0]) if len(rest) == 1 else _ELSEWHERE
    shell.state.set("PWD", Variable(there))
    shell.state.set("OLDPWD", Variable(here))


def _from(here: Value, folder: Value) -> Value:
    """The folder that a word leads to. One of which the beginning is not known is taken for a whole path."""
    first = folder[0] if folder else ""
    if isinstance(first, Unknown) and first.kind == "variable" and first.name in SUBMITTED_FROM:
        folder = (*SUBMITTED, *folder[1:])
    if not isinstance(first, str) or first.startswith("/"):
        text = known(folder)
        return folder if text is None else (normpath(text),)
    text, base = known(folder), known(here)
    if not first or first[0] in "-+~":
        return _ELSEWHERE
    if text is None:
        return _ELSEWHERE if here == _ELSEWHERE else joined([*here, "/", *folder])
    if base is not None:
        return (normpath(join(base, text)),)
    tail = known(here[1:])
    if tail is None or not isinstance(here[0], Unknown):
        return joined([*here, f"/{text}"])
    below = normpath(f".{tail}/{text}")
    return here[:1] if below == "." else (here[0], f"/{below}")


def printed(shell: "Walker", words: list[Value]) -> Value | None:
    """What pwd writes, and realpath and readlink -f of a path (what a link leads to is the same file); None
    where that is the folder of submission, which is not known, and for any other command."""
    program = known(words[0])
    if program == "pwd":
        here = _of(shell, "PWD") if len(words) < 3 else None
    else:
        here = _resolved(shell, words) if _RESOLVES.fullmatch(_options(words)) else None
    return None if here is None else joined([*here, "\n"])


def gone_and_told(shell: "Walker", body: Statement) -> Value | None:
    """What $(cd FOLDER && pwd) is, where the folder is told from that of submission on; None for all else.
    Where there is no such folder it is nothing, and the script has none to go on with."""
    part = body.body[0] if isinstance(body, Group) and len(body.body) == 1 else body
    if not isinstance(part, AndOr) or len(part.others) != 1 or part.others[0][0] != "&&":
        return None
    first, last = part.first, part.others[0][1]
    if not isinstance(first, Simple) or not isinstance(last, Simple) or first.assignments:
        return None
    words = [word.written for word in (*first.words[:1], *last.words)]
    if words not in (["cd", "pwd"], ["cd", "pwd", "-P"]) or len(first.words) != 2 or last.redirections:
        return None
    if any(sign in first.words[1].written for sign in ("$(", "`")):
        return None  # what writes it would be gone through again, at each depth twice
    there = _from(_of(shell, "PWD") or SUBMITTED, shell.expander.value(first.words[1]))
    begins = there[:1] == SUBMITTED or isinstance(there[0], str)
    return there if begins and known(there[1:]) is not None else None


def _options(words: list[Value]) -> str:
    return " ".join(known(word) or "?" for word in words[:-1])


def _resolved(shell: "Walker", words: list[Value]) -> Value | None:
    there = _from(_of(shell, "PWD") or SUBMITTED, words[-1])
    return None if there == _ELSEWHERE else there


def _of(shell: "Walker", name: str) -> Value | None:
    return _value(shell.state, name)


def _value(state: State, name: str) -> Value | None:
    variable = state.get(name)
    if variable is None or variable.value is None or isinstance(variable.value, Array):
        return None
    return variable.value
