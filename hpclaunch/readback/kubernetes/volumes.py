"""What is behind a volume of a pod."""

from hpclaunch.readback.kubernetes.podmodels import Volume
from hpclaunch.values.launch import SeenMount


def behind(volume: Volume, target: str, folder: str, read_only: bool) -> SeenMount | None:
    """The volume, or a folder of it, seen at `target`; None for a kind that is not known."""
    if volume.persistent_volume_claim is not None:
        claim = volume.persistent_volume_claim
        return SeenMount(target, "claim", claim.claim_name, folder, read_only or claim.read_only)
    if volume.host_path is not None:
        return SeenMount(target, "path", volume.host_path.path, folder, read_only)
    if volume.nfs is not None:
        source = f"{volume.nfs.server}:{volume.nfs.path}"
        return SeenMount(target, "nfs", source, folder, read_only or volume.nfs.read_only)
    if volume.empty_dir is not None:
        medium = "memory" if volume.empty_dir.medium == "Memory" else ""
        return SeenMount(target, "empty", medium, folder, read_only)
    if volume.config_map is not None:  # the kubelet mounts them read-only, whatever the mount says
        return SeenMount(target, "config map", volume.config_map.name, folder, True)
    return None
