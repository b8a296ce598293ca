"""The job's mounts as volumes of the pods."""

from collections.abc import Mapping, Sequence

from hpclaunch.plan.findings import Findings
from hpclaunch.plan.kubernetes import names
from hpclaunch.plan.mounts import in_container
from hpclaunch.spec.job import Job
from hpclaunch.spec.mounts import long_form
from hpclaunch.spec.site import Site, Volume
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Mount
from hpclaunch.values.pods import PodVolume, VolumeMount

SHM = "dshm"
SHM_TARGET = "/dev/shm"
_PATH = "path"
# What else pods have: of the MPI operator (configVolumeName and others in its mpi_job_controller.go), and of
# the image that brings ssh.
RESERVED = frozenset({SHM, "mpi-job-config", "mpi-job-kubectl", "ssh-auth", "hpclaunch-kit"})
# Where no container runtime mounts a volume (rootfs_linux.go of runc): such a pod never starts.
_RUNTIMES = {"/": "the container runtime, from the image", "/proc": "the container runtime"}

Volumes = tuple[tuple[PodVolume, ...], tuple[VolumeMount, ...]]


def of_job(
    job: Job, site: Site, mounts: Sequence[Mount], taken: Mapping[str, str], found: Findings
) -> Volumes:
    """Volumes and where they are mounted. `mounts` are the job's, resolved; `taken` are folders of the
    container that others mount, and who does."""
    specs = [long_form(entry) if isinstance(entry, str) else entry for entry in job.mounts]
    named = [(mount.volume, ("mounts", index)) for index, mount in enumerate(mounts) if mount.volume]
    labels, problems = names.unique(named, "volumes", "volume")
    paths = (f"{_PATH}-{index}" for index, mount in enumerate(mounts) if not mount.volume)
    others = {*paths, *RESERVED}
    found.problems += problems
    found.problems += [
        Problem(f"pods have another volume called {labels[name]}: rename the site's {name}", "job", path)
        for name, path in named
        if labels[name] in others
    ]
    volumes: dict[str, PodVolume] = {}
    placed = []
    for index, (mount, spec) in enumerate(zip(mounts, specs, strict=False)):
        volume = site.volumes[mount.volume] if mount.volume else Volume(path=mount.source, file=spec.file)
        name = labels[mount.volume] if mount.volume else f"{_PATH}-{index}"
        volumes.setdefault(name, source(name, volume))
        placed.append(VolumeMount(name, mount.target, folder(volume), mount.read_only))
        if volume.claim is not None and volume.access == "ReadOnlyMany" and not mount.read_only:
            message = f"{mount.volume} can only be read at site {site.name} (ReadOnlyMany): mount it with :ro"
            found.refuse(message, "mounts", index)
        target = in_container(mount.target)
        by = taken.get(target) or _RUNTIMES.get(target)
        if by is not None:
            found.refuse(f"{mount.target} is mounted by {by}: choose another target", "mounts", index)
    return tuple(volumes.values()), tuple(placed)


def shm(size: str) -> tuple[PodVolume, VolumeMount]:
    """/dev/shm in memory: the runtime's own has 64 MiB, with which NCCL and data loaders fail."""
    fields: tuple[tuple[str, str], ...] = (("medium", "Memory"),)
    if size:
        fields += (("sizeLimit", size),)
    why = "NCCL and data loaders need more than the runtime's 64 MiB; it counts towards the pod's memory"
    return PodVolume(SHM, "emptyDir", fields, why), VolumeMount(SHM, SHM_TARGET)


def source(name: str, volume: Volume) -> PodVolume:
    """What is behind a volume, in the API's words. A claim is before all else, as the site wrote it for
    Kubernetes; a path that is there for Slurm too is the last."""
    if volume.claim is not None:
        return PodVolume(name, "persistentVolumeClaim", (("claimName", volume.claim),))
    if volume.nfs is not None:
        return PodVolume(name, "nfs", (("server", volume.nfs.server), ("path", volume.nfs.path)))
    if volume.config_map is not None:
        return PodVolume(name, "configMap", (("name", volume.config_map),))
    if volume.empty_dir is not None:
        fields: tuple[tuple[str, str], ...] = (("medium", "Memory"),) if volume.empty_dir.memory else ()
        if volume.empty_dir.size is not None:
            fields += (("sizeLimit", volume.empty_dir.size),)
        return PodVolume(name, "emptyDir", fields)
    # With a type the kubelet refuses a path that is not there; without, it would make an empty folder.
    kind = "File" if volume.file else "Directory"
    return PodVolume(name, "hostPath", (("path", volume.path or ""), ("type", kind)))


def folder(volume: Volume) -> str:
    """The folder within what is behind a volume that is mounted, "" for all of it."""
    return volume.folder or "" if volume.claim is not None else ""
