"""Defects of what a manifest's containers run: of shell texts, and of variables that NCCL reads."""

from collections.abc import Iterator, Mapping

from msgspec import structs

from hpclaunch.convert import defects
from hpclaunch.convert.defects import slurm
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running.launch import script_of
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.lines import Spread
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.conversion import Finding, Place
from hpclaunch.values.errors import InputError


def put(
    workload: Workload,
    variables: tuple[Mapping[str, Variable], ...],
    draft: Draft,
    options: Options,
) -> None:
    """Say what is wrong in the original. `variables` are those of its containers."""
    for each in dict.fromkeys(own["NCCL_IB_HCA"] for own in variables if "NCCL_IB_HCA" in own):
        draft.findings += slurm.by_prefix(each.text or "", each.place, options)
    pods = {id(pod): pod for pod in (workload.starter, workload.ranks, *workload.others)}
    for pod in pods.values():
        draft.findings += _of_shell(pod.container, options, draft)


def _of_shell(container: Field, options: Options, draft: Draft) -> Iterator[Finding]:
    """Of the text of `sh -c TEXT`, with the manifest's lines."""
    script = script_of(container)
    if script is None:
        return
    text, place = script
    try:
        reading = walk.read([Source(place.file, text)], {}, script=place.file)
    except (ScriptError, InputError):
        return  # whoever reads the command says so
    for each in defects.find(reading, options, draft):
        yield structs.replace(each, places=tuple(_in_block(place, line.line) for line in each.places))


def _in_block(place: Place, line: int) -> Place:
    """A line of a text, from 1, which begins below the line of its key. Of one on a single line that line,
    and of one whose lines are others all that it stands on."""
    is_block = place.last > place.line and not isinstance(place, Spread)
    last = 0 if is_block else place.last
    return Place(place.file, min(place.line + line, place.last) if is_block else place.line, last)
