"""The given files: read, and what each of them is."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from keyword import kwlist
from os.path import basename
from typing import Literal

from msgspec import Struct

from hpclaunch.convert.draft import sayable
from hpclaunch.convert.manifests.recognise import is_manifest
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.condor import is_description
from hpclaunch.convert.programs.names import (
    BY_MPI,
    CONTAINERS,
    GPU_LAUNCHERS,
    OTHER_SUBMITTERS,
    SHELLS,
    STEPS,
    SUBMITTERS,
    any_of,
)
from hpclaunch.spec.source import decode, read_text, read_words
from hpclaunch.values.errors import InputError, Problem

Role = Literal[
    "shell",  # a launcher, or configuration that it or the operator sources
    "program",  # in Python, which the ranks execute
    "rank script",  # runs inside the container, beside each rank
    "binding",  # bind_cpu_cores and bind_mem arrays
    "hostfile",
    "mounts",  # mounts.txt, SRC:DST on each line
    "mca",  # mca_params.conf
    "env file",  # docker's --env-file
    "accelerate",  # accelerate's own file of configuration
    "manifest",
    "own script",  # rendered by hpclaunch
    "own manifest",
    "points",  # points.json of a record, or the file that the tasks of its array read
    "unclear",
]
_KIND = "launcher"
# A megabyte, however it is counted, and some more: what is larger is no launcher, and would take too long.
_LARGEST = 1_500_000
_STDIN = "-"
# The first line of a script, or one that Slurm reads: no value of a point has it.
_STARTS = re.compile(r"\A#!|^#SBATCH\s", re.MULTILINE)
_POINTS = re.compile(r"(?:^|/|\.)points$")  # as a job and its record name the file
_SHOWN_STDIN = "standard input"
_OF_SHELLS = ("shell", "rank script", "own script")


class Input(Struct, frozen=True):
    """A file as it was given. `mended` is what was changed before it was read."""

    name: str
    text: str
    role: Role
    mended: tuple[str, ...] = ()


def read_inputs(names: Sequence[str]) -> tuple[Input, ...]:
    """The files in their order; `-` is standard input, and a file given twice counts once.

    Raises InputError with one line for each file that cannot be read, is no text in UTF-8, or is no input
    of this command, and where there is nothing in them.
    """
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    again: list[str] = []
    seen: dict[object, str] = {}
    for name in names:
        shown = _SHOWN_STDIN if name == _STDIN else sayable(name)
        try:
            if seen.setdefault(_identity(name), shown) in texts:
                again.append(shown)
                continue
            texts[shown] = _read(name)
        except InputError as error:
            problems += error.problems
    total = sum(map(len, texts.values()))
    if not problems and total > _LARGEST:
        problems += InputError(
            f"the files have {total:,} characters together; at most {_LARGEST:,} are read"
        ).problems
    if not problems and not any(text.strip() for text in texts.values()):
        problems += InputError(f"there is nothing in {', '.join(texts)}").problems
    if problems:
        raise InputError(problems)
    found = classified({name: _with_lines(text) for name, text in texts.items()})
    return tuple(_mended(each, texts[each.name], again) for each in found)


def _identity(name: str) -> object:
    """Equal for two names of one file."""
    try:
        status = os.stat(name)
    except (OSError, ValueError):
        return name
    return status.st_dev, status.st_ino


def _read(name: str) -> str:
    if name == _STDIN:
        return _standard_input()
    read = read_words if _POINTS.search(name) else read_text
    return read(name, _KIND, _LARGEST)


def _standard_input() -> str:
    data = sys.stdin.buffer.read(_LARGEST + 1) if sys.stdin is not None else b""
    if len(data) > _LARGEST:
        raise InputError(f"{_SHOWN_STDIN}: more than {_LARGEST:,} bytes is too large for a {_KIND} file")
    return decode(data, _SHOWN_STDIN, _KIND)


def _with_lines(text: str) -> str:
    """The text with the ends of lines that a shell has, whatever editor wrote it."""
    text = text.replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")


def _mended(found: Input, original: str, again: Sequence[str]) -> Input:
    said = []
    if found.text != original:
        ends = "as on Windows (CR LF)" if "\r\n" in original else "in CR alone, as on an old Mac"
        of_bash = ", and bash would take the CR for a part of their words" if found.role in _OF_SHELLS else ""
        said.append(f"its lines end {ends}{of_bash}")
    if found.name in again:
        said.append("it is given twice, and was read once")
    return Input(found.name, found.text, found.role, tuple(said))


def classified(texts: dict[str, str]) -> tuple[Input, ...]:
    """What each text is, by what stands in it, its name, and how the others use it.

    Raises InputError for a file that hpclaunch itself reads: there is nothing to convert.
    """
    return tuple(Input(name, text, _role(name, text, texts)) for name, text in texts.items())


def _role(name: str, text: str, texts: dict[str, str]) -> Role:
    for role, fits in _BY_TEXT:
        if fits(name, text):
            return role
    if not text.startswith("#!") and _OWN_FILE.search(text) and _NAMED.search(text):
        what = "job file" if _JOB.search(text) else "site or node type file"
        raise InputError(f"{name} is a {what} of hpclaunch already: there is nothing to convert")
    if is_description(text):
        return "shell"
    if _is_program(name, text):
        return "program"
    if _is_manifest(name, text):
        return "manifest"
    if _is_env_file(name, text, texts):
        return "env file"
    if not _is_shell(name, text):
        return "unclear"
    return "rank script" if _runs_beside_ranks(name, text, texts) else "shell"


_OWN_SCRIPT = re.compile(r"\A#!.*\n(?:#.*\n){0,3}?# Made by hpclaunch ")
_OWN_MANIFEST = re.compile(r"\A(?:#.*\n){0,8}?# Made by hpclaunch ")
_MANIFEST = re.compile(r"^[ \t\"'{-]*(?:apiVersion|kind)[\"']?\s*:", re.MULTILINE)
_OWN_FILE = re.compile(r"^version:\s*1\b", re.MULTILINE)
_NAMED = re.compile(r"^name:\s", re.MULTILINE)
_JOB = re.compile(r"^command:", re.MULTILINE)
_BIND_ARRAY = re.compile(r"^[ \t]*(?:declare -a |export )?bind_(?:cpu_cores|mem)\+?=\(", re.MULTILINE)
_HOST = re.compile(r"[A-Za-z0-9][\w.\-\[\],]*(?:(?::\d+)|(?:\s+(?:slots|max[_-]slots)\s*=\s*\d+)+)?")
_MOUNT = re.compile(r"[^\s:#]+:/[^\s:]*(?::[\w,+]+)?")
_MCA = re.compile(r"[a-z][a-z0-9_]*\s*=.*")
# accelerate/commands/config/config_args.py: no file of it is without.
_OF_ACCELERATE = re.compile(r"^(?:compute_environment|distributed_type)[ \t]*:", re.MULTILINE)
_OF_ACCELERATE_JSON = re.compile(r"\s*\{[^{}]*\"(?:compute_environment|distributed_type)\"\s*:")
_OF_SCHEDULER = re.compile(r"#(?:SBATCH|PBS|BSUB|PJM|COBALT|MSUB|OAR|\$)[ \t]+-")
# Two words side by side, as no statement of Python has them that begins with none of its own words.
_OF_TWO_WORDS = re.compile(
    rf"(?!{any_of((*kwlist, 'print', 'exec', 'match', 'case', 'type'))}\b)[\w./-]+[ \t]+(?:--?)?[\w./$~]"
)
_OTHER_PROGRAM = re.compile(r"\A#!.*\b(?:python|perl|ruby|node|Rscript|awk|expect)")
_SHELL_LINE = re.compile(
    # Lines for a scheduler may be all by which a script of no known name is one (shell/directives.py).
    r"^#(?:(?:PJM|COBALT|MSUB|OAR)[ \t]+-|[ \t#]*(?:flux|FLUX):[ \t]*-)"
    r"|^#[ \t]*@[ \t]*(?i:queue)[ \t]*$"
    r"|^[ \t]*(?:#SBATCH|#PBS|#BSUB|#\$|export |source |\. |set [-+]|if |for |while |case |function "
    rf"|(?:/\S*/)?{any_of(STEPS, SUBMITTERS, BY_MPI, CONTAINERS)}\b|ssh |echo |cd |module "
    r"|[A-Za-z_]\w*(?:\[\w+\])?\+?=|:\s)",
    re.MULTILINE,
)
_SHELL_NAMES = (".sh", ".bash", ".ksh", ".sub", ".slurm", ".sbatch", ".pbs", ".lsf", ".sge", ".job", ".env")
_A_SCRIPT = r"(?<=[\w./])\.(?:sh|bash|sub|sbatch|slurm|job)(?![\w.-])"
_DECLARES = r"(?:export|readonly|local|declare|typeset)[ \t]+(?:-\w+[ \t]+)*"  # and gives a variable a value
_SUBMITS = re.compile(rf"^[^#\n]*\b{any_of(SUBMITTERS)}\b", re.MULTILINE)
_BY_MPI = re.compile(rf"^[^#\n]*\b{any_of(BY_MPI)}\s", re.MULTILINE)
_MOST_BEFORE = 2000  # characters of options
_STARTS_STEPS = re.compile(rf"^[^#\n]*\b{any_of(STEPS, SUBMITTERS, OTHER_SUBMITTERS)}\s", re.MULTILINE)
_LAUNCHES = re.compile(
    rf"^#(?:SBATCH|PBS|BSUB|\$)\s|^[^#\n]*\b{any_of(STEPS, SUBMITTERS, OTHER_SUBMITTERS, CONTAINERS)}\s",
    re.MULTILINE,
)
_RANK_WORK = re.compile(
    r"^(?![ \t]*(?:export[ \t]+)?\w+=(?!\())[^#\n]*"  # no text that a variable is given
    rf"(?:\b(?:python3?|torchrun|{any_of(BINDERS, BY_MPI)})\b|\bexec\s+\"?\$@"
    rf"|\b{any_of(GPU_LAUNCHERS)}[ \t]+(?:-|launch\b|run\b|\S+\.py\b))",  # and not what pip installs
    re.MULTILINE,
)


@lru_cache(maxsize=1)  # of a large text it is asked for six times
def _lines(text: str) -> list[str]:
    """Without comments and empty ones."""
    return [line for each in text.splitlines() if (line := each.strip()) and line[0] != "#"]


def _all_are(pattern: re.Pattern[str], text: str) -> bool:
    found = _lines(text)
    return bool(found) and all(map(pattern.fullmatch, found))


def _is_hostfile(name: str, text: str) -> bool:
    named = re.search(r"host|machine|nodes", basename(name), re.IGNORECASE)
    return _all_are(_HOST, text) and ("slots" in text or bool(named)) and not text.startswith("#!")


def _is_mca(name: str, text: str) -> bool:
    named = "mca" in basename(name).lower() or basename(name).endswith(".conf")
    return named and _all_are(_MCA, text)


def _is_binding(name: str, text: str) -> bool:
    has_lists = "bind_" in text and bool(_BIND_ARRAY.search(text))
    return has_lists and not _LAUNCHES.search(text) and not _RANK_WORK.search(text)


def _is_program(name: str, text: str) -> bool:
    if re.match(r"#!.*\bpython", text):
        return True
    return name.endswith(".py") and not _is_submitted_shell(text)


def _is_submitted_shell(text: str) -> bool:
    """Whether it begins with lines for a scheduler, and with a command of a shell behind them: its name does
    not count for a scheduler."""
    asks = False
    for line in text.split("\n"):
        if line.startswith("#"):
            asks |= _OF_SCHEDULER.match(line) is not None
        elif line.strip():
            return asks and _OF_TWO_WORDS.match(line) is not None
    return False


def _is_manifest(name: str, text: str) -> bool:
    if text.startswith("#!"):
        return False
    named = name.endswith((".yaml", ".yml", ".json"))
    return named or bool(_MANIFEST.match(text.lstrip())) or is_manifest(text)


def _is_of_accelerate(name: str, text: str) -> bool:
    return not text.startswith("#!") and bool(_OF_ACCELERATE.search(text) or _OF_ACCELERATE_JSON.match(text))


def _is_points(name: str, text: str) -> bool:
    of_a_record = text.startswith('{"keys":') and '"points":' in text
    return of_a_record or ("\0" in text and not _STARTS.search(text))


_BY_TEXT: tuple[tuple[Role, Callable[[str, str], bool]], ...] = (
    ("own script", lambda name, text: bool(_OWN_SCRIPT.match(text))),
    ("own manifest", lambda name, text: bool(_OWN_MANIFEST.match(text)) and bool(_MANIFEST.search(text))),
    ("points", _is_points),
    ("binding", _is_binding),
    ("hostfile", _is_hostfile),
    ("mounts", lambda name, text: _all_are(_MOUNT, text) and not text.startswith("#!")),
    ("mca", _is_mca),
    ("accelerate", _is_of_accelerate),
)


def _is_shell(name: str, text: str) -> bool:
    if _OTHER_PROGRAM.match(text):
        return False
    is_named = basename(name).endswith(_SHELL_NAMES) or bool(re.match(r"#!.*sh\b", text))
    return is_named or bool(_SHELL_LINE.search(text)) or not _lines(text)


def _is_env_file(name: str, text: str, texts: dict[str, str]) -> bool:
    """Whether another text has it as docker's --env-file, and none sources it."""
    base = re.escape(basename(name))
    named = re.compile(rf"--env-file[= ]\s*\S*?{base}(?![\w.-])")
    others = [other for each, other in texts.items() if each != name]
    return (
        not text.startswith("#!")
        and any(map(named.search, others))
        and not any(_sources(base, other) for other in others)
    )


