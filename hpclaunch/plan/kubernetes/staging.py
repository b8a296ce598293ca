"""stage_in on Kubernetes: an init container of each worker copies the folders, with both sides mounted."""

import os.path
from collections.abc import Sequence

from msgspec import structs

from hpclaunch.plan.findings import Findings
from hpclaunch.plan.kubernetes import names, volumes
from hpclaunch.plan.kubernetes.mpijob import Served
from hpclaunch.spec.site import Site, Volume
from hpclaunch.values.errors import Problem
from hpclaunch.values.pods import Labels, PodVolume, StagedFolder, StagingContainer, VolumeMount
from hpclaunch.values.steps import StageIn

# Where the init container sees the sides of each.
_FOLDER = "/hpclaunch-stage-in"
_OWNED = ("cpu", "memory")


def of_job(
    site: Site, staged: Sequence[StageIn], mounted: volumes.Volumes, owned: Labels, found: Findings
) -> tuple[StagingContainer, volumes.Volumes]:
    """The init container, and the pod's volumes with those that it needs. `owned` are the worker's amounts:
    with others the pod would not be Guaranteed, and before the worker nobody uses them."""
    known = {volume.name: volume for volume in mounted[0]}
    folders, placed, made = [], [], []
    for index, each in enumerate(staged):
        folders.append(
            StagedFolder(
                f"{_FOLDER}/{index}/source",
                f"{_FOLDER}/{index}/target",
                each.source_volume or each.source,
            )
        )
        for side in ("source", "target"):
            path, name = getattr(each, side), getattr(each, f"{side}_volume")
            volume = site.volumes[name] if name else Volume(path=path)
            label = names.label(name, prefix="volume") if name else f"stage-in-{index}-{side}"
            found.problems += _problems(volume, name, index, side == "target", site.name)
            source = volumes.source(label, volume)
            if side == "target" and source.kind == "hostPath":
                made.append(path)
            if known.setdefault(label, source) != source or label in volumes.RESERVED:
                message = f"pods have another volume called {label}: rename the site's {name}"
                found.refuse(message, "stage_in", index)
            placed.append(
                VolumeMount(
                    label, f"{_FOLDER}/{index}/{side}", volumes.folder(volume), read_only=side == "source"
                )
            )
    amounts = tuple((name, amount) for name, amount in owned if name in _OWNED)
    container = StagingContainer(tuple(folders), tuple(placed), amounts)
    return container, (tuple(_made(volume, made) for volume in known.values()), mounted[1])


def warnings(site: Site, served: Served | None) -> list[str]:
    """Where the time of the copying counts as something else."""
    assert site.kubernetes is not None
    if served is None or served.waits:
        return []
    return [
        "stage_in: the launcher starts with the workers, and waits for what they copy no longer than "
        f"{site.kubernetes.worker_wait} s in all (kubernetes.worker_wait)"
    ]


def _problems(volume: Volume, name: str, index: int, is_target: bool, site: str) -> list[Problem]:
    path = ("stage_in", index)
    if volume.file:
        return [Problem(f"{name} is a file, and folders are copied", "job", path)]
    if not is_target:
        return []
    if volume.behind == "config_map":
        return [Problem(f"nothing can be copied to the config map {name}", "job", path)]
    if volume.claim is not None and volume.access == "ReadOnlyMany":
        message = f"nothing can be copied to {name}: it can only be read at site {site} (ReadOnlyMany)"
        return [Problem(message, "job", path)]
    return []


def _made(volume: PodVolume, targets: Sequence[str]) -> PodVolume:
    """A folder of the node that is copied to may not be there yet when the pod's volumes are mounted,
    nor may one within it."""
    fields = dict(volume.fields)
    if volume.kind != "hostPath" or fields["type"] != "Directory":
        return volume
    path = os.path.normpath(str(fields["path"])) + "/"
    if not any(path.startswith(target.rstrip("/") + "/") for target in targets):
        return volume
    return structs.replace(volume, fields=(("path", fields["path"]), ("type", "DirectoryOrCreate")))
