"""The job's mounts as volumes of pods: what is behind each, and what the API would refuse."""

from typing import Any

import pytest
from pod_plans import planned, refused, target, warned, worker

VOLUMES: dict[str, Any] = {
    "data": {"claim": "data-pvc", "folder": "sets/imagenet", "path": "/raid/datasets"},
    "home": {"path": "/home"},
    "motd": {"path": "/etc/motd", "file": True},
    "results": {"nfs": {"server": "nfs.example.com", "path": "/export/results"}},
    "settings": {"config_map": "training-settings"},
    "scratch": {"empty_dir": {}},
    "ram": {"empty_dir": {"memory": True, "size": "16Gi"}},
}


def seen(job: dict[str, Any], kubernetes: dict[str, Any] | None = None) -> dict[str, tuple[Any, ...]]:
    """Target -> kind of source, its fields, folder in it, read-only; without /dev/shm."""
    pod = worker(job, kubernetes, volumes=VOLUMES)
    sources = {volume.name: volume for volume in pod.volumes}
    assert len(sources) == len(pod.volumes)
    return {
        mount.mount_path: (
            sources[mount.name].kind,
            dict(sources[mount.name].fields),
            mount.sub_path,
            mount.read_only,
        )
        for mount in pod.mounts
        if mount.mount_path != "/dev/shm"
    }


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        # The claim is what the site wrote for Kubernetes; the path is there for Slurm.
        ("data:/x:ro", ("persistentVolumeClaim", {"claimName": "data-pvc"}, "sets/imagenet", True)),
        ("data:/x", ("persistentVolumeClaim", {"claimName": "data-pvc"}, "sets/imagenet", False)),
        # With a type the kubelet refuses what is not there, and does not make an empty folder.
        ("home:/x", ("hostPath", {"path": "/home", "type": "Directory"}, "", False)),
        ("motd:/x:ro", ("hostPath", {"path": "/etc/motd", "type": "File"}, "", True)),
        ("/raid:/x:ro", ("hostPath", {"path": "/raid", "type": "Directory"}, "", True)),
        ("./here:/x", ("hostPath", {"path": "/home/me/here", "type": "Directory"}, "", False)),
        (
            {"source": "/a:b", "target": "/x", "file": True},
            ("hostPath", {"path": "/a:b", "type": "File"}, "", False),
        ),
        ("results:/x", ("nfs", {"server": "nfs.example.com", "path": "/export/results"}, "", False)),
        ("settings:/x:ro", ("configMap", {"name": "training-settings"}, "", True)),
        ("scratch:/x", ("emptyDir", {}, "", False)),
        ("ram:/x", ("emptyDir", {"medium": "Memory", "sizeLimit": "16Gi"}, "", False)),
    ],
)
@pytest.mark.parametrize("nodes", [1, 2])
def test_what_is_behind_a_mount(mount: Any, expected: tuple[Any, ...], nodes: int) -> None:
    assert seen({"nodes": nodes, "mounts": [mount]}) == {"/x": expected}


def test_one_volume_in_several_places_is_one_volume() -> None:
    job = {"mounts": ["home:/a:ro", "home:/b", "/raid:/c", "/raid:/d:ro"]}
    found = seen(job)
    assert [entry[3] for entry in found.values()] == [True, False, False, True]
    assert {entry[1]["path"] for entry in found.values()} == {"/home", "/raid"}


def test_an_unknown_volume_is_refused_with_those_that_there_are() -> None:
    found = refused({"mounts": ["home:/a", "hme:/b"]}, volumes=VOLUMES)
    message = found["job", ("mounts", 1)]
    assert [name for name in VOLUMES if name in message] == list(VOLUMES)


def test_the_jobs_own_shared_memory() -> None:
    """The API refuses two mounts of one target."""
    for folder in ("/dev/shm/", "//dev/shm"):
        pod = worker({"mounts": [f"ram:{folder}"]}, volumes=VOLUMES)
        assert [(mount.name, mount.mount_path) for mount in pod.mounts] == [("ram", folder)]
    assert [volume.name for volume in pod.volumes] == ["ram"]


KIT = {"sshd": {"kit": "registry.example.com/ssh:1", "folder": "/opt/ssh"}}
EXEC = {"mpi_operator": "0.2.3", "mpijob": {"api": "v1alpha2"}}
ROOTLESS = {"profile": "rootless", "run_as": {"user": 1000, "home": "/home/mpi/"}}


@pytest.mark.parametrize(
    ("target_folder", "site", "free"),
    [
        ("/etc/mpi", {}, False),
        ("/etc/mpi/", EXEC, False),
        ("//etc/mpi", {}, False),
        ("/root/.ssh", {}, False),
        ("/root/.ssh", EXEC, True),
        ("/home/mpi/.ssh", ROOTLESS, False),
        ("/root/.ssh", ROOTLESS, True),
        ("/opt/ssh", KIT, False),
        ("/opt/ssh", {}, True),
        ("/root", {}, True),
    ],
)
def test_folders_that_others_mount(target_folder: str, site: dict[str, Any], free: bool) -> None:
    job = {"mounts": ["home:/a", f"home:{target_folder}"]}
    if free:
        assert target_folder in seen(job, site)
    else:
        assert list(refused(job, site, volumes=VOLUMES)) == [("job", ("mounts", 1))]
    # One pod has no operator, and nobody who reaches it by ssh.
    assert target_folder in seen({**job, "nodes": 1}, site)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("target_folder", ["/", "//", "/proc", "/data/.."])
def test_where_no_runtime_mounts(target_folder: str, nodes: int) -> None:
    job = {"nodes": nodes, "mounts": [f"home:{target_folder}"]}
    assert list(refused(job, volumes=VOLUMES)) == [("job", ("mounts", 0))]


def test_the_launcher_has_no_data() -> None:
    launcher = target(planned({"mounts": ["home:/a"]}, volumes=VOLUMES)).launcher
    assert launcher is not None
    assert (launcher.volumes, launcher.mounts) == ((), ())


def test_a_kit_of_ssh_for_images_that_have_none() -> None:
    job = {"image": "nvcr.io/nvidia/pytorch:24.07-py3"}
    pods = target(planned(job, KIT))
    for pod in (pods.worker, pods.launcher):
        assert pod is not None
        assert (pod.kit, pod.kit_folder) == ("registry.example.com/ssh:1", "/opt/ssh")
    for settings in (pods.launch, pods.serve):
        assert "kit=/opt/ssh" in [option.text for option in settings]
    assert not [warning for warning in planned(job, KIT).warnings if "sshd" in warning]
    # Without it most of NVIDIA's images cannot be workers, but where kubectl exec starts the ranks.
    assert warned(planned(job), "no sshd")
    for more, site in (({}, EXEC), ({"nodes": 1}, {})):
        assert not [warning for warning in planned({**job, **more}, site).warnings if "sshd" in warning]
    assert target(planned(job, {**KIT, **EXEC})).worker.kit == ""


def test_a_launcher_asks_the_api_where_it_reaches_workers_by_kubectl_exec() -> None:
    by_ssh, by_exec = target(planned()), target(planned(kubernetes=EXEC))
    for pods, wanted in ((by_ssh, False), (by_exec, True)):
        assert pods.launcher is not None
        assert (pods.launcher.uses_api, pods.worker.uses_api) == (wanted, False)
