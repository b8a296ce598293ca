"""The lines of a script that a scheduler reads: #SBATCH, #PBS, #BSUB, #$, #flux:, # @ and others."""

import re
import shlex
from collections.abc import Iterator, Sequence

from hpclaunch.convert.reading import Directive, Source, Started
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.slurm import directives as slurm
from hpclaunch.values.conversion import Place

# Grid Engine takes its prefix off and reads the rest, with a blank in front of it or none (qsub(1), -C), of
# any line that begins with it (qsub(1), "Description"): behind commands too, where it is a script for it.
_OTHERS = re.compile(r"#(?:(PBS|BSUB|PJM|COBALT|MSUB|OAR)[ \t]+|(\$)[ \t]*)(-.*)")
_GRID_ENGINE = "$"
# bsub looks at each line of its standard input, whatever stands before it (parseLine in lsbatch/cmd/cmd.sub.c
# of Lava, which is LSF's own source), and oarsub at each line of the script (scan_script in oarsublib.pm of
# OAR 2), but what a script writes or hands on is not read here as its own.
_EACH_LINE = ("BSUB", "OAR")
# Options that Grid Engine alone has (qsub(1)). A text without any, whose first such line stands behind a
# command, has a comment there, with a command of an interactive shell.
_OWN = re.compile(r"^#\$[ \t]*-(?:[^\n]*[ \t]-)?(?:cwd(?!\S)|pe[ \t]+\S+[ \t]+\d)", re.MULTILINE)
_QUOTES = ('"', "'")
# Of Flux they may stand behind commands, with any signs before the word (flux-batch(1), "Submission
# directives"; RFC 36 of the Flux framework).
_FLUX = re.compile(r"#[ \t#]*(?:flux|FLUX):[ \t]*(-.*)")
_SLURM = re.compile(r"#SBATCH(?=[ \t-])(.*)")
# LoadLeveler's keywords, in either case; `queue` sends what stands before it, and without it there is no job
# (IBM, "LoadLeveler: Using and Administering", "Job command file syntax").
_LOADLEVELER = re.compile(r"#[ \t]*@[ \t]*([A-Za-z_][\w.]*)[ \t]*(?:$|=(.*))")
_KEYWORD = re.compile(r"#[ \t]*@")
_SENT = re.compile(r"^#[ \t]*@[ \t]*queue[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FURTHER = re.compile(r"#(?![ \t]*@)(.*)")
_QUEUE = "queue"
_LONG = 20_000  # characters
# An expression of Jinja's is one word of the line, whatever blanks it has beside its marks.
_FILLED_IN = re.compile(r"\{\{[ \t]*([^{} \t]+)[ \t]*\}\}")


def of_job(sources: Sequence[Source], script: str, started: Sequence[Started]) -> tuple[Directive, ...]:
    """Those of the job: the script's, or those of the batch script that starts it by a shell or srun. What
    sbatch is not given are comments (sbatch(1): it reads the batch script alone)."""
    by_name = {each.name: each for each in sources}
    outer = {each.place.file for each in started}
    if len(outer) == 1 and all(each.kept is None for each in started):
        found = directives(by_name[outer.pop()])
        if any(each.system == "SBATCH" for each in found):
            return found
    return directives(by_name[script]) if script in by_name else ()


def directives(source: Source) -> tuple[Directive, ...]:
    """Those that a scheduler reads, most of them before the first command, each with its words. Of a text
    that sbatch would refuse they are what can be recovered."""
    text = source.text.replace("\r\n", "\n")
    if "{%" in text:
        shown = ("" if _of_template(line) else line for line in text.split("\n"))
        text = "\n".join(_FILLED_IN.sub(r"{{\1}}", line) if line[:1] == "#" else line for line in shown)
    begins = "" if text.startswith("#!") else "#!\n"
    try:
        found = [
            Directive(Place(source.name, each.line - len(begins) // 3), each.arguments)
            for each in slurm.directives(begins + text)
        ]
    except ScriptError:
        found = _recovered(source.name, text)
    lines = text.split("\n")
    for number, line in enumerate(lines, 1) if "flux:" in text or "FLUX:" in text else ():
        of_flux = _FLUX.match(line)
        if of_flux:
            found.append(Directive(Place(source.name, number), _words(of_flux[1]), "FLUX"))
    before, of_grid_engine = True, False
    anywhere = () if found else tuple(each for each in _EACH_LINE if f"#{each}" in text)
    if not found and not anywhere and _OWN.search(text):
        anywhere = (_GRID_ENGINE,)
    of_each_line = bool(anywhere)
    for number, line in enumerate(lines, 1):
        other = _OTHERS.match(line)
        its = (other[1] or other[2]) if other else ""
        behind = (of_grid_engine and its == _GRID_ENGINE) or (of_each_line and its in anywhere)
        if other and (before or behind):
            of_grid_engine |= its == _GRID_ENGINE
            found.append(Directive(Place(source.name, number), _words(other[3]), its))
        elif begins_command(line):
            before = False
            of_each_line &= "<<" not in line and not any(line.count(each) % 2 for each in _QUOTES)
            if not of_grid_engine and not of_each_line:
                break
    found += _of_loadleveler(source.name, lines) if _SENT.search(text) else []
    return tuple(sorted(found, key=lambda each: each.place))


def begins_command(line: str) -> bool:
    """Whether a scheduler that reads up to the first command reads no further: a line of a template's own,
    {% if x %}, is in no script that is made of it."""
    return line.strip()[:1] not in ("", "#") and not _of_template(line)


def _of_template(line: str) -> bool:
    return line.lstrip().startswith("{%")


def _of_loadleveler(name: str, lines: list[str]) -> list[Directive]:
    """A `queue` among them is of a further step: the first only ends what the job asks for."""
    found: list[Directive] = []
    steps = 0
    for place, line in _continued(name, lines):
        each = _LOADLEVELER.match(line)
        keyword = each[1].lower() if each else ""
        is_queue = keyword == _QUEUE and each is not None and each[2] is None
        steps += is_queue
        if each and (steps == 0 or (is_queue and steps > 1)):
            value = (each[2] or "").strip()
            words = (keyword, value) if value else (keyword,)
            found.append(Directive(place, words, "LOADLEVELER"))
    return found if steps else []


def _continued(name: str, lines: list[str]) -> Iterator[tuple[Place, str]]:
    """The lines, each with those that a backslash at the end of a keyword's continues it by: in a script they
    begin with # and have no @ (IBM, "Job command file syntax")."""
    rest = iter(enumerate(lines, 1))
    ahead = next(rest, None)
    while ahead is not None:
        number, line = ahead
        last, parts = number, [line]
        ahead = next(rest, None)
        while ahead and _KEYWORD.match(line) and parts[-1].rstrip().endswith("\\"):
            further = _FURTHER.match(ahead[1])
            if further is None:
                break
            parts[-1] = parts[-1].rstrip()[:-1]
            parts.append(further[1])
            last, ahead = ahead[0], next(rest, None)
        yield Place(name, number, last if last > number else 0), "".join(parts)


def _recovered(name: str, text: str) -> list[Directive]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        directive = _SLURM.match(line)
        if directive:
            found.append(Directive(Place(name, number), _words(directive[1])))
        elif line.strip()[:1] not in ("", "#"):
            break
    return found


def _words(text: str) -> tuple[str, ...]:
    if len(text) > _LONG:  # of such a word shlex takes each letter anew
        return tuple(text.split())
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError:  # a quote that nothing closes
        return tuple(text.split())
