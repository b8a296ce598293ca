"""What a pod gives its container: variables, mounts, amounts, rights, and a node to itself."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hpclaunch.readback.kubelet import expand
from hpclaunch.readback.kubernetes import staging, volumes
from hpclaunch.readback.kubernetes.podmodels import Container, EnvEntry, PodSpec, Template
from hpclaunch.values.launch import SeenMount, SeenVariable, Unbridged
from hpclaunch.values.quantity import is_count

_HOSTNAME = "kubernetes.io/hostname"
_SHM = "/dev/shm"
NETWORKS = "k8s.v1.cni.cncf.io/networks"  # Multus
_OWNED = ("cpu", "memory")


def variables(container: Container, unread: list[str]) -> dict[str, SeenVariable]:
    """The container's variables by name, expanded; of two with one name the last counts."""
    known: dict[str, str] = {}
    found: dict[str, SeenVariable] = {}
    for entry in container.env:
        seen = _variable(entry, known, f"{container.name}: env {entry.name}", unread)
        found[entry.name] = seen
        if seen.source == "text":
            known[entry.name] = seen.value
        else:
            known.pop(entry.name, None)
    return found


def words(
    container: Container, known: Mapping[str, SeenVariable], unread: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The container's command and args as its process gets them."""
    texts = {name: each.value for name, each in known.items() if each.source == "text"}
    for name, each in known.items():
        if each.source != "text" and any(
            f"$({name})" in word for word in (*container.command, *container.args)
        ):
            unread.append(
                f"{container.name}: the value of {name} stands in its command, and the text has it not"
            )
    return (
        tuple(expand(word, texts) for word in container.command),
        tuple(expand(word, texts) for word in container.args),
    )


def mounts(pod: PodSpec, container: Container, kit: str, unread: list[str]) -> tuple[SeenMount, ...]:
    """The data that the container sees. Not data are /dev/shm and the folder that an init container copies
    ssh to (`kit`, "" for none)."""
    known = {volume.name: volume for volume in pod.volumes}
    found = []
    for index, mount in enumerate(container.volume_mounts):
        here = f"{container.name}.volumeMounts[{index}] ({mount.mount_path})"
        volume = known.get(mount.name)
        if volume is None:
            unread.append(f"{here}: the pod has no volume {mount.name!r}")
            continue
        if volume.empty_dir is not None and mount.mount_path in (_SHM, kit):
            continue
        seen = volumes.behind(volume, mount.mount_path, mount.sub_path, mount.read_only)
        if seen is None:
            unread.append(f"{here}: what is behind the volume {mount.name!r} is not known")
        else:
            found.append(seen)
    return tuple(found)


def gpus(container: Container, more: Iterable[str]) -> tuple[int, str, tuple[tuple[str, str], ...]]:
    """How many GPUs the limits give, their kind where they are MIG slices, and the other amounts. `more` are
    names of resources that are GPUs on this site."""
    resources = container.resources
    count, kind, others = 0, "", []
    for name, amount in (resources.limits or resources.requests).items():
        last = name.rpartition("/")[2]
        if name in more or last in ("gpu", "gpu.shared") or last.startswith("mig-"):
            count += int(amount) if is_count(str(amount)) else 0
            kind = last.removeprefix("mig-") if last.startswith("mig-") else kind
        else:
            others.append((name, str(amount)))
    return count, kind, tuple(others)


def shm(pod: PodSpec, container: Container) -> tuple[tuple[str, str], ...]:
    """The size of /dev/shm, where it is in memory; without one of its own it may fill the pod's."""
    mounted = {mount.name for mount in container.volume_mounts if mount.mount_path == _SHM}
    folders = (volume.empty_dir for volume in pod.volumes if volume.name in mounted)
    sizes = (folder.size_limit for folder in folders if folder and folder.medium == "Memory")
    return tuple((_SHM, str(size) or "the limit of memory") for size in sizes)


def where(template: Template) -> tuple[tuple[str, str], ...]:
    """What chooses the pod's nodes, its networks and its queue."""
    pod = template.spec
    choices = {
        "nodeSelector": pod.node_selector,
        "nodeAffinity": pod.affinity.node_affinity,
        "podAffinity": pod.affinity.pod_affinity,
        "tolerations": pod.tolerations,
        "schedulerName": pod.scheduler_name,
        "priorityClassName": pod.priority_class_name,
        "serviceAccountName": pod.service_account_name or pod.service_account,
        "images of init containers": ", ".join(each.image for each in pod.init_containers),
        "networks": template.metadata.annotations.get(NETWORKS),
    }
    return tuple(
        (name, each if isinstance(each, str) else msgspec.json.encode(each).decode())
        for name, each in choices.items()
        if each
    )


def is_guaranteed(pod: PodSpec) -> bool:
    """Whether the kubelet's static CPU manager gives each container CPUs of its own: limits of whole CPUs and
    memory, and no other requests than these."""
    for container in (*pod.containers, *pod.init_containers):
        resources = container.resources
        for name in _OWNED:
            limit = resources.limits.get(name)
            if limit is None or str(resources.requests.get(name, limit)) != str(limit):
                return False
    return True


def is_apart(template: Template, labels: Mapping[str, str]) -> bool:
    """Whether no two pods with these labels share a node: required anti-affinity by host name to a label that
    they have, by equality."""
    anti = template.spec.affinity.pod_anti_affinity
    for term in anti.required_during_scheduling_ignored_during_execution:
        selector = term.label_selector
        matches = all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
            each.operator == "In" and labels.get(each.key) in each.values
            for each in selector.match_expressions
        )
        if (
            term.topology_key == _HOSTNAME
            and matches
            and (selector.match_labels or selector.match_expressions)
        ):
            return True
    return False


