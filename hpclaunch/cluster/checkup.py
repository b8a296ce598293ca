"""A site beside its cluster, a line for each thing that `hpclaunch doctor` looks at."""

import os.path
from collections.abc import Container, Iterable, Iterator

from hpclaunch.capability.tables import pyxis_since, version
from hpclaunch.cluster.drift import Compared
from hpclaunch.spec.site import Site
from hpclaunch.values.checkup import Check
from hpclaunch.values.cluster import Cluster
from hpclaunch.values.launchplan import Common

_ON_NODE = "`hpclaunch doctor --on-node` looks on a compute node."
# Subject -> the keys of the site file that it is about.
_SUBJECTS = (
    ("Slurm's version", ("slurm.version",)),
    ("partition", ("slurm.partition",)),
    ("account", ("slurm.account",)),
    ("Pyxis", ("container", "slurm.pyxis")),
    ("MPI plugins", ("slurm.mpi_plugin",)),
)


def slurm_checks(site: Site, cluster: Cluster, compared: Compared) -> Iterator[Check]:
    """What `site check` found, by subject, and what the cluster has."""
    assert site.slurm is not None
    known = {
        "Slurm's version": cluster.version,
        "partition": site.slurm.partition or "the cluster's default",
        "account": site.slurm.account or "the user's default",
        "Pyxis": _pyxis(cluster),
        "MPI plugins": ", ".join(cluster.mpi or ()),
    }
    told: set[str] = set()
    for subject, keys in _SUBJECTS:
        drifts = [drift for drift in compared.drift if _about(drift.key, keys)]
        unseen = [line for line in compared.unchecked if _about(line.partition(":")[0], keys)]
        for drift in drifts:
            told.add(drift.key)
            yield Check(subject, "bad", drift.message, f"Change {drift.key} in the site file.")
        for line in unseen:
            yield Check(subject, "not known", line.partition(": ")[2])
        if not drifts and not unseen:
            yield Check(subject, "ok", known[subject] or "none")
    for drift in compared.drift:
        if drift.key not in told:
            yield Check(drift.key, "bad", drift.message, "`hpclaunch site check` says the same.")


def partition_checks(names: Iterable[str], cluster: Cluster) -> Iterator[Check]:
    """The partitions that a job asks for."""
    known = {partition.name: partition.state for partition in cluster.partitions}
    for name in names:
        subject = f"the job's partition {name}"
        if name not in known:
            yield Check(
                subject, "bad", f"there is none; there are: {', '.join(known)}", "Change the job file."
            )
        elif known[name] not in ("", "UP"):
            yield Check(subject, "warning", f"it is {known[name]}", "The job waits until it is up.")
        else:
            yield Check(subject, "ok", "it is there")


def namespace_checks(compared: Compared) -> Iterator[Check]:
    """What `site check` found of a namespace."""
    for drift in compared.drift:
        yield Check(drift.key, "bad", drift.message)
    for line in compared.unchecked:
        key, _, message = line.partition(": ")
        yield Check(key, "not known", message)
    if not compared.drift:
        yield Check("namespace", "ok", "it has what the site's jobs need, as far as it can be seen")


def paths_of(common: Common) -> tuple[str, ...]:
    """The paths that a job needs on the nodes: its image, where that is a file, and what it mounts."""
    if common.container is None:
        return ()
    image = (common.container.image,) if os.path.isabs(common.container.image) else ()
    return tuple(
        dict.fromkeys([*image, *(mount.source for mount in common.container.mounts if mount.source)])
    )


def path_checks(common: Common) -> Iterator[Check]:
    """Whether those paths are on this machine. Nodes may have others."""
    for path in paths_of(common):
        if os.path.exists(path):
            yield Check(path, "ok", "it is on this machine")
        else:
            yield Check(path, "warning", "it is not on this machine; compute nodes may have it", _ON_NODE)
    shared = common.container.shared if common.container is not None else ""
    if shared and os.path.exists(shared):
        yield Check(shared, "ok", "the image is imported, and jobs use this file")
    else:
        yield from _image_of_a_registry(common)


def far_path_checks(common: Common, sent: Container[str], on_node: bool) -> Iterator[Check]:
    """Those paths on a cluster that is reached by SSH. `sent` are copies of what is here; `on_node`: a
    compute node is asked for the others."""
    for path in paths_of(common):
        if path in sent:
            yield Check(path, "ok", "it is sent from here before the job is")
        elif not on_node:
            yield Check(path, "not known", "it is a path of the cluster", _ON_NODE)
    yield from _image_of_a_registry(common)


def _image_of_a_registry(common: Common) -> Iterator[Check]:
    container = common.container
    if container is not None and not os.path.isabs(container.image):
        to = f" to {container.shared}" if container.shared else ""
        found = f"whether the registry has it is seen when a node imports it{to}"
        yield Check(container.image, "not known", found)


def _about(key: str, keys: tuple[str, ...]) -> bool:
    return any(key == each or key.startswith(f"{each}.") for each in keys)


def _pyxis(cluster: Cluster) -> str:
    """Which Pyxis srun has, by its newest option."""
    if cluster.srun_options is None or "--container-image" not in cluster.srun_options:
        return "none"
    releases = [release for option, release in pyxis_since().items() if option in cluster.srun_options]
    return f"{max(releases, key=version)} or newer"
