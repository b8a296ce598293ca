"""Words that are known in part -> paths and commands of a job file."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from hpclaunch.convert.mapping.words.renewed import by_new, need_old, renewed
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.slurm_variables import READ_BY_SRUN, is_slurms
from hpclaunch.convert.shell.names import FOLDER_OF
from hpclaunch.readback.shell.values import IfSet, Part, Unknown, Value, join, known, shown
from hpclaunch.spec.scalars import SHELL_OWNED

# The folder in which sbatch was typed: that of the job file, which replaces the script.
NAMES_OF_HERE = ("PWD", "SLURM_SUBMIT_DIR")
_SCRIPT = r"(?:\$0|\$\{0\}|\$\{?BASH_SOURCE)"
_HERE_BY_COMMAND = re.compile(
    rf"\$\((?:pwd(?: -P)?|cd [^;&|]*dirname [^;&|]*{_SCRIPT}.*pwd(?: -P)?|dirname .*{_SCRIPT}[^;&|]*)\)"
)
_OF_SCRIPT = re.compile(_SCRIPT)
# $(cd "$(dirname "$0")/.." && pwd): a folder above it, or below.
_NOT_HERE = re.compile(r"\)[\"']?/|dirname.*dirname|\.\.")
# What POSIX sh computes as bash does.
_SUM = re.compile(r"\$\(\(([\w\s+*/%()${}-]*)\)\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
# A pattern of files that each shell takes for the same.
_PATTERN = re.compile(r"(?!.*\*\*)[\w./+:,@%=*?-]+", re.ASCII)
_BARE = re.compile(r"\$[A-Za-z_]\w*")
_GOES_ON = re.compile(r"\w", re.ASCII)
# Of programs that tell where the environments of a user are, and names no variables.
_BY_PROGRAMS = re.compile(
    r"\$\((?:(?:\S*/)?(?:conda|mamba|micromamba|pyenv|spack) [\w ./-]+"
    r"(?:2> ?/dev/null)?(?: *\|\| echo (?:\"(?:\$HOME|\$\{HOME\})?[\w./-]+\"|(?:\$HOME|~)?[\w./-]+))?"
    r"|dirname (?:\$\(dirname )?\"?\$\((?:which|command -v|type -[pP]) [\w.-]+\)\"?\)?)\)"
)
_OF_RANKS = ("OMPI_COMM_WORLD_", "MV2_COMM_WORLD_", "PMI_", "MPI_LOCAL")
# Of a rank, where no variable of the script stands for it.
_OF_RANK = re.compile(r"\$\{\w+:-\$(?:SLURM_\w+|\(\(SLURM_\w+ / SLURM_\w+\)\))\}")
_BEFORE_PATHS = " \t\n\"'=:,(;&|"
_BEHIND_FOLDERS = "/ \t\n\"':,);&|"
_BY_SH = that("says", "shell", "enters") | {"kill", "ulimit", "pwd"}
# Bash's own, which are others in each shell, and which /bin/sh need not have; not that of the folder.
_BASHS = (SHELL_OWNED - {"PWD"}) | {"PIPESTATUS"}
_USERS = frozenset(("UID", "EUID"))
# It is who submits, and in a container the one who runs may have another name.
_USERS_NAME = re.compile(r"\$\((?:whoami|id -u ?-?n|logname)\)")
# Slurm gives it to each rank that has GPUs (its gres/gpu plugin).
_OF_GPUS = "CUDA_VISIBLE_DEVICES"
NOTHING: Mapping[str, str] = MappingProxyType({})


class Raw(str):
    """What a text has as it stands, and not as a word: && and its like."""

    __slots__ = ()


def split(value: Value, separator: str) -> list[Value]:
    """The value cut at each separator in its known text."""
    found: list[list[Part]] = [[]]
    for part in value:
        if not isinstance(part, str):
            found[-1].append(part)
            continue
        first, *others = part.split(separator)
        if first:
            found[-1].append(first)
        found += [[other] if other else [] for other in others]
    return [tuple(parts) for parts in found]


def is_here(part: Part) -> bool:
    """Whether the part is the folder in which the job was submitted."""
    if not isinstance(part, Unknown):
        return False
    if part.kind == "output":
        return bool(_HERE_BY_COMMAND.fullmatch(part.name)) and not _NOT_HERE.search(part.name)
    if part.kind == "either" and part.name == "PWD":
        return False  # it may have gone elsewhere
    return part.kind in ("variable", "either") and part.name in NAMES_OF_HERE


def is_of_script(part: Part) -> bool:
    """Whether the part is the folder of the script itself, wherever it was submitted."""
    return is_here(part) and isinstance(part, Unknown) and _OF_SCRIPT.search(part.name) is not None


def as_written(value: Value) -> Value:
    """The word, where a shell without quotes takes it for a pattern of files: it stays as it is where none
    fits, as none does for an option of a program (NAME=*, type=glob,src=/a*)."""
    only = value[0] if len(value) == 1 else ""
    return (only.name,) if isinstance(only, Unknown) and only.kind == "files" else value


def path(value: Value) -> str | None:
    """A path of the host for the job file, where relative ones start from its folder; None where the input
    does not tell it."""
    if value and is_here(value[0]):
        rest = known(value[1:])
        return None if rest is None else f".{rest}" if rest.startswith("/") else ("." if not rest else None)
    text = known(value)
    return None if text is None or text.startswith("~") else text


def from_here(value: Value) -> Value:
    """A word of what starts in the job file's folder: paths in it begin with . where the script's began with
    the folder of submission."""
    if not any(map(is_here, value)):
        return value
    parts = list(value)
    for index, part in enumerate(value):
        before = value[index - 1] if index else ""
        behind = value[index + 1] if index + 1 < len(value) else ""
        begins = isinstance(before, str) and (not before or before[-1] in _BEFORE_PATHS)
        goes_on = isinstance(behind, str) and (not behind or behind[0] in _BEHIND_FOLDERS)
        if is_here(part) and begins and goes_on:
            parts[index] = "."
    return join(parts)


class Line(Struct, frozen=True):
    """A command for the job file: words, or a text for /bin/sh. `names` are variables that the text takes
    from the rank's environment, `used` those that something stands for; `doubt` is the part of the original
    that no text can stand for, "" for none."""

    value: str | tuple[str, ...]
    names: tuple[str, ...] = ()
    used: frozenset[str] = frozenset()
    doubt: str = ""

    @property
    def plain(self) -> str | list[str]:
        """As YAML has it."""
        return self.value if isinstance(self.value, str) else list(self.value)

    def of_step(self, first: str = "") -> str | list[str]:
        """As a step has it, which does something `first`. No `exec` is there for signals, which nobody sends
        to a step; it stays before what /bin/sh would do itself, otherwise than the program: echo -e."""
        if not isinstance(self.value, str) and not first:
            return list(self.value)
        text = self.value if isinstance(self.value, str) else f"exec {shlex.join(self.value)}"
        bare = text.removeprefix("exec ")
        return first + (text if bare.split(" ", 1)[0] in _BY_SH else bare)


def line(
    words: Sequence[Value],
    stand_ins: Mapping[str, str] = NOTHING,
    exports: Sequence[tuple[str, Value]] = (),
    ending: str = "",
    before: Sequence[Sequence[Value]] = (),
    piped: str = "",
    *,
    in_turn: bool = False,
    patterns: bool = False,
) -> Line:
    """The command. `stand_ins` are variables that the rank has for others of the script (SEED for RANDOM; ""
    for those that it cannot have), `exports` those whose values are known only beside the rank, and `ending`
    is what follows the words. `before` are commands that a login shell of bash runs first, since what they
    are (module, conda) is known to that alone, as is what programs write there into their words. `piped` is
    what gives the command its input, with a |. `in_turn`: each export and the words name what those before it
    have set, and not what a rank had before all of them. `patterns`: a rank's shell finds the files that the
    script's did."""
    words = [by_name(words[0]), *words[1:]] if words else words
    texts = [known(word) for word in words]
    if not (exports or ending or before or piped) and all(text is not None for text in texts):
        return Line(tuple(text for text in texts if text is not None))
    writer = _Writer(stand_ins, patterns=patterns)
    first = _in_turn([" ".join(writer.word(word, there=True) for word in each) for each in before])
    given = [f"{name}={writer.word(value)}" for name, value in exports]
    if not in_turn and need_old(exports):
        given = [" ".join(given)]  # one export: all words are made before it sets anything
    first += "".join(f"export {each}; " for each in given)
    news = {} if in_turn else renewed(exports)
    words = [writer.behind(word, news) for word in words]
    command = " ".join(map(writer.word, words))
    text = first + (piped or ("" if ending else "exec ")) + command + ending
    return Line(
        ("bash", "-lc", text) if before else text,
        tuple(dict.fromkeys(writer.names)),
        frozenset(writer.used),
        writer.doubt,
    )


