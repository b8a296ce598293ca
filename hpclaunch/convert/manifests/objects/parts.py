"""Parts of one launch that are not alike: the pods of a Master and of Workers, and containers of one pod.

What a job file has once is asked for where they differ in it. Variables may differ: then the pods are
`groups` of the job, in the order in which the operator counts them (the Master is rank 0:
kubeflow/training-operator, pkg/controller.v1/pytorch/envvar.go).
"""

import re
from collections.abc import Mapping, Sequence

from hpclaunch.convert.draft import Draft, Key, dotted
from hpclaunch.convert.manifests.numbers import size
from hpclaunch.convert.manifests.objects.workload import COMMAND, Pod, Workload
from hpclaunch.convert.manifests.pods import environment, told
from hpclaunch.convert.manifests.pods.environment import Config, Variable
from hpclaunch.convert.manifests.running import commands
from hpclaunch.convert.manifests.running.launch import read
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.mapping.slurm.scripts import several
from hpclaunch.convert.options import Options
from hpclaunch.spec.check_job import MAX_NODES
from hpclaunch.values.conversion import Place

# Of a container alone: what is said of them is that they are not carried.
_OF_NO_JOB = frozenset(
    ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "ports", "tty", "stdin", "stdinOnce")
)
# What ranks are, and what they run on: where two templates differ in it, neither is the job's.
_ASKED = frozenset(("command", "args", "image", "resources"))
_VARIABLES = ("env", "envFrom")
_MOST_SHOWN = 60  # characters of a command


def ask_instead(
    key: tuple[str], question: str, places: Sequence[Place], what: str, draft: Draft, todo: str = ""
) -> None:
    """Ask for what one of several told: nothing else is said of the key any more."""
    draft.unsay(key)
    draft.ask(key, question, places, what, todo)


def ask_which_container(workload: Workload, draft: Draft) -> None:
    """Where several containers of a pod ask for GPUs, which of them is the job's: it has one on each node.
    What they have alike is the job's whichever it is."""
    first, rivals = workload.ranks.container, workload.ranks.rivals
    if not rivals:
        return
    every = (first, *rivals)
    places = [each.at for each in every]
    listed = " and ".join(_called(each) for each in every)
    why = f"each of {listed} asks for GPUs, and a job has one container on each node"
    todo = "leave the others out of the manifest, and convert again: a job of each, or one script for all"
    for key, given in (
        ("command", [None if workload.is_apart else _words(each) for each in every]),
        ("image", [_text(each, "image") for each in every]),
        ("gpus_per_node", [size.gpus_of(each.get("resources")) for each in every]),
    ):
        is_in_doubt = any(each != given[0] for each in given) or (key == "command" and not workload.is_apart)
        if is_in_doubt:
            ask_instead(
                (key,), f"{key} of which container: {why}", places, "containers with GPUs", draft, todo
            )


def _called(container: Field) -> str:
    text = _cut(_words(container) or _text(container, "image") or "no command")
    return f"{_text(container, 'name') or 'a container'} ({text})"


def _short(pod: Pod) -> str:
    return _cut(_words(pod.container)) or "what its image says"


def _cut(text: str) -> str:
    short = text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "..."
    return " ".join(short.split())


def _words(container: Field) -> str:
    fields = [field for key in COMMAND if (field := container.get(key)) is not None]
    return " ".join(word.text() for field in fields for word in field.items())


def _text(container: Field, key: str) -> str:
    field = container.get(key)
    return field.text() if field is not None else ""


def compare(
    workload: Workload, own: Mapping[str, Variable], beside: Config, draft: Draft, options: Options
) -> None:
    """The other pods of the launch with those of the ranks, whose variables are `own`: what is alike is told
    once, what is not is said, and makes groups where it is variables or commands alone."""
    for pod in workload.others:
        theirs = None
        if commands.differ(workload.ranks, pod) and not _why_no_groups(workload, draft):
            theirs = commands.of_pod(workload, pod, own, beside, draft, options)
        if _has_other_variables(workload.ranks, pod):
            _variables(workload, pod, own, beside, draft)
        has_command = theirs is not None and commands.put(workload, pod, theirs, draft)
        commands.ask_for_ranks(workload, pod, beside, draft, options)
        _others(workload.ranks, pod, draft, has_command=has_command)


def _has_other_variables(first: Pod, other: Pod) -> bool:
    return any(
        _plain_or_none(first.container.get(key)) != _plain_or_none(other.container.get(key))
        for key in _VARIABLES
    )


