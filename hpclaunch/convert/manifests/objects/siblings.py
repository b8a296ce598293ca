"""Other objects of a file that start ranks: jobs of their own, or more nodes of the same launch.

One may be of the same launch where it has the job's image, and in its command or its variables the name of
the job or of a Service in the file: by such a name the nodes of a launch find each other. So it may where the
job has its name, or that of a Service which leads to it: the head may stand behind its workers.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.parts import ask_instead
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.text.repair import Object

_SAYS_WHERE = frozenset(("command", "args", "env"))
_SHORTEST = 4  # of a name that is looked for: shorter ones stand in other words
_FILES = r"(?!\.(?:py|sh|ya?ml|json|txt|log|pt)\b)"


class Sibling(Struct, frozen=True):
    """An object that may be of the same launch, and the name that it has in its command or variables."""

    given: Object
    named: str


def say(jobs: Sequence[Object], others: Sequence[Object], draft: Draft) -> list[Sibling]:
    """Say all jobs of a file but the first, and what else of them may be of its launch."""
    services = [each for each in others if each.kind == "Service"]
    names = _names([*jobs[:1], *services])
    found = []
    for each in jobs[1:]:
        named = ""
        if _images(each) & _images(jobs[0]):
            to_it = [service for service in services if _leads_to(service, each)]
            named = _named(each, names) or _named(jobs[0], _names([each, *to_it]))
        each.root.take()
        why = "a job file is one job, and this is another"
        todo = "convert it on its own: put it into a file of its own"
        if named:
            names_it = f"{named} is in the command or the variables of one of them"
            why = f"it has the job's image, and {names_it}: it may be more nodes of it"
            todo = "see that `nodes` counts it: all nodes of a job run its one command"
            found.append(Sibling(each, named))
        draft.say("left", [each.root.place], each.name, why=why, todo=todo)
    return found


def ask(workload: Workload, found: Sequence[Sibling], draft: Draft) -> None:
    """Ask for the nodes where only the pods of the first object tell them."""
    fact = draft.facts.get(("nodes",))
    if not found or fact is None or fact.is_open or fact.value != workload.nodes.value:
        return
    first = found[0]
    names_it = f"one of the two names {first.named}"
    question = f"how many nodes: {first.given.name} has the same image, and {names_it}: is it one of them"
    places = [first.given.root.at, *fact.places]
    ask_instead(("nodes",), question, places, first.given.name, draft)


def _names(objects: Sequence[Object]) -> list[str]:
    fields = [each.root.get("metadata", "name") for each in objects]
    return [field.peek() for field in fields if field is not None and len(field.peek()) >= _SHORTEST]


def _leads_to(service: Object, job: Object) -> bool:
    """Whether the Service selects pods with labels that those of the job have."""
    selector = service.root.get("spec", "selector")
    wanted = selector.plain() if selector is not None else None
    if not isinstance(wanted, dict) or not wanted:
        return False
    labels = (each for each in _below(job.root.plain(), "labels") if isinstance(each, dict))
    return any(wanted.items() <= each.items() for each in labels)


def _named(given: Object, names: Sequence[str]) -> str:
    """The first of these names in what its containers run, or have in their variables."""
    texts = list(_texts(given.root.plain(), is_told=False))
    for name in names:
        form = re.compile(rf"(?<![\w.-]){re.escape(name)}(?:-\d+)?(?![\w-]){_FILES}")
        if any(form.search(text) for text in texts):
            return name
    return ""


def _texts(value: object, *, is_told: bool) -> Iterator[str]:
    """All texts below the keys that say what runs and where."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _texts(below, is_told=is_told or key in _SAYS_WHERE)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below, is_told=is_told)
    elif is_told and isinstance(value, str):
        yield value


def _images(given: Object) -> set[str]:
    return {each for each in _below(given.root.plain(), "image") if isinstance(each, str)}


def _below(value: object, wanted: str) -> Iterator[object]:
    """All that stands below keys of this name."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key == wanted:
                yield below
            else:
                yield from _below(below, wanted)
    elif isinstance(value, list):
        for below in value:
            yield from _below(below, wanted)
