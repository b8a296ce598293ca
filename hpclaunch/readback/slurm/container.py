"""The container in Pyxis's words (its args.c and enroot.c)."""

import re

from msgspec import Struct

from hpclaunch.values.launch import SeenMount, Unbridged

_FLAGS_OF_NO_WEIGHT = frozenset(
    {
        "rw",
        "rbind",
        "bind",
        "rprivate",
        "private",
        "x-create=auto",
        "x-create=dir",
        "x-create=file",
        "nosuid",
        "nodev",
    }
)


class SeenContainer(Struct, frozen=True):
    """The container of the ranks; `image` "" for none."""

    image: str = ""
    workdir: str = ""
    mounts: tuple[SeenMount, ...] = ()
    rights: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unbridged: tuple[Unbridged, ...] = ()


def container(given: dict[str, str]) -> SeenContainer:
    """What these options give, by their names. The last of a switch and its no- counts: keep their order."""
    unread: list[str] = []
    unbridged: list[Unbridged] = []
    image = given.get("container-image", "")
    others = [name for name in given if name.startswith(("container-", "no-container-"))]
    if not image:
        if others:
            unread.append(f"--{others[0]} without --container-image")
        return SeenContainer(unread=tuple(unread))
    switches = {name.removeprefix("no-"): not name.startswith("no-") for name in others}
    writable = {"container-writable": True, "container-readonly": False}
    can_write = [value for name, value in writable.items() if name in given]
    last = next((name for name in reversed(others) if name in writable), "container-writable")
    rights = ["read-only root filesystem"] if can_write and not writable[last] else []
    if switches.get("container-remap-root"):
        rights.append("user 0")
    if switches.get("container-mount-home"):
        unbridged.append(Unbridged("--container-mount-home", "a pod's node has no home folder of the user"))
    if switches.get("container-entrypoint"):
        unbridged.append(
            Unbridged("--container-entrypoint", "a pod's command replaces the image's entrypoint")
        )
    for name, why in (
        ("container-save", "a pod's container is not saved"),
        ("container-name", "a pod's container is its own, and gone after it"),
        ("container-unshare", "a pod's namespaces are the runtime's"),
    ):
        if name in given:
            unbridged.append(Unbridged(f"--{name}={given[name]}", why))
    image, why = _image(image)
    if why:
        unbridged.append(Unbridged(f"the image {image}", why))
    return SeenContainer(
        image=image,
        workdir=given.get("container-workdir", ""),
        mounts=_mounts(given.get("container-mounts", ""), unread, unbridged),
        rights=tuple(rights),
        unread=tuple(unread),
        unbridged=tuple(unbridged),
    )


def _image(image: str) -> tuple[str, str]:
    """The image in Docker's form, and why no other scheduler has it, "" where they have."""
    if image.startswith(("/", ".")):
        return image, "a squashfs file of this cluster's file system: Kubernetes takes images of registries"
    if image.startswith("dockerd://"):
        return image, "an image of the node's Docker daemon: Kubernetes takes images of registries"
    name = image.removeprefix("docker://")
    registry, mark, rest = name.partition("#")
    if not mark:
        registry, rest = "", name
    _, at, host = registry.rpartition("@")
    if not mark:
        # Enroot's USER@ may stand before an image of Docker Hub too; a digest is NAME@sha256:...
        _, at, host = rest.partition("@")
        if at and not host.startswith("sha256:"):
            rest = host
        return rest, ""
    return (f"{host if at else registry}/{rest}", "")


def _mounts(text: str, unread: list[str], unbridged: list[Unbridged]) -> tuple[SeenMount, ...]:
    found: list[SeenMount] = []
    for entry in filter(None, text.split(",")):
        source, _, rest = entry.partition(":")
        target, _, flags = rest.partition(":")
        target = target or source
        chosen = [flag for flag in flags.split("+") if flag]
        strange = [flag for flag in chosen if flag not in _FLAGS_OF_NO_WEIGHT and flag != "ro"]
        if source in ("tmpfs", "umount"):
            if source == "tmpfs":
                found.append(SeenMount(target, "empty", "", "", "ro" in chosen))
            else:
                unbridged.append(Unbridged(f"--container-mounts {entry}", "a pod has no mount to take away"))
        elif not re.match(r"[./]", source) or not re.match(r"[./]", target):
            unread.append(f"--container-mounts: {entry!r} is no SOURCE:TARGET of paths")
        else:
            found.append(SeenMount(target, "path", source, "", "ro" in chosen))
        if strange:
            unbridged.append(
                Unbridged(f"--container-mounts {entry}", f"a pod has no mount flag {strange[0]}")
            )
    return tuple(found)
