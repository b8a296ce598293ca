"""The facts of a launch, each once: what is known of nodes, ranks, GPUs, image, mounts, environment, MPI,
time limit and binding, or that it is not.

The findings say what became of each line of an input, and so nothing of what no line tells. Here nothing is
left out: who checks a conversion has one row for each fact, and of a refused input sees what it still takes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert import other_starts
from hpclaunch.convert.cores import has_none
from hpclaunch.convert.draft import Draft, Fact, sayable, shown
from hpclaunch.convert.jobcheck import SHORT
from hpclaunch.convert.mapping.around.at_once import AT_ONCE
from hpclaunch.convert.mapping.environment.sourced import BY_FILE
from hpclaunch.convert.mapping.slurm.numbers.no_run import THE_RUN
from hpclaunch.convert.mapping.slurm.starts import ended
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.secrets.values import Secrets
from hpclaunch.values.conversion import Finding, LaunchFact, Place, State

_MOST = 3  # mounts or names
_WIDE = 100  # characters
_ASKED = "asked for"
_ENVIRONMENT = "environment"
_BINDING = "binding"
_AN_IMAGE = "the image "
_BY_COMMAND = "starts the container"  # of a command that has an image and mounts of its own
ALL_OF = "envFrom: all of the "  # a config map or a Secret that is not given
OF_OTHER_PODS = "its pods are not read as ranks"
_HOLDS = " may be among them"  # said of options of a container that a variable holds
# -v of docker has a folder of the container in it; that of other programs is about variables.
_OF_MOUNTS = re.compile(r"^(?-i:-v) [^\s=]*:/|(?<![${])\b(?:mount(?!s\.\d)|volume)", re.IGNORECASE)
_SCRIPT = re.compile(r"whether (\S+) (?:binds its ranks|starts ranks) itself$")
_OF_CONTAINERS = re.compile(r"apptainer|singularity|container|image|docker|podman|\.sif\b", re.IGNORECASE)
_EXPORTS = re.compile(rf"(?:write it in front of the )?command: export (\w+)=|{BY_FILE}")
_NOT_DETERMINED = "not determined"
_TEXT_BEHIND = re.compile(r"-\w*c")  # bash -lc TEXT
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_EXPORT = re.compile(r"(?:^|[;&|({\n])[ \t]*export[ \t]+([^;&|\n]+)")
_ASSIGNED = re.compile(r"(?:^|\s)([A-Za-z_]\w*)=")
# LD_PRELOAD=/x.so ./solve: for that program alone, as of env. In a program of Python's within the text names
# of arguments are in small letters.
_IN_FRONT = re.compile(
    r"(?:^|[;&|\n]|\bexec[ \t]|\benv[ \t])[ \t]*"
    r"((?:[a-z_]*[A-Z]\w*=(?:[\w./:,%+@=-]|\$\w+|\$\{\w+\})*[ \t]+)+)(?=[^\s;&|#=)])"
)


class _Row(Struct, frozen=True):
    """`keys` of the job tell the fact. `default` is what counts where no line tells it; `unit` stands behind
    a number."""

    name: str
    keys: tuple[str, ...]
    default: str
    unit: str = ""


_ROWS = (
    _Row("nodes", ("nodes",), "1"),
    _Row("ranks", ("ranks_per_node",), "one for each GPU", " on each node"),
    _Row("GPUs", ("gpus_per_node", "gpu_type"), "all of each node", " on each node"),
    _Row("image", ("image",), "none: the ranks run on the host"),
    _Row("mounts", ("mounts",), "none"),
    _Row(_ENVIRONMENT, ("env", "inherit", "secrets"), "none"),
    _Row("mpi", ("mpi",), "none"),
    _Row("time limit", ("time",), "the site's own", " minutes"),
    _Row(_BINDING, ("bind",), "cpus: local, beside the rank's GPU"),
)
_TEXT = re.compile(r"\b(?:ba|da|k|z)?sh -[a-z]*c\b|, and no option of the \S+ in /\S+ is read")
_WITHOUT_GPUS = "cpus: local, one core for each rank"


def facts(
    draft: Draft,
    secrets: Secrets,
    lost: Sequence[str] = (),
    starts: Place | None = None,
    others: Sequence[Place] = (),
    behind: Mapping[str, Sequence[Place]] = MappingProxyType({}),
) -> tuple[LaunchFact, ...]:
    """A row for each fact, in one order, without the values of secrets. `lost` is what sets variables of the
    ranks that nobody knows, `starts` the first line that starts a container, and `others` are those that may
    start another of the files, with what is not known. `behind` are facts that lines tell to which the script
    does not come."""
    by_key: dict[str, list[Fact]] = {}
    for fact in draft.facts.values():
        by_key.setdefault(_key(fact), []).append(fact)
    said = _said(draft.findings)
    default = _WITHOUT_GPUS if has_none(draft) else ""
    told = [replace(row, default=default) if default and row.name == _BINDING else row for row in _ROWS]
    rows = [_fact(row, by_key, said, secrets, bool(draft.refused)) for row in told]
    if draft.not_given:
        rows = [_by_another(each, draft.not_given, secrets) for each in rows]
        lost = (*lost, draft.not_given)
    holders = [each for each in draft.findings if each.kind == "question" and _HOLDS in each.why]
    held = {
        what: _listed([each.what for each in holders if what in each.why], "holds")
        for what in ("mounts", "variables")
    }
    of_command = ["what the command sets, which is asked for"] if _may_set(draft.findings) else []
    doubts = {
        _ENVIRONMENT: [*_listed(lost, "sets"), *held["variables"], *of_command],
        "mounts": held["mounts"],
    }
    rows = [_of_scripts(each, draft.findings, starts, secrets) for each in rows]
    rows = [_by_command(each, draft, secrets) for each in rows]
    rows = [_by_objects(each, draft.findings, secrets) for each in rows]
    rows = [_in_doubt(each, doubts.get(each.name, ()), secrets) for each in rows]
    rows = [_by_others(each, others, secrets) for each in rows]
    # What a run says that is found before the end counts, and not what stands behind that.
    no_run = any((each.kind, each.what) == ("question", THE_RUN) for each in draft.findings)
    return tuple(_behind_the_end(each, behind, secrets) for each in rows) if no_run else tuple(rows)


def _behind_the_end(fact: LaunchFact, behind: Mapping[str, Sequence[Place]], secrets: Secrets) -> LaunchFact:
    """What a script that ends before its run would say behind that: its ranks may have it."""
    places = behind.get(fact.name, ())
    is_more = fact.state == "told" and fact.name in (_ENVIRONMENT, "mounts")
    if not places or not (fact.state == "default" or is_more):
        return fact
    places = tuple(dict.fromkeys((*fact.places, *places)))
    return replace(_in_doubt(fact, (ended.DOUBT,), secrets), places=places)


def _by_others(fact: LaunchFact, places: Sequence[Place], secrets: Secrets) -> LaunchFact:
    """What the ranks run in, and with, where a command that is not known may give it."""
    gives_more = fact.name in (_ENVIRONMENT, "mounts") or (fact.name, fact.state) == ("image", "default")
    if not places or not gives_more:
        return fact
    places = tuple(dict.fromkeys((*fact.places, *places)))
    return replace(_in_doubt(fact, (other_starts.DOUBT,), secrets), places=places)


def _by_another(fact: LaunchFact, script: str, secrets: Secrets) -> LaunchFact:
    """A fact that no line tells, where a script that is not given may."""
    if fact.state != "default" or fact.name == _ENVIRONMENT:
        return fact
    told = secrets.without(sayable(f"{_NOT_DETERMINED}: what {script} says"))
    return replace(fact, state="not determined", told=told)


def _of_scripts(
    fact: LaunchFact, findings: Sequence[Finding], starts: Place | None, secrets: Secrets
) -> LaunchFact:
    """The image that no line tells, where a line starts a container all the same, or a script that the ranks
    execute is not given, or a command that is asked for speaks of containers: they may."""
    if (fact.name, fact.state) != ("image", "default"):
        return fact
    if starts is not None:
        return replace(
            fact,
            told="none that is told of the ranks; a line has the words that start a container",
            places=(starts,),
        )
    found = (_SCRIPT.match(each.what) for each in findings if "the file is not given" in each.why)
    names = [f"{each}, which is not given," for each in dict.fromkeys(each[1] for each in found if each)]
    asked = (each for each in findings if each.kind == "question" and each.key == "command")
    if any(_OF_CONTAINERS.search(f"{each.what} {each.why}") for each in asked):
        names.append("the command, which is asked for,")
    told = f"none, unless {' or '.join(names)} starts a container"
    return replace(fact, told=secrets.without(told)) if names else fact


def _may_set(findings: Sequence[Finding]) -> bool:
    """Whether the command that is asked for has texts for shells or a script that is not read, or is of
    several that are not shown whole: they may export."""
    asked = (each for each in findings if (each.kind, each.key) == ("question", "command"))
    return any(_TEXT.search(f"{each.what} {each.why}") or each.what == AT_ONCE for each in asked)


def _by_command(fact: LaunchFact, draft: Draft, secrets: Secrets) -> LaunchFact:
    """The environment, where the job's command sets what no key of the job has, or has to (PATH)."""
    if fact.name != _ENVIRONMENT:
        return fact
    keys = {str(key[-1]) for key in draft.facts if "env" in key}
    found = [
        (name[1] or each.what, each.places)
        for each in draft.findings
        if (each.kind, each.key) in (("carried", "command"), ("left", ""))
        and (name := _EXPORTS.match(each.became or each.todo)) is not None
    ]
    command = draft.facts.get(("command",))
    if command is not None and not command.is_open:
        told_of = {name for name, _ in found}  # with the lines that say it
        found += [(name, command.places) for name in _set_in(command.value) if name not in told_of]
    found += [(name, (place,)) for name, place in draft.by_scripts.items()]
    found = [each for each in found if each[0] not in keys]
    if not found:
        return fact
    names = list(dict.fromkeys(name for name, _ in found))
    told = f"{', '.join(names[:_MOST])}{' and others' * (len(names) > _MOST)} by the command"
    told = told if fact.state == "default" else f"{fact.told}; {told}"
    places = tuple(dict.fromkeys((*fact.places, *(place for _, its in found for place in its))))
    state: State = "told" if fact.state == "default" else fact.state
    return replace(fact, state=state, told=secrets.without(told), places=places)


