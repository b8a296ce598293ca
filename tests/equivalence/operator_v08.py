"""What becomes of a manifest: the pods that the MPI operator makes of an MPIJob v2beta1
(github.com/kubeflow/mpi-operator v0.8.0, pkg/controller/mpi_job_controller.go), the one pod of a Job, and
what the kubelet and the container runtime give a container to begin with.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubelet_expansion import argv, environment
from msgspec import Struct
from pods_here import Container, Pods

HOSTFILE = "/etc/mpi/hostfile"
# getServiceEnvVarMap of the kubelet (pkg/kubelet/kubelet_pods.go): that of the API server is there always.
_API = {
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "KUBERNETES_PORT": "tcp://10.96.0.1:443",
    "KUBERNETES_PORT_443_TCP": "tcp://10.96.0.1:443",
}
# Of another Service in the namespace, which a pod gets unless it says that it wants none.
_SERVICE_LINKS = {"REDIS_SERVICE_HOST": "10.96.0.7", "REDIS_PORT": "tcp://10.96.0.7:6379"}
_SSH = "-o ConnectionAttempts=10"


class Image(Struct, frozen=True):
    """A made-up image: its ENV and WORKDIR, and the files that are in it."""

    env: Mapping[str, str]
    workdir: str
    mounts: tuple[tuple[Path, str], ...]


def run(
    manifest: Mapping[str, Any],
    secrets: Mapping[tuple[str, str], str],
    image: Image,
    nodes: list[tuple[tuple[Path, str], ...]],
    folder: Path,
) -> tuple[int, str]:
    """The exit status of the job and what it wrote. `nodes` are files, of each node that the workers get."""
    with Pods(folder) as pods:
        if manifest["kind"] == "Job":
            template = manifest["spec"]["template"]["spec"]
            host = manifest["metadata"]["name"] + "-x7k2p"
            pods.start(1, _container(template, host, {}, secrets, image, nodes[0]))
        else:
            host = _start_mpi_job(manifest, secrets, image, nodes, pods)
        status = pods.wait(host)
        return status, pods.logs()


def _start_mpi_job(
    manifest: Mapping[str, Any],
    secrets: Mapping[tuple[str, str], str],
    image: Image,
    nodes: list[tuple[tuple[Path, str], ...]],
    pods: Pods,
) -> str:
    spec, meta = manifest["spec"], manifest["metadata"]
    assert manifest["apiVersion"] == "kubeflow.org/v2beta1"
    # The launcher comes after the workers, so that this is all of its waiting.
    assert spec["launcherCreationPolicy"] == "WaitForWorkersReady"
    replicas = {role: part["template"]["spec"] for role, part in spec["mpiReplicaSpecs"].items()}
    hosts = [
        f"{meta['name']}-worker-{index}" for index in range(spec["mpiReplicaSpecs"]["Worker"]["replicas"])
    ]
    names = {host: f"{host}.{meta['name']}.{meta['namespace']}.svc" for host in hosts}
    launcher = f"{meta['name']}-launcher"

    files = pods.folder / "files"
    (files / "ssh").mkdir(parents=True)
    _keys(files / "ssh")
    implementation = spec["mpiImplementation"]
    line = "{} slots={}\n" if implementation == "OpenMPI" else "{}:{}\n"
    text = "".join(line.format(name, spec["slotsPerWorker"]) for name in names.values())
    (files / "hostfile").write_text(text, encoding="utf-8")
    # In the place of the cluster's DNS, with the pods' own lines.
    addresses = [f"10.99.0.{number} {names[host]} {host}" for number, host in enumerate(hosts, 1)]
    own = f"10.99.0.{len(hosts) + 1} {launcher}.{meta['name']}.{meta['namespace']}.svc {launcher}"
    (files / "hosts").write_text("\n".join(["127.0.0.1 localhost", *addresses, own, ""]), encoding="utf-8")
    shared = ((files / "ssh", spec["sshAuthMountPath"]), (files / "hosts", "/etc/hosts"))

    role = {"K_MPI_JOB_ROLE": "worker"}
    for number, (host, node) in enumerate(zip(hosts, nodes, strict=True), 1):
        pods.start(number, _container(replicas["Worker"], host, role, secrets, image, (*shared, *node)))
    probe = replicas["Worker"]["containers"][0]["readinessProbe"]["tcpSocket"]["port"]
    pods.await_port(range(1, len(hosts) + 1), probe)

    added = {"K_MPI_JOB_ROLE": "launcher", **_OF_LAUNCHER[implementation]}
    if implementation == "OpenMPI":
        added["OMPI_MCA_orte_set_default_slots"] = str(spec["slotsPerWorker"])
    added |= {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    mounts = (*shared, (files / "hostfile", HOSTFILE))
    pods.start(len(hosts) + 1, _container(replicas["Launcher"], launcher, added, secrets, image, mounts))
    return launcher


_OF_LAUNCHER = {
    "OpenMPI": {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": HOSTFILE,
        "OMPI_MCA_plm_rsh_args": _SSH,
    },
    "MPICH": {"HYDRA_HOST_FILE": HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _SSH},
}


def _container(
    template: Mapping[str, Any],
    host: str,
    added: Mapping[str, str],
    secrets: Mapping[tuple[str, str], str],
    image: Image,
    mounts: tuple[tuple[Path, str], ...],
) -> Container:
    """The pod's one container, with what the operator adds to its env."""
    container = template["containers"][0]
    own = [*container.get("env", ()), *({"name": name, "value": value} for name, value in added.items())]
    services = _API | (_SERVICE_LINKS if template.get("enableServiceLinks", True) else {})
    variables = environment({"env": own}, secrets, services)
    return Container(
        host=host,
        argv=argv(container, variables),
        # The image's come first; the runtime sets the host's name, and HOME by /etc/passwd.
        env={"HOME": "/root", **image.env, "HOSTNAME": host, **variables},
        cwd=container.get("workingDir") or image.workdir,
        mounts=(*image.mounts, *mounts),
    )


def _keys(folder: Path) -> None:
    """The Secret that the operator makes for ssh, as it is mounted."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", folder / "id_rsa"], check=True)
    (folder / "authorized_keys").write_bytes((folder / "id_rsa.pub").read_bytes())
