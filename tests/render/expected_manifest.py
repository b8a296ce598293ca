"""What a manifest must hold, written down from the API's types: core/v1 and batch/v1, and MPIJob in
kubeflow/mpi-operator v0.3.0 (pkg/apis/kubeflow/v1alpha2, v1) and v0.8.0 (v2beta1).
"""

from typing import Any

from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import (
    KubernetesTarget,
    MpiJob,
    NodeChoice,
    Pod,
    PodVolume,
    RunPolicy,
    Security,
    StagingContainer,
    VolumeMount,
)

Json = dict[str, Any]


def manifest(target: KubernetesTarget) -> Json:
    """All but the commands of containers, and their args, which stand as they are found."""
    metadata = _given(
        name=target.name,
        namespace=target.namespace,
        labels=dict(target.labels),
        annotations=dict(target.annotations),
    )
    run = target.run_policy
    if target.mpi_job is None:
        spec = {**_end(run), **_ttl(run), "template": pod(target.worker)}
        spec["template"]["spec"]["restartPolicy"] = "Never"
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    assert target.launcher
    spec = {
        "slotsPerWorker": target.mpi_job.slots,
        **_of_version(target.mpi_job, run, target.worker.container),
        "mpiReplicaSpecs": {
            "Launcher": {
                "replicas": 1,
                "restartPolicy": "Never",
                "template": pod(target.launcher),
            },
            "Worker": {
                "replicas": target.mpi_job.workers,
                "restartPolicy": "Never",
                "template": pod(target.worker),
            },
        },
    }
    return {
        "apiVersion": f"kubeflow.org/{target.mpi_job.api}",
        "kind": "MPIJob",
        "metadata": metadata,
        "spec": spec,
    }


def argv(target: KubernetesTarget, common: Common, launcher: str, wrapper: str, alone: str = "") -> list[str]:
    """The words of the container that starts the ranks, or is the one rank, for these texts."""
    rank = ["/bin/sh", "-c", wrapper, "hpclaunch-rank"]
    rank += [*(option.text for option in target.wrapper), "--"]
    rank += [*(f"{variable.name}={variable.value}" for variable in common.environment), "--"]
    rank += [f"={word}" for word in common.argv]
    if not target.starter and not target.stays:
        return rank
    settings = [option.text for option in target.launch]
    beside = _beside(target, common, alone) if target.stays else []
    return ["/bin/sh", "-c", launcher, "hpclaunch-launcher", *settings, "--", *target.starter, *rank, *beside]


def _beside(target: KubernetesTarget, common: Common, alone: str) -> list[str]:
    """The words of steps and trials, with the text of a wrapper that is alone on its node."""
    words = ["--"]
    if target.alone:
        words += ["/bin/sh", "-c", alone, "hpclaunch-step", *(option.text for option in target.alone)]
    words.append("--")
    if common.trials:
        words.append(f"trials={common.trials.count}")
        if common.trials.seed:
            words.append(f"seed={common.trials.seed}")
            words += [] if common.trials.first_seed is None else [f"first_seed={common.trials.first_seed}"]
        words += ["keep_going=1"] if common.trials.keep_going else []
    for step in common.steps:
        words += [
            f"{step.when}={step.per}",
            f"title={step.title}",
            *(["optional=1"] if step.optional else []),
        ]
        words += [f"={word}" for word in step.argv]
    return words


def pod(pod: Pod) -> Json:
    """A pod template."""
    spec = _given(
        activeDeadlineSeconds=pod.active_deadline_s,
        serviceAccountName=pod.service_account,
        automountServiceAccountToken=None if pod.uses_api else False,
        enableServiceLinks=pod.service_links,
        imagePullSecrets=[{"name": name} for name in pod.image_pull_secrets],
        priorityClassName=pod.priority_class,
        schedulerName=pod.scheduler_name,
        nodeSelector=dict(pod.nodes.selector),
        affinity=_affinity(pod.nodes, dict(pod.apart)),
        tolerations=[
            _given(key=each.key, operator=each.operator, value=each.value, effect=each.effect)
            for each in pod.nodes.tolerations
        ],
        securityContext=_of_pod(pod.security),
        initContainers=[
            *([_kit(pod)] if pod.kit else []),
            *([_staging(pod, pod.staging)] if pod.staging else []),
        ],
        containers=[_container(pod)],
        volumes=[*map(_volume, pod.volumes), *([{"name": _KIT, "emptyDir": {}}] if pod.kit else [])],
    )
    metadata = _given(labels=dict(pod.labels), annotations=dict(pod.annotations))
    return _given(metadata=metadata, spec=spec)


_KIT = "hpclaunch-kit"