def _sourced(base: str) -> re.Pattern[str]:
    return re.compile(rf"^[^#\n]*(?:\bsource|(?:^|[\s;&|])\.)\s+\S*{base}", re.MULTILINE)


def _sources(base: str, text: str) -> bool:
    """Whether the text sources the file, also where a variable has its name."""
    if _sourced(base).search(text):
        return True
    variables = _variables_with(rf"(?<![\w.-]){base}(?![\w.-])", text)
    return bool(variables) and _sourced(rf"\$\{{?{any_of(variables)}\b").search(text) is not None


def _variables_with(file: str, text: str) -> tuple[str, ...]:
    """The variables that a line gives a path whose end is the file, also behind the output of a command."""
    path = r"[\"']?(?:\$\([^()\n]*\)|\$(?!\()|[^\s\"'$])*"
    variable = re.compile(rf"^[ \t]*(?:{_DECLARES})?(\w+)={path}{file}", re.MULTILINE)
    return tuple(dict.fromkeys(variable.findall(text)))


def _submits(base: str, text: str) -> bool:
    """Whether the text gives the file to sbatch: the first script of its words, also where a variable has its
    name. What stands behind is an argument of that script, and --wrap has a text of its own."""
    if not _SUBMITS.search(text):
        return False
    text = text.replace("\\\n", " ")
    file = rf"(?<![\w.-]){base}(?![\w.-])"
    either = "|".join([file, *(rf"\$\{{?{each}\b" for each in _variables_with(file, text))])
    before = rf"(?:(?!--wrap|{_A_SCRIPT})[^\n;|&]){{0,{_MOST_BEFORE}}}?"
    return re.search(rf"{_SUBMITS.pattern}{before}(?:{either})", text, re.MULTILINE) is not None