def rights(pod: PodSpec, container: Container) -> tuple[str, ...]:
    """The rights that differ from a runtime's own, in words."""
    own, shared = container.security_context, pod.security_context
    group = shared.run_as_group if own.run_as_group is None else own.run_as_group
    found = [f"capability {name}" for name in own.capabilities.add]
    found += [f"without capability {name}" for name in own.capabilities.drop]
    number = user(pod, container)
    found += [f"user {number}"] if number is not None else []
    found += [f"group {group}"] if group is not None else []
    found += [f"group of volumes {shared.fs_group}"] if shared.fs_group is not None else []
    found += [f"also group {each}" for each in shared.supplemental_groups]
    flags = (
        ("privileged", own.privileged),
        ("read-only root filesystem", own.read_only_root_filesystem),
        ("no new privileges", own.allow_privilege_escalation is False),
        ("the node's network", pod.host_network),
        ("the node's processes", pod.host_pid),
        ("the node's shared memory", pod.host_ipc),
    )
    return tuple(sorted([*found, *(name for name, has in flags if has)]))


def besides(pod: PodSpec, container: Container, kit: str) -> list[Unbridged]:
    """What else happens in the pod: other containers. The init container that brings ssh copies a folder into
    the volume that is at `kit` ("": there is none)."""
    found = [
        Unbridged(f"the container {other.name}", "it runs beside the ranks")
        for other in pod.containers
        if other.name != container.name
    ]
    volumes = {mount.name for mount in container.volume_mounts if kit and mount.mount_path == kit}
    bringing = [each for each in pod.init_containers if _brings(each, volumes, kit)]
    found += [
        Unbridged(f"the init container {other.name}", "what it does before the ranks is not known")
        for other in pod.init_containers
        if other not in bringing and not staging.is_own(other, container)
    ]
    if kit and not bringing:
        found.append(Unbridged(f"kit={kit}", "no init container brings what should be there"))
    return found


def _brings(container: Container, volumes: set[str], kit: str) -> bool:
    targets = [mount.mount_path for mount in container.volume_mounts]
    copying = (*container.command, *container.args) == ("cp", "-R", f"{kit}/.", *targets)
    return bool(volumes) and copying and {mount.name for mount in container.volume_mounts} == volumes


def memory_of_its_own(pod: PodSpec, container: Container) -> list[Unbridged]:
    """Whether /dev/shm is more than the runtime's own."""
    if shm(pod, container) or pod.host_ipc:
        return []
    why = "a runtime's own has 64 MiB, with which NCCL and data loaders fail; a node's has half its memory"
    return [Unbridged("no /dev/shm in memory", why)]


def user(pod: PodSpec, container: Container) -> int | None:
    """Who the container runs as, None for the image's own user."""
    own = container.security_context.run_as_user
    return pod.security_context.run_as_user if own is None else own


def _variable(entry: EnvEntry, known: Mapping[str, str], where: str, unread: list[str]) -> SeenVariable:
    source = entry.value_from
    if source is None:
        return SeenVariable(entry.name, expand(entry.value, known))
    if source.secret_key_ref is not None:
        # hpclaunch makes those optional that the submitter's shell may lack (`inherit`).
        kind = "submitter" if source.secret_key_ref.optional else "secret"
        key = f"{source.secret_key_ref.name}/{source.secret_key_ref.key}"
        return SeenVariable(entry.name, key, kind)  # type: ignore[arg-type]
    if source.field_ref is not None:
        return SeenVariable(entry.name, source.field_ref.field_path, "pod")
    unread.append(f"{where}: where its value is from is not known")
    return SeenVariable(entry.name, "", "pod")


def main_container(pod: PodSpec, name: str = "") -> Container | None:
    """The container that the operator wires: the one of that name, else the first."""
    containers: Sequence[Container] = pod.containers
    return next((each for each in containers if each.name == name), containers[0] if containers else None)