def _variables(
    workload: Workload, pod: Pod, own: Mapping[str, Variable], beside: Config, draft: Draft
) -> None:
    """Groups with variables of their own; where a job cannot have them each variable is left by its name."""
    mine, theirs = Draft(draft.site), Draft(draft.site)
    environment.put(own, mine, torch=workload.torch)
    environment.put(environment.variables(pod.container, beside, theirs), theirs, torch=workload.torch)
    # What the command exports holds for all, and so does what is the same.
    differing = [
        key
        for key in dict.fromkeys(each for of in (mine, theirs) for each in of.facts if each[0] == "env")
        if _value(mine, key) != _value(theirs, key) and _value(draft, key) == _value(mine, key)
    ]
    _say_beside(pod, mine, theirs, draft)
    lines = [field.place for key in _VARIABLES if (field := pod.container.get(key)) is not None]
    lines = lines or [pod.place]
    reason = _why_no_groups(workload, draft)
    _ask_for_command(workload, [str(key[1]) for key in differing], told.texts(workload, own), draft)
    if not differing:
        why = "what the operator or the job gives each rank is not told apart here"
        draft.say("replaced", lines, f"env of the {pod.of}", why=why)
    elif reason:
        names = ", ".join(str(key[1]) for key in differing)
        why = f"the {workload.ranks.of} has others, and counts: {reason}"
        draft.say(
            "left",
            lines,
            f"env of the {pod.of}: {names}",
            why=why,
            todo="let the command set them by its rank (NODE_RANK), or write `groups` in the job file",
        )
    else:
        _groups(workload, pod, differing, (mine, theirs), lines, draft)


def _ask_for_command(
    workload: Workload, names: Sequence[str], texts: Mapping[str, str | None], draft: Draft
) -> None:
    """Where its words have the values of variables that are not the same in all pods."""
    pod = workload.ranks
    fact = draft.facts.get(("command",))
    text = fact.value if fact is not None and isinstance(fact.value, str) else ""
    written = _words(pod.container)
    used = [
        name
        for name in names
        if (f"$({name})" in written or (_names(name, written) and not _names(name, text)))
        and not _is_the_launchers(name, pod.container, texts)
    ]
    if used:
        question = f"command: {', '.join(used)} is in it, and has another value in other pods"
        ask_instead(("command",), question, [pod.place], "the command", draft)


def _is_the_launchers(name: str, container: Field, texts: Mapping[str, str | None]) -> bool:
    """Whether options of the launcher alone have the variable (--nproc-per-node=$N), not what it starts.
    How many ranks they make of each pod is compared, and asked, by itself."""
    launch, other = (read(container, each) for each in (texts, {**texts, name: "another"}))
    line = launch.unit.text if launch.unit is not None else _words(container)
    is_in_line = _count(name, line) == _count(name, _words(container))
    return bool(launch.outer) and is_in_line and launch.inner == other.inner


def _count(name: str, text: str) -> int:
    return len(re.findall(rf"\$(?:{name}\b|[{{(]{name}\b)", text))


def _names(name: str, text: str) -> bool:
    return re.search(rf"\$(?:{name}\b|\{{{name}\b)", text) is not None


def _why_no_groups(workload: Workload, draft: Draft) -> str:
    """Why the job has no groups, "" where it may have them."""
    steps = sorted({str(key[0]) for key in draft.facts if key[0] in several.STEPS})
    if steps:
        return f"a job with groups has no {steps[0]}"
    numbers = [each.value for each in workload.sizes]
    fact = draft.facts.get(("nodes",))
    if len(numbers) != 2 or fact is None or fact.value != sum(each or 0 for each in numbers):
        return "how many nodes each has is not told"
    if max(each or 0 for each in numbers) > MAX_NODES:
        return f"no job has more than {MAX_NODES} nodes"
    return "" if all(numbers) else "one of them has no pods"


def _groups(
    workload: Workload,
    pod: Pod,
    differing: Sequence[Key],
    drafts: tuple[Draft, Draft],
    lines: Sequence[Place],
    draft: Draft,
) -> None:
    became = f"env, and groups.{pod.of.lower()}.env where it is not that of the {workload.ranks.of}"
    draft.say("carried", lines, f"env of the {pod.of}", became=became)
    _withdraw(("nodes",), draft)
    for key in differing:
        _withdraw(key, draft)
    for of, said, number in zip((workload.ranks, pod), drafts, workload.sizes, strict=True):
        group = ("groups", of.of.lower())
        draft.put((*group, "nodes"), number.value, number.places, number.what)
        for key in differing:
            fact = said.facts.get(key)
            if fact is not None and fact.is_open:
                draft.ask((*group, *key), fact.question, fact.places, f"the variable {key[1]}")
            elif fact is not None:
                what = f"the variable {key[1]} of the {of.of}"
                draft.put((*group, *key), fact.value, fact.places, what)


