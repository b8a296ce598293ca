"""Sending many jobs, several at a time, each after those that it waits for."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, structs

from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Warn
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import Submission


class Order(Struct, frozen=True):
    """A job to be sent. `make` writes its record. `needs` are (place among the orders, afterok or afterany,
    or singleton), and those come before it; `singleton`: it waits for all jobs of its name."""

    name: str
    make: Callable[[], Record]
    submission: Submission
    needs: tuple[tuple[int, str], ...] = ()
    singleton: bool = False


class Batch(Struct, frozen=True):
    """The orders of one job: how many they are, the (place of a job, afterok or afterany, or singleton) that
    it waits for, and whether they run one after the other."""

    size: int
    needs: tuple[tuple[int, str], ...] = ()
    in_turn: bool = False


class Sent(Struct, frozen=True):
    """What became of an order: its record and id, or why there is no job (or perhaps one)."""

    record: Record | None = None
    job_id: str = ""
    error: HpclaunchError | OSError | None = None
    left_out: str = ""


def needs_of(batches: Sequence[Batch]) -> list[tuple[tuple[int, str], ...]]:
    """What each order waits for, as `Order.needs` has it: all orders of the jobs that its own waits for. The
    orders stand in the order of their jobs, none of which comes before one that it waits for."""
    found: list[tuple[tuple[int, str], ...]] = []
    places: list[range] = []
    for batch in batches:
        own = range(len(found), len(found) + batch.size)
        others = tuple((place, when) for job, when in batch.needs for place in places[job])
        found += [
            (*others, (place - 1, "afterany")) if batch.in_turn and place > own.start else others
            for place in own
        ]
        places.append(own)
    return found


def send(orders: Sequence[Order], at_once: int, warn: Warn) -> list[Sent]:
    """Sends all, `at_once` at a time, and says what became of each. Where one cannot be sent, those that wait
    for it are left out. Ctrl-C ends it once those that are under way have arrived."""
    found: dict[int, Sent] = {}
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            while len(found) < len(orders):
                ready = [
                    index
                    for index, order in enumerate(orders)
                    if index not in found and all(need in found for need, _ in order.needs)
                ]
                results = pool.map(lambda index: _send(orders[index], orders, found, warn), ready)
                for index, sent in zip(ready, list(results), strict=True):
                    found[index] = sent
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return [found[index] for index in range(len(orders))]


def _send(order: Order, orders: Sequence[Order], found: dict[int, Sent], warn: Warn) -> Sent:
    for need, _ in order.needs:
        if not found[need].job_id:
            return Sent(left_out=orders[need].name)
    waits = _dependency(order, found)
    try:
        record = order.make()
        job_id = lifecycle.submit(record, structs.replace(order.submission, dependency=waits), warn)
    except (HpclaunchError, OSError) as error:
        return Sent(error=error)
    return Sent(record, job_id)


def _dependency(order: Order, found: dict[int, Sent]) -> str:
    """In Slurm's words: afterok:1:2,afterany:3,singleton."""
    ids: dict[str, list[str]] = {}
    for need, when in order.needs:
        if when != "singleton":
            ids.setdefault(when, []).append(found[need].job_id)
    words = [":".join((when, *own)) for when, own in ids.items()]
    return ",".join([*words, *(["singleton"] if order.singleton else [])])