def _given(**fields: Any) -> Json:
    """Without fields that are empty; false and 0 are not."""
    return {name: field for name, field in fields.items() if field not in (None, "", [], {})}


def _of_version(job: MpiJob, run: RunPolicy, container: str) -> Json:
    clean = {"cleanPodPolicy": run.clean_pod_policy}
    if job.api == "v1alpha2":
        return {"mainContainer": container, **clean, **_end(run)}
    if job.api == "v1":
        return {"mainContainer": container, **clean, "runPolicy": {**_ttl(run), **_end(run), **_gang(run)}}
    return _given(
        mpiImplementation=job.implementation,
        sshAuthMountPath=job.ssh_auth_mount_path,
        launcherCreationPolicy=job.launcher_creation_policy,
        runPolicy={**clean, **_ttl(run), **_end(run), **_gang(run)},
    )


def _ttl(run: RunPolicy) -> Json:
    return _given(ttlSecondsAfterFinished=run.ttl_s)


def _end(run: RunPolicy) -> Json:
    return {"backoffLimit": run.backoff_limit, **_given(activeDeadlineSeconds=run.active_deadline_s)}


def _gang(run: RunPolicy) -> Json:
    if run.min_available is None:
        return {}
    of = _given(minAvailable=run.min_available, queue=run.queue, priorityClass=run.priority_class)
    return {"schedulingPolicy": of}


def _affinity(nodes: NodeChoice, apart: dict[str, str]) -> Json:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    host = "kubernetes.io/hostname"
    hosts = [
        {"key": host, "operator": operator, "values": list(names)}
        for operator, names in (("In", nodes.hosts), ("NotIn", nodes.not_hosts))
        if names
    ]
    return _given(
        nodeAffinity={required: {"nodeSelectorTerms": [{"matchExpressions": hosts}]}} if hosts else None,
        podAntiAffinity={required: [{"topologyKey": host, "labelSelector": {"matchLabels": apart}}]}
        if apart
        else None,
    )


def _of_pod(security: Security) -> Json:
    return _given(
        runAsUser=security.run_as_user,
        runAsGroup=security.run_as_group,
        runAsNonRoot=security.run_as_non_root or None,
        fsGroup=security.fs_group,
        fsGroupChangePolicy=security.fs_group_change_policy,
        seccompProfile=_given(type=security.seccomp_profile),
    )


def _of_container(security: Security, add: list[str], privileged: bool) -> Json:
    return _given(
        privileged=privileged or None,
        allowPrivilegeEscalation=security.allow_privilege_escalation,
        readOnlyRootFilesystem=security.read_only_root or None,
        capabilities=_given(add=add, drop=["ALL"] if security.drop_all else []),
    )


def _kit(pod: Pod) -> Json:
    amounts = dict(pod.kit_amounts)
    return _given(
        name=_KIT,
        image=pod.kit,
        imagePullPolicy=pod.image_pull_policy,
        securityContext=_of_container(pod.security, [], False),
        resources={"limits": amounts, "requests": amounts},
        volumeMounts=[{"name": _KIT, "mountPath": f"/{_KIT}"}],
    )


def _staging(pod: Pod, staging: StagingContainer) -> Json:
    """Its command and args stand as they are found, too."""
    amounts = dict(staging.amounts)
    return _given(
        name="hpclaunch-stage-in",
        image=pod.image,
        imagePullPolicy=pod.image_pull_policy,
        terminationMessagePolicy="FallbackToLogsOnError",
        securityContext=_of_container(pod.security, [], False),
        resources={"limits": amounts, "requests": amounts} if amounts else {},
        volumeMounts=[*map(_mount, staging.mounts)],
    )


def _mount(each: VolumeMount) -> Json:
    return _given(
        name=each.name, mountPath=each.mount_path, subPath=each.sub_path, readOnly=each.read_only or None
    )


def _container(pod: Pod) -> Json:
    kit = [{"name": _KIT, "mountPath": pod.kit_folder, "readOnly": True}] if pod.kit else []
    return _given(
        name=pod.container,
        image=pod.image,
        imagePullPolicy=pod.image_pull_policy,
        workingDir=pod.working_dir,
        resources=_given(limits=dict(pod.limits), requests=dict(pod.requests)),
        securityContext=_of_container(pod.security, list(pod.security.add), pod.security.privileged),
        readinessProbe={"tcpSocket": {"port": pod.ready_port}, "periodSeconds": 5}
        if pod.ready_port
        else None,
        volumeMounts=[*map(_mount, pod.mounts), *kit],
    )


def _volume(volume: PodVolume) -> Json:
    return {"name": volume.name, volume.kind: dict(volume.fields)}
