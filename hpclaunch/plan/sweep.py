"""A job with a sweep -> its launches: one job array where points differ in environment and arguments alone,
and a job for each other point. On Kubernetes, and where groups have an allocation each, for every point."""

from collections.abc import Sequence

from msgspec import Struct, structs

from hpclaunch.plan import size
from hpclaunch.plan.planner import Planner
from hpclaunch.spec.document import Document, located
from hpclaunch.spec.job import Job
from hpclaunch.spec.points import count
from hpclaunch.spec.site import Site
from hpclaunch.spec.variants import Variant, keys_of, variants
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget
from hpclaunch.values.sweep import PointWords, Sweep
from hpclaunch.values.words import EnvVar, Option


class PlannedPoints(Struct, frozen=True):
    """A launch of a sweep. The plan of an array has the sweep in it; that of a single point has not, and is
    that of any job."""

    document: Document[Job]
    plan: LaunchPlan
    sweep: Sweep


def launches(
    document: Document[Job], site: Document[Site], planner: Planner, *, first: bool = False
) -> list[PlannedPoints]:
    """The launches of a job with a sweep, or the `first` point's alone, as a job of its own. Raises
    InputError with every problem of its points, each located."""
    job, scheduler = document.value, site.value.scheduler
    assert job.sweep is not None
    keys, total = keys_of(job), count(job.sweep)
    groups = variants(document, each=first or scheduler != "slurm")
    why = "the points differ in more than env, args and command" if len(groups) > 1 else ""
    if not first and scheduler == "slurm" and _in_allocations(job, planner, groups):
        groups, why = variants(document, each=True), "the groups have an allocation each"
    unsuitable = _unsuitable(job, site.value, why)
    if unsuitable and not first:
        raise located(unsuitable, document, site)
    found: list[PlannedPoints] = []
    problems: list[Problem] = []
    for variant in groups[:1] if first else groups:
        try:
            points = variant.words(keys)
            name = job.name if len(groups) == 1 else f"{job.name}-{points[0].number}"
            sweep = Sweep(keys, points, total, f"{name}.points", not variant.base, job.sweep.max_running)
            plan = planner.plan(variant.document.value)
            if len(points) > 1:
                plan = _array(plan, variant, sweep, _under(planner, variant))
            found.append(PlannedPoints(variant.document, plan, sweep))
        except InputError as error:
            problems += _placed(error, variant, document, site)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return found


def parts(planned: PlannedPoints, most: int) -> list[PlannedPoints]:
    """The array as arrays of at most so many points, in their order."""
    points = planned.sweep.points
    return [with_points(planned, points[start : start + most]) for start in range(0, len(points), most)]


def with_points(planned: PlannedPoints, points: Sequence[PointWords]) -> PlannedPoints:
    """The array of some of its points, which keep their numbers."""
    sweep = structs.replace(planned.sweep, points=tuple(points))
    common = structs.replace(planned.plan.common, sweep=sweep)
    target = planned.plan.target
    assert isinstance(target, SlurmTarget)
    options = tuple(_option(sweep) if each.text.startswith("--array=") else each for each in target.sbatch)
    target = structs.replace(target, sbatch=options)
    return PlannedPoints(planned.document, structs.replace(planned.plan, common=common, target=target), sweep)


def _in_allocations(job: Job, planner: Planner, groups: Sequence[Variant]) -> bool:
    """Whether points are heterogeneous jobs, of which Slurm has no arrays."""
    for variant in groups if job.groups else ():
        try:
            target = planner.plan(variant.document.value).target
        except InputError:
            continue  # it is told with the others
        if isinstance(target, SlurmTarget) and target.components:
            return True
    return False


def _unsuitable(job: Job, site: Site, several: str) -> list[Problem]:
    assert job.sweep is not None
    if site.scheduler == "local":
        message = f"{site.name} has no queue, so all points would run at once: give each with --set"
        return [Problem(f"sweep: {message}", "job", ("sweep",))]
    if job.sweep.max_running is None:
        return []
    path = ("sweep", "max_running")
    if site.scheduler == "kubernetes":
        message = "each point is a job of its own, and Kubernetes has no such limit: leave it out"
        return [Problem(f"sweep.max_running: {message}", "job", path)]
    if several:
        message = f"{several}, so they are several jobs, and Slurm "
        return [Problem(f"sweep.max_running: {message}limits one array alone: leave it out", "job", path)]
    return []


def _under(planner: Planner, variant: Variant) -> dict[str, EnvVar]:
    """What the ranks of a point have of variables that other points set and this one does not."""
    everywhere = all(len(words.environment) == len(variant.names) for words in variant.words(()))
    if everywhere:
        return {}
    job, names = variant.document.value, variant.names
    env = {name: value for name, value in job.env.items() if name not in names} | variant.unset
    below = planner.plan(structs.replace(job, env=env)).common.environment
    return {each.name: each for each in below if each.name in names}


def _array(plan: LaunchPlan, variant: Variant, sweep: Sweep, under: dict[str, EnvVar]) -> LaunchPlan:
    """The plan of the first point as that of all: what differs is left to the points' file, whose variables
    win over these."""
    target = plan.target
    assert isinstance(target, SlurmTarget)
    names = frozenset(variant.names)
    own = tuple(each for each in plan.common.environment if each.name not in names)
    own += tuple(under.values())
    argv = () if plan.common.groups else variant.base
    common = structs.replace(plan.common, environment=own, argv=argv, sweep=sweep)
    _check_size(common.environment, plan, sweep, variant)
    name, *others = target.sbatch
    target = structs.replace(target, sbatch=(name, _option(sweep), *others))
    if target.beside is not None:
        host = target.beside.host
        plain = tuple(each for each in host.environment if each.name not in names)
        host = structs.replace(host, environment=(*plain, *under.values()))
        target = structs.replace(target, beside=structs.replace(target.beside, host=host))
    return structs.replace(plan, common=common, target=target)


def _option(sweep: Sweep) -> Option:
    limit = f"%{sweep.max_running}" if sweep.max_running is not None else ""
    return Option(f"--array=0-{len(sweep.points) - 1}{limit}", "a task for each point of the sweep")


def _check_size(shared: Sequence[EnvVar], plan: LaunchPlan, sweep: Sweep, variant: Variant) -> None:
    """Raises InputError where the largest point is more than the kernel takes."""
    largest = max(range(len(sweep.points)), key=lambda index: _bytes(sweep.points[index]))
    words = sweep.points[largest]
    own = (word.partition("=") for word in words.environment)
    environment = (*shared, *(EnvVar(name, value, "job") for name, _, value in own))
    argv = (*variant.base, *words.arguments)
    common = structs.replace(plan.common, environment=environment, argv=argv)
    problems = size.problems(common, plan.target)
    if problems:
        paths = {setting.key: setting.path for setting in variant.points[largest].settings}
        raise InputError(
            [
                Problem(each.message, each.document, paths.get(".".join(map(str, each.path)), each.path))
                for each in problems
            ]
        )


def _bytes(point: PointWords) -> int:
    return sum(len(word.encode()) for word in (*point.environment, *point.arguments))


def _placed(
    error: InputError, variant: Variant, document: Document[Job], site: Document[Site]
) -> Sequence[Problem]:
    found = []
    for problem in located(error.problems, variant.document, site).problems:
        own = problem.document == "job" and problem.where != document.locate(problem.path)
        number = f" (point {variant.points[0].number} of the sweep)" if own else ""
        found.append(structs.replace(problem, message=problem.message + number))
    return found
