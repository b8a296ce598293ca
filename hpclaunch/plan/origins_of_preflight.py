"""Where it is said which nodes are good enough for a job's ranks."""

from collections.abc import Iterator, Sequence

from hpclaunch.plan.origin import Origin, Place
from hpclaunch.spec.site import Site
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget


def of_preflight(site: Site, plan: LaunchPlan) -> Iterator[Origin]:
    """A row for what is checked, and one for each bound of it."""
    check = plan.target.preflight if isinstance(plan.target, SlurmTarget) else None
    if check is None:
        yield Origin("preflight", "nothing is checked here", (_job(),))
        return
    if check.on_host:
        yield Origin("preflight", ", ".join(each.text.partition("=")[0] for each in check.on_host), (_job(),))
    total = plan.common.nodes + check.spares
    yield Origin("preflight.spares", f"{check.spares}, of {total} nodes", (_job("spares"),))
    yield Origin("preflight.limit", f"{check.seconds} s", (_job("limit"),))
    facts = (_site("command"),) if site.preflight is not None and site.preflight.command else ()
    if check.command:
        (floor,) = (each.text.removeprefix("floor=") for each in check.all_reduce)
        yield from _floor("all_reduce_gbs", floor, check.command, facts)
    if check.links is not None:
        yield from _floor("between_nodes_gbs", str(check.links.floor), check.links.command, facts)


def _floor(key: str, text: str, command: Sequence[str], facts: tuple[Place, ...]) -> Iterator[Origin]:
    gbs = "any bandwidth" if text == "0" else f"{text} GB/s"
    yield Origin(f"preflight.{key}", f"{gbs}, by {' '.join(command)}", (_site(key),), "default", facts)


def _job(*path: str) -> Place:
    return Place("job", ("preflight", *path))


def _site(*path: str) -> Place:
    return Place("site", ("preflight", *path))