def _by_objects(fact: LaunchFact, findings: Sequence[Finding], secrets: Secrets) -> LaunchFact:
    """The environment, where the pods have all of an object that stands elsewhere."""
    its = [each for each in findings if each.kind == "left" and each.what.startswith(ALL_OF)]
    if fact.name != _ENVIRONMENT or not its:
        return fact
    names = dict.fromkeys(f"the {each.what.removeprefix(ALL_OF)}" for each in its)
    places = dict.fromkeys((*fact.places, *(place for each in its for place in each.places)))
    return replace(_in_doubt(fact, _listed(list(names), "sets"), secrets), places=tuple(places))


def _set_in(command: Any) -> list[str]:
    """The variables that the command gives what it starts: env's, and those that the text of a shell exports
    or has in front of a program."""
    words = ["sh", "-c", command] if isinstance(command, str) else [str(word) for word in command]
    if words[0].rpartition("/")[2] == "env":
        its = takewhile(lambda word: _ASSIGNED.match(word) is not None, words[1:])
        return [word.partition("=")[0] for word in its]
    at = next((at for at, word in enumerate(words[:3]) if _TEXT_BEHIND.fullmatch(word)), None)
    if at is None or words[0].rpartition("/")[2] not in SHELLS:
        return []
    text = _QUOTED.sub("", "".join(words[at + 1 : at + 2]))
    lines = [*_EXPORT.findall(text), *_IN_FRONT.findall(text)]
    return [name for line in lines for name in _ASSIGNED.findall(line)]


