"""Manifests that envsubst fills in before the API gets them: $NAME and ${NAME}, by what the operator has
exported (envsubst(1) of GNU gettext).

The API itself puts in $(NAME) alone, and that in command, args and env. So $NAME in the name of an image or
as a number tells that a file is meant for envsubst.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from os.path import basename

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.draft import Draft, Key, dotted, shown
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running.launch import Launch
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.programs.names import GIVES_TEXT, SHELLS
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.values.conversion import Place

_PLACE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
# Keys whose value the API takes as it stands. Amounts of devices, and labels, have a / in theirs.
_KEYS = (
    "image|replicas|slotsPerWorker|nprocPerNode|completions|parallelism|namespace|claimName|serviceAccountName"
    "|cpu|memory|path|server|[\\w.-]+/[\\w.-]+"
)
# An object's own name stands where metadata has it, and no name of the API has a $.
_NAMED = " {1,4}[\"']?(?:name|generateName)"
_TELLS = re.compile(
    rf"^(?:[ \t-]*[\"']?(?:{_KEYS})|{_NAMED})[\"']?:[ \t]+[^#\n]*?\$\{{?[A-Za-z_]", re.MULTILINE
)
# A file that is called a template is filled in before the API gets it, wherever its places stand. Its shells
# have variables of their own, and the API puts none into the value of a variable.
_TEMPLATES = re.compile(r"[.-](?:tmpl|tpl|template|envsubst|in)(?:\.ya?ml)?$")
_VALUES = re.compile(
    r"(?:^|[\s{,])[\"']?value[\"']?:[ \t]{1,8}(?:\"(?P<two>[^\"\n]*)\"|'(?P<one>[^'\n]*)'|(?P<none>[^\n#]*))"
)
_MAY_HAVE_PLACES = {
    "env": "the value of a variable",
    "command": "what each rank executes",
    "mounts": "what is mounted",
    "workdir": "the folder in which the ranks start",
    "setup": "what a step does before the ranks start",
    "after": "what a step does when the ranks have ended",
    "stage_in": "what is copied to the nodes",
}
_OF_SHELLS = ("command", "setup", "after")  # they may be texts for a shell, which has no such variable
# No name of an object has one: kubernetes.io/docs/concepts/overview/working-with-objects/names (RFC 1123).
_IN_CAPITALS = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9_])")
_MOST_LINES = 5
_MOST_OPTIONS = 6  # between a shell and its text


class Template(Struct, frozen=True):
    """The text of a file that is filled in, and `by` what. `names` are all of its places, where it tells them
    from variables of a shell. `is_by_name`: the file's own name alone tells that it is one."""

    text: str
    by: str
    names: frozenset[str] = frozenset()
    is_by_name: bool = False


def filled(file: str, text: str, environment: Mapping[str, str], draft: Draft) -> str:
    """The text with the values that --env gives, as envsubst puts them in. Those of secrets stay out."""
    lines: dict[str, list[int]] = {}
    for number, line in _lines(text):
        for name in _names(line):
            lines.setdefault(name, []).append(number)
    given = {name: value for name, value in environment.items() if name in lines and "\n" not in value}
    for name in given:
        places = [Place(f"--env {name}"), *(Place(file, each) for each in lines[name][:_MOST_LINES])]
        why = "its value is put into these lines"
        if is_secret(name):
            why = "a secret: its value is put into no line here, and the job has the name alone"
        draft.say("carried", places, name, why=why)

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return found[0] if name not in given or is_secret(name) else given[name]

    return _PLACE.sub(value, text) if given else text


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Those that are no comments, with their numbers."""
    rows = enumerate(text.split("\n"), start=1)
    return ((number, line) for number, line in rows if not line.lstrip().startswith("#"))


def is_for_envsubst(text: str) -> bool:
    """Whether it cannot be what the API gets: $NAME stands where that takes a name or a number."""
    return bool(_TELLS.search(text))


def names_of_values(file: str, text: str) -> frozenset[str]:
    """The names of places in the values of variables, where the file is called a template."""
    if not _TEMPLATES.search(file):
        return frozenset()
    values = (found["two"] or found["one"] or found["none"] or "" for found in _VALUES.finditer(text))
    return frozenset(name for value in values for name in _names(value))


def names_in(text: str) -> tuple[str, ...]:
    """The names of the places in a text, each once."""
    return tuple(dict.fromkeys(_names(text)))


def _names(text: str) -> Iterator[str]:
    return (found[1] or found[2] for found in _PLACE.finditer(text))


def in_name(text: str) -> str:
    """The word in an object's name that a program replaces with one, JOB_ID, "" where there is none."""
    found = _IN_CAPITALS.search(text)
    return found[0] if found else ""


