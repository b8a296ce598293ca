"""The init container in which hpclaunch copies folders to a worker's node (hpclaunch/rank/pod)."""

from collections.abc import Sequence

from hpclaunch.rank.pod import stage_in_text
from hpclaunch.readback.kubelet import expand
from hpclaunch.readback.kubernetes import volumes
from hpclaunch.readback.kubernetes.podmodels import Container, PodSpec
from hpclaunch.readback.place import form_text
from hpclaunch.values.steps import StageIn

_SHELL, _NAME = ("/bin/sh", "-c"), "hpclaunch-stage-in"


def is_own(container: Container, beside: Container) -> bool:
    """Whether it is that container, to the last byte of its text, with the image of the ranks (`beside`)."""
    words = _words(container)
    mounted = {mount.mount_path for mount in container.volume_mounts}
    pairs = (path for at in range(4, len(words), 3) for path in words[at : at + 2])
    return (
        words[:4] == (*_SHELL, stage_in_text(), _NAME)
        and len(words) % 3 == 1
        and mounted.issuperset(pairs)
        and container.image == beside.image
    )


def copied(pod: PodSpec, beside: Container, unread: list[str]) -> tuple[StageIn, ...]:
    """What such containers of a pod copy. A side that is no path of the node is named as its volume is."""
    found = []
    for container in pod.init_containers:
        if not is_own(container, beside):
            continue
        words = _words(container)[4:]
        for at in range(0, len(words), 3):
            source, of_source = _side(pod, container, words[at], unread)
            target, of_target = _side(pod, container, words[at + 1], unread)
            found.append(StageIn(source, target, of_source, of_target))
    return tuple(found)


def _words(container: Container) -> Sequence[str]:
    return tuple(expand(word, {}) for word in (*container.command, *container.args))


def _side(pod: PodSpec, container: Container, path: str, unread: list[str]) -> tuple[str, str]:
    """A path and a volume; one of them is ""."""
    mount = next(each for each in container.volume_mounts if each.mount_path == path)
    volume = next((each for each in pod.volumes if each.name == mount.name), None)
    seen = volumes.behind(volume, path, mount.sub_path, mount.read_only) if volume else None
    if seen is None:
        unread.append(f"{container.name}: what is behind {path} is not known")
        return "", mount.name
    if seen.kind == "path":
        folder = seen.folder.strip("/")
        return f"{seen.source.rstrip('/')}/{folder}" if folder else seen.source, ""
    return "", form_text((seen.kind, seen.source, seen.folder))