def _listed(names: Sequence[str], does: str) -> list[str]:
    """What some things do, of which nobody knows what it is; nothing for none."""
    its = ", ".join(names[:_MOST]) + (" and others" if len(names) > _MOST else "")
    return [f"what {its} {does}"] if names else []


def _in_doubt(fact: LaunchFact, doubts: Sequence[str], secrets: Secrets) -> LaunchFact:
    """The environment, or the mounts, where something tells more of them that is not known."""
    if not doubts:
        return fact
    unknown = secrets.without(f"{_NOT_DETERMINED}: {', and '.join(doubts)}")
    told = unknown if fact.state in ("default", "not determined") else f"{fact.told}; {unknown}"
    return replace(fact, state="asked" if fact.state == "asked" else "not determined", told=told)


def _said(findings: Sequence[Finding]) -> dict[str, Finding]:
    """What findings say of keys that the draft has not: an image or mounts that are not carried over, or what
    the tool does now."""
    found: dict[str, Finding] = {}
    for each in findings:
        if each.kind == "left" and each.what.startswith(_AN_IMAGE):
            found.setdefault("image", each)  # that of the run is said before those of other containers
        elif each.kind == "left" and _BY_COMMAND in each.why:
            found["image"] = found["mounts"] = each
        elif each.kind == "left" and each.why != OF_OTHER_PODS and _OF_MOUNTS.search(each.what):
            found["mounts"] = each
        elif each.kind in ("replaced", "assumed") and each.became:
            found[each.became.partition(":")[0].partition(".")[0]] = each
    return found