def ask_as_for_the_name(name: Field | None, draft: Draft) -> None:
    """Asks for the facts that have the word in capitals of the object's name: what replaces it there does so
    everywhere."""
    word = in_name(name.peek()) if name is not None else ""
    if not word:
        return
    again = re.compile(rf"(?<![A-Za-z0-9_${{]){word}(?![A-Za-z0-9_=])")
    for key, fact in list(draft.facts.items()):
        text = _in_one(fact.value)
        if key[0] in _MAY_HAVE_PLACES and not fact.is_open and again.search(text):
            question = f"{_asked(key)}: {word} stands for something, as in the object's name"
            draft.unsay(key)
            draft.ask(key, question, fact.places, shown(text, 60))


def put(
    launch: Launch,
    variables: Mapping[str, Variable],
    told: Collection[str],
    templates: Mapping[str, Template],
    draft: Draft,
) -> None:
    """Asks for what places stand in facts of the job, and says those that none of its questions names. Where
    a file is none for envsubst the program gets $NAME as it stands: a defect. `variables` are those of the
    pods, `told` the names that their controller sets in them too, `templates` the texts that are filled in
    by their files."""
    own = {name for name, each in variables.items() if each.text in (f"${name}", f"${{{name}}}")}
    for key, fact in list(draft.facts.items()):
        text = _literal(key, fact.value, launch, variables)
        names = names_in(text)
        template = templates.get(fact.places[0].file)
        if not names and template is not None and key[0] in _MAY_HAVE_PLACES:
            text = _in_one(fact.value)
            known = own if template.is_by_name and _is_for_shell(fact.value) else set()
            names = tuple(name for name in names_in(text) if name in template.names - known)
        if not names:
            continue
        if template is not None and (not template.names or template.names.intersection(names)):
            question = f"{_asked(key)}: {template.by} puts in {', '.join(names)}"
            draft.unsay(key)
            draft.ask(key, question, fact.places, shown(text, 60))
        elif key[0] in ("env", "command"):
            why = "Kubernetes puts in $(NAME), and not $NAME: the program gets the text as it stands"
            what = f"{'the command' if key[0] == 'command' else key[1]}: {shown(text, 60)}"
            draft.say("defect", fact.places, what, why=why, todo="write what is meant into the job file")
    for file, each in templates.items():
        _say_left(file, each, {*variables, *told}, launch.shell_place, draft)


def say_of_refused(templates: Mapping[str, Template], draft: Draft) -> None:
    """Says what places stand in what is told of an object that is not converted: nothing is asked there."""
    for key, fact in draft.facts.items():
        template = templates.get(fact.places[0].file)
        names = names_in(_in_one(fact.value)) if template is not None and not fact.is_open else ()
        if template is not None and names and (not template.names or template.names.intersection(names)):
            why = f"{template.by} puts in {', '.join(names)}, and nobody gave it"
            todo = f"convert again with {' '.join(f'--env {name}=VALUE' for name in names)}"
            draft.say("question", fact.places, f"{dotted(key)}: {shown(fact.value, 60)}", why=why, todo=todo)


