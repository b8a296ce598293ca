"""Sending many jobs: the records of all, then several at a time, each after those that it waits for."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct, structs

from hpclaunch.records import files, sending, sets
from hpclaunch.records.record import Record
from hpclaunch.schedulers import dependencies, lifecycle
from hpclaunch.schedulers.contract import Warn
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.job import Submission


class Order(Struct, frozen=True):
    """A job to be sent. `make` gives its record, with that tag, to be written with the others'. `needs` are
    (place among the orders, afterok or afterany, or singleton), and those come before it; `singleton`: it
    waits for all jobs of its name."""

    name: str
    tag: str
    make: Callable[[sets.Among, sets.Take], Record]
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

    record: Record
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


def send(orders: Sequence[Order], site_folder: Path, at_once: int, warn: Warn) -> list[Sent]:
    """Sends all, `at_once` at a time, and says what became of each. Where one cannot be sent, those that wait
    for it are left out. Before the first one all records are on disk: what is not sent when this process dies
    is sent by `submit --resume`. Ctrl-C ends it once those that are under way have arrived.

    Raises HpclaunchError where the records cannot be written: then nothing is sent.
    """
    found: dict[int, Sent] = {}
    with (
        ThreadPoolExecutor(max_workers=at_once) as pool,
        sets.new(site_folder, orders[0].tag, pool) as new,
    ):
        records = [order.make(_among(order, orders), new.take) for order in orders]
        with files.explained("the records of the jobs"):
            new.commit()
        try:
            while len(found) < len(orders):
                ready = [
                    index
                    for index, order in enumerate(orders)
                    if index not in found and all(need in found for need, _ in order.needs)
                ]
                results = pool.map(
                    lambda index: _send(orders[index], records[index], found, orders, warn), ready
                )
                for index, sent in zip(ready, list(results), strict=True):
                    found[index] = sent
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            left = sum(not sending.has_begun(record) for record in records)
            warn(f"{left} of {len(records)} jobs are not sent: `hpclaunch submit --resume` sends them")
            raise
    return [found[index] for index in range(len(orders))]


def _among(order: Order, orders: Sequence[Order]) -> sets.Among:
    waits_for = tuple((orders[need].tag, when) for need, when in order.needs)
    return sets.Among(orders[0].tag, waits_for, order.singleton)


def _send(order: Order, record: Record, found: dict[int, Sent], orders: Sequence[Order], warn: Warn) -> Sent:
    lacking = next((need for need, _ in order.needs if not found[need].job_id), None)
    if lacking is not None:
        if dependencies.is_refused(found[lacking].record):
            lifecycle.never(record, f"it waits for {orders[lacking].name}, which is not submitted", warn)
        return Sent(record, left_out=orders[lacking].name)
    ids = {orders[need].tag: found[need].job_id for need, _ in order.needs}
    submission = structs.replace(order.submission, dependency=dependencies.words(record, ids))
    try:
        return Sent(record, lifecycle.submit(record, submission, warn))
    except (HpclaunchError, OSError) as error:
        return Sent(record, error=error)
