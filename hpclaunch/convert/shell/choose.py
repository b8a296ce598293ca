"""Which of the inputs is the script that is submitted or run."""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.names import (
    BY_MPI,
    BY_TORCH,
    CONTAINERS,
    IMPORTERS,
    REMOTE,
    SHELLS,
    STEPS,
    SUBMITTERS,
    any_of,
)
from hpclaunch.convert.reading import Source

_DIRECTIVES = re.compile(
    r"^#(?:SBATCH\s|(?:PBS|BSUB|PJM|COBALT|MSUB|OAR)[ \t]|\$[ \t]*-[A-Za-z]"
    r"|[ \t#]*(?:flux|FLUX):[ \t]*-|[ \t]*@[ \t]*queue[ \t]*$)",
    re.MULTILINE,
)
_IN_A_WORD = re.compile(r"\w")
_COMMENT = re.compile(r"(?<![^\s;&|()])#")  # $# and ${#words} are none
_ITSELF = re.compile(rf"^[^#\n]*\b{any_of(SUBMITTERS)}\b[^#\n]*\$\{{?(?:0\b|BASH_SOURCE)", re.MULTILINE)
# What is behind the first script is given to that one, and --wrap has a text of its own.
_NO_SCRIPT = r"(?!--wrap|\.(?:sh|bash|sub|sbatch|slurm|job)(?![\w.-]))[^#\n;|&]"
# A command that is nothing but the words behind the script's name: "$@".
_ITS_WORDS = re.compile(
    r"^[ \t]*(?:(?:exec|time|sudo)[ \t]+)?\"?\$(?:[@*]|\{[@*]\})\"?(?=[\s;|&]|$)", re.MULTILINE
)
_STARTED = (
    (4, (*STEPS, *SUBMITTERS)),
    (2, (*BY_MPI, *CONTAINERS)),
    (1, (*BY_TORCH, *IMPORTERS, *REMOTE, "python", "python3")),
)


def chosen(sources: Sequence[Source]) -> str:
    """The name of the script, "" where none of them starts anything."""
    weights = {source.name: _weight(source.text) for source in sources}
    best = max(weights.values(), default=0)
    if not best:
        return next((each.name for each in sources if _ITS_WORDS.search(each.text)), "")
    equal = [source for source in sources if weights[source.name] == best]
    # Of those that start as much one may start another by itself: what is behind that is its own.
    starters = (
        each for each in equal if any(_runs(each.text, other.name) for other in equal if other != each)
    )
    found = next(starters, equal[0])
    # What submits itself, and starts that one in its job: lines of #SBATCH of that one are none then.
    again = (each for each in sources if _submits_itself(each) and _runs(each.text, found.name))
    found = next(again, found)
    submitted = (each for each in sources if weights[each.name] and _submits(found.text, each.name))
    # One that only starts others is submitted too: `bash train.sh` is all that it does.
    of_others = (each for each in sources if each != found and _submits(found.text, each.name, _NO_SCRIPT))
    return next(submitted, next(of_others, found)).name


def _submits_itself(source: Source) -> bool:
    return _ITSELF.search(source.text.replace("\\\n", " ")) is not None or _submits(source.text, source.name)


def of_other_jobs(sources: Sequence[Source], script: str) -> frozenset[str]:
    """The names of the other scripts that one of these submits: each is of a job of its own, and nothing
    of it comes before the script."""
    return frozenset(
        source.name
        for source in sources
        if source.name != script
        and any(_submits(each.text, source.name, _NO_SCRIPT) for each in sources if each != source)
    )


def _submits(text: str, name: str, before: str = r"[^#\n]") -> bool:
    """Whether a text submits the script of this name, behind words of these characters."""
    base = name.rpartition("/")[2]
    if base not in text:
        return False
    line = rf"^[^#\n]*\b{any_of(SUBMITTERS)}\b(?:{before})*[\s/\"']{re.escape(base)}(?![\w.-])"
    return re.search(line, text.replace("\\\n", " "), re.MULTILINE) is not None


def _runs(text: str, name: str) -> bool:
    """Whether a text starts the script of this name by itself (./NAME, bash NAME)."""
    base = name.rpartition("/")[2]
    if base not in text:
        return False
    file = rf"(?:\./|{any_of(tuple(sorted(SHELLS)))}\s+)(?:[\w.-]+/)*{re.escape(base)}(?![\w.-])"
    return re.search(rf"^[ \t]*(?:sudo[^\n|;&]*[ \t]|exec[ \t]+)?{file}", text, re.MULTILINE) is not None


def _weight(text: str) -> int:
    of_slurm = {found[0].startswith("#SBATCH") for found in _DIRECTIVES.finditer(text)}
    return 8 * len(of_slurm) + sum(
        weight for weight, programs in _STARTED if any(_starts(name, text) for name in programs)
    )


def starts_steps(text: str) -> bool:
    """Whether a text starts steps, jobs or containers: what starts that text does not start its ranks."""
    return any(_starts(program, text) for program in (*STEPS, *SUBMITTERS, *CONTAINERS))


def _starts(program: str, text: str) -> bool:
    """Whether it stands in a line before any comment. Each line is looked at once."""
    at = text.find(program)
    while at >= 0:
        end = at + len(program)
        if not _IN_A_WORD.match(text, end) and not (at and _IN_A_WORD.match(text, at - 1)):
            if not _COMMENT.search(text, text.rfind("\n", 0, at) + 1, at):
                return True
            end = text.find("\n", end)
        at = text.find(program, end) if end >= 0 else end
    return False