def _runs_beside_ranks(name: str, text: str, texts: dict[str, str]) -> bool:
    """Whether a launcher among the others starts it, or it does what only ranks do and launches nothing."""
    if len(texts) < 2:
        return False
    if _STARTS_STEPS.search(text) or basename(name).lower().startswith("config"):
        return False  # launchers name configurations in mounts too
    base = re.escape(basename(name))
    others = [other for each, other in texts.items() if each != name]
    if _LAUNCHES.search(text) and not any(_is_of_srun(base, other) for other in others):
        return False
    started = re.compile(rf"^[^#\n]*(?<![\w.-]){base}(?![\w.-])", re.MULTILINE)
    if any(_sources(base, other) or _submits(base, other) for other in others):
        return False
    if _BY_MPI.search(text) and any(_LAUNCHES.search(other) and _is_plain(base, other) for other in others):
        return False  # its mpirun starts the ranks, as that of the other would
    if any(started.search(other) and _LAUNCHES.search(other) for other in others):
        return True
    if not _BY_MPI.search(text) and any(_is_of_mpirun(base, other) for other in others):
        return True
    if not _RANK_WORK.search(text):
        return False
    # What this one sources is a part of it, and does not start it.
    launchers = (each for each, other in texts.items() if each != name and _LAUNCHES.search(other))
    return any(not _sources(re.escape(basename(each)), text) for each in launchers)


