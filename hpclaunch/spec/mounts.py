"""The short form of a mount: SRC:DST, with :ro or :rw."""

from hpclaunch.spec.job import MountSpec
from hpclaunch.spec.scalars import shown

_FORM = "write SRC:DST or SRC:DST:ro, where SRC is a volume's name or a path with a /"


def long_form(text: str) -> MountSpec:
    """The long form of a short one. A first part without `/` (and not beginning with `.`) names a volume.

    Raises ValueError where the text is not of the form, or a path in it has a `:`.
    """
    parts = text.split(":")
    if len(parts) > 3 or (len(parts) == 3 and parts[2] not in ("ro", "rw")):
        raise ValueError(
            f"{shown(text)}: {_FORM}; a path with a ':' needs the form {{source: ..., target: ...}}"
        )
    if len(parts) < 2 or not parts[0] or not parts[1]:
        raise ValueError(f"{shown(text)}: {_FORM}")
    source, target = parts[0], parts[1]
    read_only = parts[2:] == ["ro"]
    if "/" in source or source.startswith("."):
        return MountSpec(target=target, source=source, read_only=read_only)
    return MountSpec(target=target, volume=source, read_only=read_only)


def complaint(mount: MountSpec) -> str:
    """What is wrong with a mount, or ""."""
    if (mount.volume is None) == (mount.source is None):
        return "a mount has either a volume or a source"
    if not mount.target.startswith("/"):
        return f"the target {shown(mount.target)} is a path inside the container: it must begin with /"
    if mount.source is not None:
        if not mount.source:
            return "the source is empty"
        if mount.source.startswith("~"):
            return f"~ is not expanded in {shown(mount.source)}: write the whole path"
    if mount.volume is not None and not mount.volume:
        return "the name of the volume is empty"
    return ""
