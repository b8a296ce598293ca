"""Where the values of unlike groups came from: each group is looked at as the job that it is by itself."""

from collections.abc import Callable, Iterator

from msgspec import structs

from hpclaunch.plan.origin import Origin, Place
from hpclaunch.plan.rankgroups import by_itself
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.values.launchplan import LaunchPlan

Alone = Callable[[Document[Job], LaunchPlan], tuple[Origin, ...]]


def of_groups(document: Document[Job], plan: LaunchPlan, alone: Alone) -> Iterator[Origin]:
    """What all groups have from one place, then what each has of its own. `alone` tells it of a job without
    groups."""
    names = list(document.value.groups)
    rows = [
        [_placed(document, name, each) for each in alone(_by_itself(document, name), part)]
        for name, part in zip(names, plan.parts, strict=True)
    ]
    yield from (each for each in rows[0] if all(each in others for others in rows[1:]))
    for name, own in zip(names, rows, strict=True):
        for each in own:
            if not all(each in others for others in rows):
                yield structs.replace(each, what=f"groups.{name}.{each.what}")


def of_first(document: Document[Job], each: Origin) -> Origin:
    """What is the same for all groups, where the first one has it."""
    return _placed(document, next(iter(document.value.groups)), each)


def _by_itself(document: Document[Job], name: str) -> Document[Job]:
    job = by_itself(document.value, name)
    return Document(document.kind, document.file, job, document.marks, document.files)


def _placed(document: Document[Job], name: str, each: Origin) -> Origin:
    """The origin in the group, where the job file has it there."""
    places = []
    for place in each.places:
        own = Place(place.document, ("groups", name, *place.path))
        places.append(own if place.document == "job" and document.has(own.path) else place)
    return structs.replace(each, places=tuple(places))
