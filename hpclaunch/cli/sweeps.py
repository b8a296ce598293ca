"""What commands say of a sweep, and where its scripts and files of points go."""

import os
from collections.abc import Sequence

from hpclaunch.cli.output import say, warn
from hpclaunch.cli.planning import Planned
from hpclaunch.cli.writing import put
from hpclaunch.render import script
from hpclaunch.spec.document import Document
from hpclaunch.spec.job import Job
from hpclaunch.spec.points import count
from hpclaunch.spec.variants import variants
from hpclaunch.values.errors import InputError


def of_document(job: Document[Job]) -> str:
    """ ", 12 points". Raises InputError for points that make no valid job."""
    assert job.value.sweep is not None
    variants(job)
    return f", {_counted(count(job.value.sweep), 'point')}"


def of_launches(planned: Sequence[Planned]) -> str:
    """ ", 12 points in a job array", and the like."""
    total = sum(len(each.sweep.points) for each in planned if each.sweep is not None)
    arrays = sum(each.plan.common.sweep is not None for each in planned)
    jobs = len(planned) - arrays
    parts = [_counted(number, noun) for number, noun in ((arrays, "job array"), (jobs, "job")) if number]
    return f", {_counted(total, 'point')} in {' and '.join(parts)}"


def render(planned: Sequence[Planned], output: str | None) -> None:
    """Prints the script or the manifests of all points, or writes them: a file of points lies beside its
    script. Raises InputError where several scripts have no folder to go to."""
    warn(*dict.fromkeys(warning for each in planned for warning in each.plan.warnings))
    first = planned[0].plan
    if first.scheduler == "kubernetes":
        texts = (script.render(each.plan) for each in planned)
        put("".join(text if text.startswith("---") else f"---\n{text}" for text in texts), output)
    elif len(planned) == 1:
        _script(planned[0], output)
    elif output is None or output == "-" or not os.path.isdir(output):
        raise InputError(f"the points make {len(planned)} scripts: -o FOLDER writes them all into a folder")
    else:
        for each in planned:
            assert each.sweep is not None
            _script(each, os.path.join(output, each.sweep.file.removesuffix("points") + "sh"))


def _script(planned: Planned, output: str | None) -> None:
    put(script.render(planned.plan), output, 0o755)
    sweep = planned.plan.common.sweep
    if sweep is None:
        return
    if output is None or output == "-":
        say(f"the points are not in the script: -o writes {sweep.file} beside it")
        return
    put(sweep.words.decode(), os.path.join(os.path.dirname(output), sweep.file))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
