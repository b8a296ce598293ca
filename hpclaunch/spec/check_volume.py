"""What a site file alone tells to be wrong of a volume that is more than a path, or should be one."""

from functools import partial

from hpclaunch.spec import apiwords, check_text, findings
from hpclaunch.spec.site import SOURCES, Csi, Nfs, StorageClass, Volume
from hpclaunch.values.errors import Path, Problem

DOCUMENT = "site"

_check = partial(findings.check, DOCUMENT)
_problem = partial(findings.problem, DOCUMENT)


def volume_problems(volume: Volume, path: Path) -> list[Problem]:
    """Every problem of the volume at `path`."""
    return [*_sources(volume, path), *_texts(volume, path), *_of_the_claim(volume, path)]


def _sources(volume: Volume, path: Path) -> list[Problem]:
    """A path may stand beside one other source: it is for Slurm then."""
    given = [key for key in SOURCES if getattr(volume, key) is not None]
    if not given and volume.path is None:
        message = "needs a path (or for Kubernetes a claim, nfs, config_map or empty_dir)"
        return [_problem(path, message)]
    found = []
    if len(given) > 1:
        found.append(_problem((*path, given[1]), f"a volume has one source, and this one has {given[0]} too"))
    if volume.file and (given or volume.path is None):
        found.append(_problem((*path, "file"), f"is about a path, and {given[0]} is what Kubernetes takes"))
    return found


def _texts(volume: Volume, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if volume.path is not None:
        _check(found, (*path, "path"), check_text.absolute, volume.path)
    for key, rule in (
        ("claim", apiwords.name),
        ("config_map", apiwords.name),
        ("folder", apiwords.relative),
        ("size", apiwords.memory),
        ("storage_class", apiwords.name),
    ):
        value = getattr(volume, key)
        if value is not None:
            _check(found, (*path, key), rule, value)
    for key, value in volume.labels.items():
        _check(found, (*path, "labels", key), apiwords.label_key, key)
        _check(found, (*path, "labels", key), apiwords.label_value, value)
    if volume.nfs is not None:
        found += _nfs(volume.nfs, (*path, "nfs"))
    if volume.empty_dir is not None and volume.empty_dir.size is not None:
        _check(found, (*path, "empty_dir", "size"), apiwords.memory, volume.empty_dir.size)
    if volume.csi is not None:
        found += _csi(volume.csi, (*path, "csi"))
    if volume.provision is not None:
        found += _class(volume.provision, (*path, "provision"))
    return found


def _of_the_claim(volume: Volume, path: Path) -> list[Problem]:
    """What `hpclaunch site export storage` makes: which keys go together."""
    found = []
    of_claim = ("folder", "size", "storage_class", "labels", "csi", "provision")
    if volume.claim is None:
        message = "goes with a claim, and this volume has none"
        return [_problem((*path, key), message) for key in of_claim if getattr(volume, key)]
    if volume.csi is not None and volume.provision is not None:
        message = "csi is data that is there, provision makes a new volume: a claim has one of them"
        found.append(_problem((*path, "provision"), message))
    if volume.provision is not None and volume.storage_class is None:
        message = "provision needs the name of the class that it describes: storage_class"
        found.append(_problem((*path, "provision"), message))
    if volume.provision is not None and volume.labels:
        message = "a claim that looks for labels is given no new volume: leave them out, or provision"
        found.append(_problem((*path, "labels"), message))
    for key in ("csi", "provision"):
        if getattr(volume, key) is not None and volume.size is None:
            found.append(_problem((*path, key), "a claim has a size: write size, such as size: 100Gi"))
    return found


def _nfs(nfs: Nfs, path: Path) -> list[Problem]:
    found: list[Problem] = []
    _check(found, (*path, "server"), check_text.line, nfs.server)
    _check(found, (*path, "path"), check_text.absolute, nfs.path)
    return found


def _csi(csi: Csi, path: Path) -> list[Problem]:
    found: list[Problem] = []
    _check(found, (*path, "driver"), apiwords.short_name, csi.driver)
    _check(found, (*path, "handle"), check_text.line, csi.handle)
    return found


def _class(provision: StorageClass, path: Path) -> list[Problem]:
    found: list[Problem] = []
    _check(found, (*path, "provisioner"), apiwords.name, provision.provisioner)
    return found