def _is_plain(base: str, text: str) -> bool:
    """Whether a command of the text begins with the file, itself or behind a shell: no srun, mpirun or
    container starts it there."""
    before = r"(?:[^#\n\"'`]*(?:[;&|]|\b(?:do|then|else)\b))?[ \t]*(?:\w+=\S*[ \t]+)*"
    starter = rf"(?:(?:exec|time|nohup|{any_of(tuple(sorted(SHELLS)))})[ \t]+(?:-\w+[ \t]+)*)*"
    file = rf"[\"']?(?:[^\s;|&\"']*/)?{base}(?![\w.-])"
    return re.search(rf"^{before}{starter}{file}", text.replace("\\\n", " "), re.MULTILINE) is not None


def _is_of_srun(base: str, text: str) -> bool:
    """Whether the file stands behind srun in a line: its lines of #SBATCH are comments then, which sbatch
    alone reads (sbatch(1))."""
    if "srun" not in text:
        return False
    behind = rf"^[^#\n]*\b{any_of(STEPS)}\s[^\n;|&]*(?<![\w.-]){base}(?![\w.-])"
    return re.search(behind, text.replace("\\\n", " "), re.MULTILINE) is not None


def _is_of_mpirun(base: str, text: str) -> bool:
    """Whether the file stands behind mpirun in a line, or behind a variable that may have it: $MPI FILE."""
    if not _BY_MPI.search(text):
        return False
    first = rf"^[^#\n]*(?:\b{any_of(BY_MPI)}\b|\$\{{?\w+\}}?(?=[ \t]))"
    behind = rf"{first}[^\n;|&]*(?<![\w.-]){base}(?![\w.-])"
    return re.search(behind, text.replace("\\\n", " "), re.MULTILINE) is not None