def _say_beside(pod: Pod, mine: Draft, theirs: Draft, draft: Draft) -> None:
    """What is said of the other pod's variables that is not said of the first one's, and what no group has of
    its own."""
    known = {(each.kind, each.what, each.why) for each in (*mine.findings, *draft.findings)}
    draft.findings += [
        each
        for each in theirs.findings
        if (each.kind, each.what, each.why) not in known and each.kind != "question" and not each.key
    ]
    draft.hints.update({key: each for key, each in theirs.hints.items() if key not in draft.hints})
    here = {(key[0], str(fact.value)) for key, fact in draft.facts.items() if key[0] == "secrets"}
    for key, fact in theirs.facts.items():
        if key[0] == "secrets" and (key[0], str(fact.value)) not in here:
            why = f"only the {pod.of} had it, and a job's secrets are for all of its ranks"
            draft.add("secrets", fact.value, fact.places, str(fact.value), why=why)
        elif key[0] not in ("env", "secrets") and _value(draft, key) != (fact.value, fact.question):
            why = "groups have nothing of the kind of their own"
            what = f"{dotted(key)} of the {pod.of}"
            draft.say("left", fact.places, what, why=why, todo="see which of them is meant")


def _value(draft: Draft, key: Key) -> tuple[object, str] | None:
    fact = draft.facts.get(key)
    return (fact.value, fact.question) if fact is not None else None


def _withdraw(key: Key, draft: Draft) -> None:
    """Take a fact out, with what was said of it."""
    draft.facts.pop(key, None)
    draft.unsay(key)


def _others(first: Pod, other: Pod, draft: Draft, *, has_command: bool) -> None:
    """All fields but the variables. `has_command`: the command is that of a group."""
    for key, field in other.container.fields():
        twin = first.container.get(key)
        if key == "name":
            continue
        field.take()
        is_same = twin is not None and twin.plain() == field.plain()
        if is_same or (key in COMMAND and commands.is_alike(first, other, key)):
            why = "" if is_same else "they differ in comments alone"
            became = f"that of the {first.of}"
            draft.say("carried", [field.place], f"{key} of the {other.of}", became=became, why=why)
        elif key in _VARIABLES or (key in COMMAND and has_command):
            continue
        elif key in _OF_NO_JOB:
            draft.say("left", [field.place], f"{key} of the {other.of}", why="a job has no place for it")
        elif key in _ASKED and (key != "resources" or size.gpus_of(twin) != size.gpus_of(field)):
            which = ("gpus_per_node",) if key == "resources" else ("image" if key == "image" else "command",)
            question = f"{which[0]}: {other.of} and {first.of} differ in {key}, and a job has one"
            if key in COMMAND:
                question = (
                    f"command: the {other.of} runs {_short(other)}, the {first.of} {_short(first)}, and what "
                    "stands around them is not the same launch"
                )
            places = [field.place, *([twin.place] if twin is not None else [])]
            ask_instead(which, question, places, f"{key} of the {other.of}", draft)
        else:
            why = f"it is not that of the {first.of}, and all nodes of a job are alike: that counts"
            todo = "see which of them is meant"
            draft.say("left", [field.place], f"{key} of the {other.of}", why=why, todo=todo)
    for key, field in first.container.fields():
        if key in COMMAND and has_command:
            continue
        if other.container.get(key) is None and key not in _VARIABLES and key not in _OF_NO_JOB:
            if key in COMMAND or (key == "resources" and size.gpus_of(field)):
                asked = "gpus_per_node" if key == "resources" else "command"
                question = f"{asked}: the {first.of} has {key}, the {other.of} has none, and a job has one"
                places = [field.place, other.place]
                ask_instead((asked,), question, places, f"{key} of the {first.of}", draft)
                continue
            why = f"the {other.of} has none, and all nodes of a job are alike: all have it"
            draft.say("left", [field.place], f"{key} of the {first.of}", why=why, todo="see that it fits all")


def _plain_or_none(field: Field | None) -> object:
    return None if field is None else field.plain()