def _literal(key: Key, value: object, launch: Launch, variables: Mapping[str, Variable]) -> str:
    """The text of a fact that no shell of a pod reads, "" for any other."""
    if key[0] == "env" and key[1] in variables and value == variables[str(key[1])].text:
        return str(value)
    if key[0] == "env" and launch.shell is None:
        return str(value)  # of mpirun's -x
    if key[0] == "mounts":
        return str(value)
    if key == ("command",) and launch.shell is None and isinstance(value, list):
        return " ".join(_no_texts(list(map(str, value))))  # a text names what ranks have
    return ""


def _is_for_shell(value: object) -> bool:
    """Whether a shell puts in what a variable of the same name was filled in with: it does not between '."""
    text = _in_one(value)
    return "'" not in text and not (isinstance(value, list) and names_in(" ".join(_no_texts(value))))


def _in_one(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _no_texts(words: Sequence[str]) -> Iterator[str]:
    """The words without the text of `sh -c TEXT`, whose shell puts its variables in."""
    for index, word in enumerate(words):
        shells = (basename(each) for each in words[max(index - _MOST_OPTIONS, 0) : index])
        if not (index and GIVES_TEXT.fullmatch(words[index - 1]) and not SHELLS.isdisjoint(shells)):
            yield word


def _asked(key: Key) -> str:
    if key[0] == "env":
        return f"the value of {key[1]}"
    return _MAY_HAVE_PLACES[str(key[0])]


def _say_left(
    file: str, template: Template, of_pods: Collection[str], shell: Place | None, draft: Draft
) -> None:
    """How --env answers the questions, and places that no question is about. `of_pods` are the names that a
    shell in a pod has by itself, `shell` are the lines of the text that it is given."""
    asked: set[str] = set()
    own_of_shell = _set_in_shell(file, template.text, shell)
    for number, each in enumerate(draft.findings):
        listed = each.why.partition(f"{template.by} puts in ")[2].split(", ")
        named = dict.fromkeys([*names_in(f"{each.what} {each.why}"), *filter(str.isidentifier, listed)])
        names = [name for name in named if name not in own_of_shell]
        if each.kind == "question" and names:
            asked.update(names)
            options = " ".join(f"--env {name}=VALUE" for name in names)
            draft.findings[number] = replace(each, todo=f"{each.todo}, or convert again with {options}")
    left: dict[str, list[int]] = {}
    for number, line in _lines(template.text):
        for name in names_in(line):
            left.setdefault(name, []).append(number)
    of_texts = _of_texts(file, draft) if asked else {}
    for name, lines in left.items():
        own = name in of_pods or _is_set(name, template.text)
        is_none = bool(template.names) and name not in template.names
        if own or is_none or is_secret(name):
            continue
        if name in asked:
            # An answer in the job file fills in one fact, and none of the texts for a shell.
            lines = [line for line in lines if line in of_texts.get(name, ())]
            if not lines:
                continue
        why = f"a place that {template.by} fills, and nobody gave its value"
        todo = f"convert again with --env {name}=VALUE"
        draft.say("left", [Place(file, line) for line in lines[:_MOST_LINES]], f"${name}", why=why, todo=todo)


def _set_in_shell(file: str, text: str, shell: Place | None) -> set[str]:
    """The names that only the text of the pod's shell has, and that it sets itself."""
    if shell is None or shell.file != file:
        return set()
    inside, outside = set[str](), set[str]()
    for number, line in _lines(text):
        (inside if shell.line <= number <= shell.last else outside).update(names_in(line))
    return {name for name in inside - outside if _is_set(name, text)}


def _is_set(name: str, text: str) -> bool:
    return re.search(rf"\b{name}=", text) is not None


def _of_texts(file: str, draft: Draft) -> dict[str, set[int]]:
    """The places that texts of the job's shells have, which no question is about, with the lines of these."""
    found: dict[str, set[int]] = {}
    for key, fact in draft.facts.items():
        for name in names_in(_in_one(fact.value)) if key[0] in _OF_SHELLS and not fact.is_open else ():
            for place in fact.places:
                if place.file == file:
                    found.setdefault(name, set()).update(range(place.line, max(place.last, place.line) + 1))
    return found
