"""Pods as YAML, each at column 0, and what is in them.

Text and no template engine: to import one takes a start longer than all that a manifest needs beside it.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hpclaunch.render import kubelet
from hpclaunch.values.pods import Pod, Security, StagingContainer, Toleration, VolumeMount
from hpclaunch.values.yamltext import comment, under, value

# A word of a command line as YAML, with a comment above it and one beside it.
Word = tuple[str, str, str]

_KIT = "hpclaunch-kit"
# Of init containers, which would else take the pod out of those that have CPUs of their own.
_GUARANTEED = "without, the pod would have no CPUs of its own (Guaranteed)"


class Process(Struct, frozen=True):
    """What a container runs; where both are empty the operator's own choice. `texts` are those of shells,
    which come to their place by name when the rest is written. `before` is what the init container runs that
    copies folders."""

    command: tuple[Word, ...] = ()
    args: tuple[Word, ...] = ()
    texts: dict[str, str] = {}
    before: "Process | None" = None


def template(pod: Pod, process: Process, restart: str = "") -> str:
    """The pod template of an MPIJob's replicas, or with `restart` (its restartPolicy) of a Job."""
    lines = []
    if pod.labels or pod.annotations:
        lines.append("metadata:")
        lines += labelled(pod.labels, pod.annotations)
    lines += ["spec:", under("\n".join(_spec(pod, process, restart)), 2)]
    return "\n".join(lines)


