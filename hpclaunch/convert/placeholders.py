"""What whoever copies a script is to fill in, --container-image <path to docker image>, and what a program
puts into a template, {{ image }}. A shell takes the first for two redirections, and runs the command without
its image."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, CONTAINERS, STEPS, any_of
from hpclaunch.convert.reading import Source
from hpclaunch.values.conversion import Place


class _Form(Struct, frozen=True):
    """How something to fill in is written: the text `before` it stays. `mark` is in each line that has it.
    `of_launch`: only in a command that starts ranks or prepares for them, as elsewhere it may be the text of
    another language."""

    mark: str
    pattern: re.Pattern[str]
    why: str
    todo: str
    of_launch: bool = False


# What scripts to be filled in name an environment, a module or a folder to.
_PREPARES = ("conda", "mamba", "micromamba", "module", "ml", "source", "mkdir", "python", "python3")
_WORDS = r"""<(?P<text>[A-Za-z][^<>|&;"'`$(){}\n]{0,60}?)(?<! )>"""
# In quotes it is a text as well, "<eos>" of a tokenizer: there the words say that somebody is meant by them.
_TO_PEOPLE = r"<(?P<text>(?=[^>]*(?:[A-Z]{2}|[ _-]|(?i:your|path|name|dir)))[A-Za-z][\w .,:/-]{0,60}?)(?<! )>"
_LAUNCH = re.compile(
    rf"\s*(?:\w+=\S*\s+)*(?:(?:time|exec)\s+)?{any_of(STEPS, BY_MPI, BY_TORCH, CONTAINERS, _PREPARES)}\s"
)
_BY_COPIER = "whoever copies the script fills it in"
_BY_PEOPLE = (f"{_BY_COPIER}, and a shell takes it for redirections", "fill it in")
# sbatch takes what stands there for the name of a script, and reads no option behind it.
_OF_DIRECTIVE = re.compile(r"(#SBATCH\s+)(<[A-Za-z][^<>]*>)\s+(?=-)")
_OF_GO = r"""(?:[a-z]\w*|[.$][\w.]*|"[^"{}\n]*"|\d+)"""
_ITEM = r"""(?:'[^'\]{}\n]*'|"[^"\]{}\n]*"|\w+)"""
_BY_PROGRAMS = (
    "it is a template, and what makes the script of it fills it in",
    "convert the script that is made of it",
)
_FORMS = (
    # Behind an option or as a variable's value, with nothing between the words and their brackets, which no
    # redirection is written like.
    _Form("<", re.compile(rf"(?<!\S)(?P<before>--[a-z][\w-]*[ =]){_WORDS}(?=\s|\\|$)"), *_BY_PEOPLE),
    _Form("<", re.compile(rf"^(?P<before>\s*(?:export\s+)?\w+=){_WORDS}(?=\s*(?:#|$)|[/:._-])"), *_BY_PEOPLE),
    # What mpirun is told with one dash, and has a value: -np <ranks>.
    _Form(
        "<",
        re.compile(
            rf"(?P<before>(?<=\s)-(?:n|np|N|H|hosts?|hostfile|machinefile|ppn|npernode) ){_WORDS}(?=\s)"
        ),
        *_BY_PEOPLE,
        of_launch=True,
    ),
    _Form(
        "<",
        re.compile(
            rf"""^(?P<before>\s*(?:export\s+)?\w+=")(?![^"\n]*</){_TO_PEOPLE}"""
            r"""(?=[^"\n]*"\s*(?:[#;]|$))"""
        ),
        *_BY_PEOPLE,
    ),
    # docker run -e KEY=<your key> IMAGE, -v "<data>/x:/data"
    _Form("<", re.compile(rf"(?P<before>(?<=\w)=){_WORDS}(?=\s|\\|$)"), *_BY_PEOPLE, of_launch=True),
    _Form("<", re.compile(rf"(?P<before>(?<=\s)\"[^\"\s<]*){_TO_PEOPLE}"), *_BY_PEOPLE, of_launch=True),
    # A folder of a path.
    _Form("<", re.compile(rf"(?P<before>(?<=[\w}}.~=])/){_WORDS}"), *_BY_PEOPLE),
    # What a path begins with, in a line that is none of XML.
    _Form(
        "<",
        re.compile(
            r"(?P<before>(?<=\s))<(?P<text>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)>(?=[\w./])(?![^<]{0,200}</)"
        ),
        *_BY_PEOPLE,
    ),
    # One behind the other, or the last of its line: no redirection has < or nothing behind it.
    _Form("<", re.compile(rf"(?P<before>(?<=\s)){_WORDS}(?=\s+<[A-Za-z])"), *_BY_PEOPLE, of_launch=True),
    _Form("<", re.compile(rf"(?P<before>(?<=\s)){_WORDS}(?=\s*(?:#.*)?$)"), *_BY_PEOPLE, of_launch=True),
    # Jinja's: https://jinja.palletsprojects.com/en/stable/templates/#variables
    _Form(
        "{{",
        re.compile(
            r"(?P<before>(?<!\$))\{\{-?\s*(?!(?:else|end)\b)(?P<text>[A-Za-z_][\w.]*)\s*(?:\|[^{}\n]*)?-?\}\}"
        ),
        *_BY_PROGRAMS,
    ),
    # An item of something, {{ config['model'] }}, and one of two values, {{ '--gpus all' if gpus else '' }}:
    # https://jinja.palletsprojects.com/en/stable/templates/#if-expression
    _Form(
        "{{",
        re.compile(
            rf"(?P<before>(?<!\$))\{{\{{-?\s*(?P<text>[A-Za-z_][\w.]*(?:\[{_ITEM}\][\w.]*)+)"
            r"\s*(?:\|[^{}\n]*)?-?\}\}"
        ),
        *_BY_PROGRAMS,
    ),
    _Form(
        "{{",
        re.compile(
            r"(?P<before>(?<!\$))\{\{-?\s*(?P<text>(?:[A-Za-z_][\w.]*|'[^'{}\n]*'|\"[^\"{}\n]*\")"
            r"\s+if\s[^{}\n]*)\}\}"
        ),
        *_BY_PROGRAMS,
    ),
    # Go's, as Helm has them, with a field or a variable: https://pkg.go.dev/text/template#hdr-Actions
    _Form(
        "{{",
        re.compile(
            r"(?P<before>(?<!\$))\{\{(?=[^{}\n]*(?<![\w\"])[.$])-?\s*(?!(?:if|else|end|range|with|define|block)\b)"
            rf"(?P<text>{_OF_GO}(?:\s+{_OF_GO})*)\s*(?:\|[^{{}}\n]*)?-?\}}\}}"
        ),
        *_BY_PROGRAMS,
    ),
    # No test of bash's, which has a blank behind [[.
    _Form("[[", re.compile(r"(?P<before>)\[\[(?P<text>[A-Z][A-Z0-9_]*)\]\]"), *_BY_PROGRAMS),
)

_NEAR = 200  # characters
# What docker prints: https://docs.docker.com/engine/cli/formatting/
_PRINTED = re.compile(r"""\s(?:--format|-f)[= ](?:"[^"]*|[^\s"]*)$""")


# What says something to people: a usage has it for those who call the script, and nobody fills it in. What
# goes into a file may be a script, and so may a text with a line that starts ranks.
_SAYS = re.compile(r"\s*(?:echo|printf)\s")
_QUOTED = re.compile(r"""\"(?:\\.|[^\"\\])*\"|'[^']*'""")
_INTO = re.compile(r">(?!&)|(?<!\|)\|(?!\|)")
_TEXT_FOR_PEOPLE = re.compile(
    r"\s*(?:\w+\s*\(\)\s*\{\s*)?cat\s*(?:1?>&2\s*)?<<-?\s*(['\"]?)(\w+)\1\s*(?:1?>&2\s*)?$"
)


def put_in(sources: Sequence[Source], draft: Draft) -> list[Source]:
    """The sources with a variable for each, which nobody gave."""
    found = [Source(each.name, "\n".join(_lines(each, draft))) for each in sources]
    return [structs.replace(each, to_fill_in=frozenset(draft.to_fill_in)) for each in found]


def _lines(source: Source, draft: Draft) -> Iterator[str]:
    goes_on, start = False, ""  # of a command, whose first line tells whether it launches something
    until = ""  # the end of a text for people
    forms = [form for form in _FORMS if form.mark in source.text]
    marks = re.compile("|".join({re.escape(form.mark) for form in forms}) or r"(?!)")
    for number, line in enumerate(source.text.split("\n"), 1):
        if until and _LAUNCH.match(line) is None and not line.startswith("#SBATCH"):
            until = "" if line.strip() == until else until
            yield line
            continue
        if "<<" in line and (text := _TEXT_FOR_PEOPLE.match(line)):
            until = text[2]
        start, goes_on = start if goes_on else line, line.endswith("\\")
        if line.startswith("#") and (found := _OF_DIRECTIVE.match(line)):
            why, todo = _BY_PEOPLE[0], f"{_BY_PEOPLE[1]}, or write what it says in the job file"
            place = Place(source.name, number)
            draft.say("repaired", [place], found[2], became="nothing", why=why, todo=todo)
            line = found[1] + line[found.end() :]
        if marks.search(line) and not line.lstrip().startswith("#"):
            launches = _LAUNCH.match(start) is not None
            marked = line.replace("<<", "")  # a here-document fills nothing in
            for form in forms:
                if form.mark in marked and (launches or not form.of_launch):
                    line = _filled(line, form, Place(source.name, number), draft)
        yield line


def _filled(line: str, form: _Form, place: Place, draft: Draft) -> str:
    single = double = at = 0
    says = _SAYS.match(line) is not None and _INTO.search(_QUOTED.sub("", line)) is None

    def variable(found: re.Match[str]) -> str:
        nonlocal single, double, at
        single += line.count("'", at, found.start())
        double += line.count('"', at, found.start())
        at = found.start()
        if single % 2:
            return found[0]  # the text of another program: awk '{{ next }}'
        if form.mark == "{{" and _PRINTED.search(line[max(at - _NEAR, 0) : at]):
            return found[0]
        name = _name(found["text"])
        if re.search(rf"(?<!\w){name}=[^=]*$", line[max(at - _NEAR, 0) : at]):
            name += "_VALUE"  # IMAGE={{ IMAGE }}: the script's variable is another one
        is_quoted = (double + found["before"].count('"')) % 2
        if says and is_quoted:
            return found[0]
        written = found[0].removeprefix(found["before"])
        todo = f"{form.todo}, or convert again with --env {name}=VALUE"
        why = _BY_COPIER if form.why == _BY_PEOPLE[0] and is_quoted else form.why
        draft.say("repaired", [place], written, became=f"${{{name}}}", why=why, todo=todo)
        draft.to_fill_in.add(name)
        return f"{found['before']}${{{name}}}"

    return form.pattern.sub(variable, line)


def _name(text: str) -> str:
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return name if re.match(r"[A-Za-z]", name) else f"value_{name}"