def _in_turn(commands: Sequence[str]) -> str:
    """The commands one after the other, with a ; between them where nothing else joins them."""
    joined = [f" {each}" if each.startswith(("&& ", "|| ")) else f"; {each}" for each in commands[1:]]
    return "".join([*commands[:1], *joined, "; "]) if commands else ""


def _found(word: Value) -> str:
    """The program whose path the word is, as `walk` has that of $(which NAME), "" for another word."""
    folder = word[0] if len(word) == 2 else ""
    named = FOLDER_OF.fullmatch(folder.name) if isinstance(folder, Unknown) else None
    return named[1] if named and word[1] == f"/{named[1]}" else ""


def by_name(word: Value) -> Value:
    """The program of a command: one that is found on the PATH has its name alone."""
    found = _found(word)
    return (found,) if found else word


def _of_programs(part: Part) -> str:
    """$(conda info --base) as a text has it, "" for what is of the script's own shell."""
    if not isinstance(part, Unknown) or part.kind != "output":
        return ""
    return f'"{part.name}"' if _BY_PROGRAMS.fullmatch(part.name) else ""


class _Writer:
    def __init__(self, stand_ins: Mapping[str, str], *, patterns: bool = False):
        self._patterns = patterns
        self.names: list[str] = []
        self.used: set[str] = set()
        self.doubt = ""
        self._stand_ins = stand_ins

    def behind(self, value: Value, news: Mapping[str, Value]) -> Value:
        """The word behind the exports that give these their values."""
        told = by_new(value, news)
        if told is None:
            self.doubt = self.doubt or shown(value)
        return value if told is None else told

    def word(self, value: Value, *, there: bool = False) -> str:
        """The word. `there`: programs that write a part of it do so in the rank's own shell."""
        if not value:
            return "''"
        found = _found(value)
        if found:
            return f'"$(command -v {found})"'
        texts = [(_of_programs(part) if there else "") or self._part(part) for part in value]
        for index, behind in enumerate(texts[1:]):
            if _BARE.fullmatch(texts[index]) and _GOES_ON.match(behind):
                texts[index] = f"${{{texts[index][1:]}}}"
        return "".join(texts)

    def _part(self, part: Part) -> str:
        if isinstance(part, str):
            return part if isinstance(part, Raw) else shlex.quote(part)
        if isinstance(part, IfSet) and part.then == (Unknown("variable", part.name),):
            self.names.append(part.name)
            return f'${{{part.name}+"${part.name}"}}'
        if isinstance(part, Unknown):
            if part.name in self._stand_ins:
                return self._stand_in(part)
            if part.kind == "home" and part.name == "~":
                self.names.append("HOME")
                return '"$HOME"'
            if part.name in _USERS and part.kind == "variable":
                return '"$(id -u)"'
            if part.kind == "output" and _USERS_NAME.fullmatch(part.name):
                self.names.append("USER")
                return '"$USER"'
            if part.kind in ("variable", "either") and _NAME.fullmatch(part.name) and part.name not in _BASHS:
                self.names.append(part.name)
                return f"${part.name}" if part.splits else f'"${part.name}"'
            if part.kind == "number" and _OF_RANK.fullmatch(part.name):
                return f'"{part.name}"'
            if self._patterns and part.kind == "files" and _PATTERN.fullmatch(part.name):
                return part.name
            sum_of = _SUM.fullmatch(part.name) if part.kind == "number" else None
            if sum_of and all(map(self._is_of_rank, _NAME.findall(sum_of[1]))):
                named = _NAME.sub(lambda name: self._stand_ins.get(name[0]) or name[0], part.name)
                return f'"{named}"'
        self.doubt = self.doubt or shown((part,)) or "what the script reads"
        return "''"

    def _is_of_rank(self, name: str) -> bool:
        """Whether the rank has it, under its own name or another."""
        self.used |= {name} & self._stand_ins.keys()
        return is_slurms(name) or bool(self._stand_ins.get(name))

    def _stand_in(self, part: Unknown) -> str:
        name = self._stand_ins[part.name]
        self.used.add(part.name)
        self.doubt = self.doubt or ("" if name else shown((part,)))
        return f'"${name}"' if name else "''"


def submitters(names: Collection[str]) -> list[str]:
    """Those that only the submitter's shell has: what Slurm and mpirun set is with each rank."""
    own = (*_OF_RANKS, _OF_GPUS)
    return [
        name for name in names if not (name.startswith(own) or (is_slurms(name) and name not in READ_BY_SRUN))
    ]