def labelled(labels: Iterable[tuple[str, str]], annotations: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Labels and annotations of an object's metadata, those that there are."""
    for what, pairs in (("labels", labels), ("annotations", annotations)):
        if pairs:
            yield f"  {what}:"
            yield from _mapping(pairs, 4)


def _mapping(pairs: Iterable[tuple[str, str | bool | int]], column: int) -> Iterator[str]:
    indent = " " * column
    return (f"{indent}{value(key)}: {value(what)}" for key, what in pairs)


def _words(words: Iterable[Word], column: int) -> Iterator[str]:
    indent = " " * column
    for word, above, beside in words:
        if above:
            yield f"{indent}# {comment(above)}"
        yield f"{indent}- {word} # {comment(beside)}" if beside else f"{indent}- {word}"


def _spec(pod: Pod, process: Process, restart: str) -> Iterator[str]:
    if restart:
        yield f"restartPolicy: {restart}"
    if pod.active_deadline_s is not None:
        yield f"activeDeadlineSeconds: {pod.active_deadline_s} # from when a node takes the pod"
    if pod.service_account:
        yield f"serviceAccountName: {value(pod.service_account)}"
    if not pod.uses_api:
        yield "automountServiceAccountToken: false # nothing in it talks to the API"
    if pod.service_links is not None:
        why = "" if pod.service_links else " # else each Service of the namespace puts variables into it"
        yield f"enableServiceLinks: {value(pod.service_links)}{why}"
    if pod.image_pull_secrets:
        yield "imagePullSecrets:"
        for name in pod.image_pull_secrets:
            yield f"- name: {value(name)}"
    if pod.priority_class:
        yield f"priorityClassName: {value(pod.priority_class)}"
    if pod.scheduler_name:
        yield f"schedulerName: {value(pod.scheduler_name)}"
    yield from _nodes(pod)
    rights = list(_pod_rights(pod.security))
    if rights:
        yield "securityContext:"
        yield under("\n".join(rights), 2)
    if pod.kit or pod.staging:
        yield "initContainers:"
    if pod.kit:
        yield from _kit(pod)
    if pod.staging and process.before:
        yield from _staging(pod, pod.staging, process.before)
    yield "containers:"
    yield from _container(pod, process)
    if pod.volumes or pod.kit:
        yield "volumes:"
        yield from _volumes(pod)


def _nodes(pod: Pod) -> Iterator[str]:
    """Which nodes the pod may go to, and that none of its like is there."""
    nodes = pod.nodes
    if nodes.selector:
        yield "nodeSelector:"
        yield from _mapping(nodes.selector, 2)
    if nodes.hosts or nodes.not_hosts or pod.apart:
        yield "affinity:"
    if nodes.hosts or nodes.not_hosts:
        yield "  nodeAffinity:"
        yield "    requiredDuringSchedulingIgnoredDuringExecution:"
        yield "      nodeSelectorTerms:"
        yield "      - matchExpressions:"
    for operator, hosts in (("In", nodes.hosts), ("NotIn", nodes.not_hosts)):
        if hosts:
            yield "        - key: kubernetes.io/hostname"
            yield f"          operator: {operator}"
            yield "          values:"
            for host in hosts:
                yield f"          - {value(host)}"
    if pod.apart:
        yield "  # Not beside another pod with these labels: so many workers are so many nodes."
        yield "  podAntiAffinity:"
        yield "    requiredDuringSchedulingIgnoredDuringExecution:"
        yield "    - topologyKey: kubernetes.io/hostname"
        yield "      labelSelector:"
        yield "        matchLabels:"
        yield from _mapping(pod.apart, 10)
    if nodes.tolerations:
        yield "tolerations:"
    for each in nodes.tolerations:
        yield from _toleration(each)


def _toleration(each: Toleration) -> Iterator[str]:
    dash = "- "
    for key, text in (
        ("key", each.key),
        ("operator", each.operator),
        ("value", each.value),
        ("effect", each.effect),
    ):
        if text:
            yield f"{dash}{key}: {value(text)}"
            dash = "  "


def _pod_rights(security: Security) -> Iterator[str]:
    if security.run_as_user is not None:
        yield f"runAsUser: {security.run_as_user}"
    if security.run_as_group is not None:
        yield f"runAsGroup: {security.run_as_group}"
    if security.run_as_non_root:
        yield "runAsNonRoot: true"
    if security.fs_group is not None:
        yield f"fsGroup: {security.fs_group}"
    if security.fs_group_change_policy:
        yield "# Else the kubelet goes through every file of a volume, each time."
        yield f"fsGroupChangePolicy: {value(security.fs_group_change_policy)}"
    if security.seccomp_profile:
        yield "seccompProfile:"
        yield f"  type: {value(security.seccomp_profile)}"


def _rights(security: Security, add: Iterable[str] = (), privileged: bool = False) -> Iterator[str]:
    """Of a container. Those that copy files before it get none of what it is given in addition."""
    lines = []
    if privileged:
        lines.append("privileged: true")
    if security.allow_privilege_escalation is not None:
        lines.append(f"allowPrivilegeEscalation: {value(security.allow_privilege_escalation)}")
    if security.read_only_root:
        lines.append("readOnlyRootFilesystem: true")
    if add or security.drop_all:
        lines.append("capabilities:")
    if security.drop_all:
        lines += ["  drop:", "  - ALL"]
    if add:
        lines.append("  add:")
        lines += [f"  - {value(each)}" for each in add]
    if lines:
        yield "  securityContext:"
        yield under("\n".join(lines), 4)


def _image(pod: Pod, name: str, image: str) -> Iterator[str]:
    """The beginning of a container."""
    yield f"- name: {value(name)}"
    yield f"  image: {value(image)}"
    if pod.image_pull_policy:
        yield f"  imagePullPolicy: {value(pod.image_pull_policy)}"


def _amounts(amounts: Iterable[tuple[str, str]], why: str) -> Iterator[str]:
    """Asked for and limited alike."""
    yield f"  resources: # {why}: {_GUARANTEED}"
    for what in ("limits", "requests"):
        yield f"    {what}:"
        yield from _mapping(amounts, 6)


def _kit(pod: Pod) -> Iterator[str]:
    yield "# Brings what the image of the job lacks."
    yield from _image(pod, _KIT, pod.kit)
    yield "  command:"
    yield "  - cp"
    yield "  - -R"
    yield f"  - {value(kubelet.word(pod.kit_folder + '/.'))}"
    yield f"  - /{_KIT}"
    yield from _rights(pod.security)
    yield from _amounts(pod.kit_amounts, "limits that are requests too")
    yield "  volumeMounts:"
    yield f"  - name: {_KIT}"
    yield f"    mountPath: /{_KIT}"


def _staging(pod: Pod, staging: StagingContainer, process: Process) -> Iterator[str]:
    yield from _image(pod, "hpclaunch-stage-in", pod.image)
    yield "  command:"
    yield from _words(process.command, 2)
    yield "  args:"
    yield from _words(process.args, 2)
    yield "  env:"
    yield "  - name: HPCLAUNCH_NODE # which messages name"
    yield "    valueFrom:"
    yield "      fieldRef:"
    yield "        fieldPath: spec.nodeName"
    yield "  terminationMessagePolicy: FallbackToLogsOnError # the pod's status says why it failed"
    yield from _rights(pod.security)
    if staging.amounts:
        yield from _amounts(staging.amounts, "those of the container after it")
    yield "  volumeMounts:"
    yield from _mounts(staging.mounts)


def _mounts(mounts: Iterable[VolumeMount]) -> Iterator[str]:
    for mount in mounts:
        yield f"  - name: {value(mount.name)}"
        yield f"    mountPath: {value(mount.mount_path)}"
        if mount.sub_path:
            yield f"    subPath: {value(mount.sub_path)}"
        if mount.read_only:
            yield "    readOnly: true"


def _container(pod: Pod, process: Process) -> Iterator[str]:
    yield from _image(pod, pod.container, pod.image)
    if pod.working_dir:
        yield f"  workingDir: {value(pod.working_dir)}"
    if process.command:
        yield "  command:"
        yield from _words(process.command, 2)
    if process.args:
        yield "  args:"
        yield from _words(process.args, 2)
    yield from _environment(pod)
    if pod.limits or pod.requests:
        yield "  resources:"
    for what, amounts in (("limits", pod.limits), ("requests", pod.requests)):
        if amounts:
            yield f"    {what}:"
            yield from _mapping(amounts, 6)
    yield from _rights(pod.security, pod.security.add, pod.security.privileged)
    if pod.ready_port is not None:
        yield "  readinessProbe:"
        yield "    tcpSocket:"
        yield f"      port: {pod.ready_port}"
        yield "    periodSeconds: 5"
    if pod.mounts or pod.kit:
        yield "  volumeMounts:"
    yield from _mounts(pod.mounts)
    if pod.kit:
        yield f"  - name: {_KIT}"
        yield f"    mountPath: {value(pod.kit_folder)}"
        yield "    readOnly: true"


def _environment(pod: Pod) -> Iterator[str]:
    if pod.env or pod.secrets:
        yield "  env:"
    for variable in pod.env:
        yield f"  - name: {value(variable.name)}"
        yield f"    value: {value(kubelet.word(variable.value))}"
    for secret in pod.secrets:
        yield f"  - name: {value(secret.variable)}"
        yield "    valueFrom:"
        yield "      secretKeyRef:"
        yield f"        name: {value(secret.name)}"
        yield f"        key: {value(secret.key)}"
        if secret.optional:
            yield "        optional: true"


def _volumes(pod: Pod) -> Iterator[str]:
    for volume in pod.volumes:
        if volume.why:
            yield f"# {comment(volume.why)}"
        yield f"- name: {value(volume.name)}"
        yield f"  {volume.kind}:{'' if volume.fields else ' {}'}"
        for key, what in volume.fields:
            yield f"    {key}: {value(what)}"
    if pod.kit:
        yield f"- name: {_KIT}"
        yield "  emptyDir: {}"