def _key(fact: Fact) -> str:
    """The key of a job, also of one that a group has of its own."""
    return str(fact.key[2] if fact.key[0] == "groups" and len(fact.key) > 2 else fact.key[0])


def _fact(
    row: _Row, by_key: Mapping[str, list[Fact]], said: Mapping[str, Finding], secrets: Secrets, refused: bool
) -> LaunchFact:
    its = [fact for key in row.keys for fact in by_key.get(key, ())]
    # Nobody answers what is asked of a job that is not written.
    if not its or (refused and all(fact.is_open for fact in its)):
        return _of_no_key(row, said, secrets, refused)
    told = secrets.without(sayable(", ".join(dict.fromkeys(_told(row, its)))))
    places = tuple(dict.fromkeys(place for fact in its for place in fact.places))
    return LaunchFact(row.name, "asked" if any(fact.is_open for fact in its) else "told", told, places)


def _of_no_key(row: _Row, said: Mapping[str, Finding], secrets: Secrets, refused: bool) -> LaunchFact:
    """A fact that no key of the job tells."""
    known = next((said[key] for key in row.keys if key in said), None)
    if known is None:
        return (
            LaunchFact(row.name, "not determined", _NOT_DETERMINED)
            if refused
            else LaunchFact(row.name, "default", row.default)
        )
    left = f"{known.what.removeprefix(_AN_IMAGE)}, which is not carried over"
    left = f"by the command itself: {known.what}" if _BY_COMMAND in known.why else left
    told = known.became.partition(": ")[2] if known.became else left
    state: State = "told" if refused or not known.became else "default"
    return LaunchFact(row.name, state, secrets.without(told), known.places)


def _told(row: _Row, its: list[Fact]) -> Iterator[str]:
    """The parts of what is known, those of each group with its name."""
    for number, fact in enumerate(its):
        if number == _MOST:
            yield f"and {len(its) - _MOST} more"
            return
        group = f"{fact.key[1]}: " if fact.key[0] == "groups" else ""
        yield group + (_ASKED if row.name != _ENVIRONMENT and fact.is_open else _value(row, fact))


def _value(row: _Row, fact: Fact) -> str:
    below = fact.key[3:] if fact.key[0] == "groups" else fact.key[1:]
    if row.name == _ENVIRONMENT:
        return _variable(fact, below) + (f" ({_ASKED})" if fact.is_open else "")
    name = ".".join(str(part) for part in below if isinstance(part, str))
    in_front = f"{name}: " if name and name not in SHORT.values() else ""
    return f"{in_front}{_text(fact.value)}{row.unit if isinstance(fact.value, int) else ''}"


def _variable(fact: Fact, below: tuple[str | int, ...]) -> str:
    """The name of a variable: in `env` it is a key, and in the lists of names a value."""
    names = [str(part) for part in below if isinstance(part, str)]
    return ".".join(names) if names else _text(fact.value)


def _text(value: Any) -> str:
    return shown(value, _WIDE)
