"""What a site file alone tells to be wrong in single keys of its Kubernetes cluster.

Its labels and annotations, and what only exports take, are in modules of their own, for sites that have them.
"""

from collections.abc import Callable
from functools import partial

from hpclaunch.spec import apiwords, check_text, findings, scalars
from hpclaunch.spec.check_job import MAX_USER
from hpclaunch.spec.kubernetes import (
    Allocatable,
    KubernetesSite,
    LauncherPod,
    RunAs,
    SecretKey,
    Sshd,
    Toleration,
)
from hpclaunch.spec.scalars import shown
from hpclaunch.spec.site import NodeGroup
from hpclaunch.values import pci, quantity
from hpclaunch.values.errors import Path, Problem

_SITE = ("kubernetes",)

_LARGEST_PORT = 65_535
_LONGEST = 2**31 - 1  # seconds in an int32 of the API

# Of k8s-rdma-shared-dev-plugin (validResourceName in pkg/resources/resources_manager.go).
_SHARED_NAME = apiwords.ALNUM | {"_"}

_USUAL = KubernetesSite()

_check = partial(findings.check, "site")
_problem = partial(findings.problem, "site")


def cluster_problems(kubernetes: KubernetesSite) -> list[Problem]:
    """Every problem of a single key under `kubernetes`."""
    found: list[Problem] = []
    rules: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("namespace", apiwords.label),
        ("context", check_text.line),
        ("version", _cluster_version),
        ("mpi_operator", _operator_version),
        ("service_account", apiwords.name),
        ("gpu_resource", apiwords.resource),
        ("shm", apiwords.memory),
        ("queue", apiwords.short_name),
        ("priority_class", apiwords.name),
    )
    for key, rule in rules:
        value = getattr(kubernetes, key)
        if value is not None:
            _check(found, (*_SITE, key), rule, value)
    for index, name in enumerate(kubernetes.image_pull_secrets):
        _check(found, (*_SITE, "image_pull_secrets", index), apiwords.name, name)
    for index, network in enumerate(kubernetes.networks):
        _check(found, (*_SITE, "networks", index), apiwords.network, network)
    for hca, resource in kubernetes.rdma.items():
        _check(found, (*_SITE, "rdma", hca), _hca, hca)
        _check(found, (*_SITE, "rdma", hca), _rdma_resource, resource)
    for key in ("ttl", "worker_wait"):
        seconds = getattr(kubernetes, key)
        if not 1 <= seconds <= _LONGEST:
            found.append(_problem((*_SITE, key), f"{seconds} must be from 1 to {_LONGEST} (seconds)"))
    for size, amount in kubernetes.hugepages.items():
        _check(found, (*_SITE, "hugepages", size), partial(_pages, size), amount)
    found += _parts(kubernetes)
    for variable, secret in kubernetes.secrets.items():
        found += _secret(variable, secret)
    if kubernetes.labels or kubernetes.annotations:
        from hpclaunch.spec.check_kubernetes_labels import label_problems

        found += label_problems(kubernetes)
    exported = (kubernetes.rdma_interfaces, kubernetes.submitters)
    if any(exported) or kubernetes.machine_pool != _USUAL.machine_pool:
        from hpclaunch.spec.check_kubernetes_exports import export_problems

        found += export_problems(kubernetes)
    return found


def node_problems(group: NodeGroup, path: Path) -> list[Problem]:
    """Every problem of a single key that a group of nodes has for Kubernetes."""
    found: list[Problem] = []
    for key, value in group.selector.items():
        _check(found, (*path, "selector", key), apiwords.label_key, key)
        _check(found, (*path, "selector", key), apiwords.label_value, value)
    for index, toleration in enumerate(group.tolerations):
        found += _toleration(toleration, (*path, "tolerations", index))
    return found + _allocatable(group.allocatable, (*path, "allocatable"))


def _parts(kubernetes: KubernetesSite) -> list[Problem]:
    found = _sshd(kubernetes.sshd) + _launcher(kubernetes.launcher)
    if kubernetes.run_as is not None:
        found += _run_as(kubernetes.run_as)
    gang = kubernetes.gang
    if gang is not None and gang.queue is not None:
        _check(found, (*_SITE, "gang", "queue"), apiwords.name, gang.queue)
    if gang is not None and gang.scheduler_name is not None:
        _check(found, (*_SITE, "gang", "scheduler_name"), apiwords.name, gang.scheduler_name)
    return found


def _secret(variable: str, secret: SecretKey) -> list[Problem]:
    found: list[Problem] = []
    path = (*_SITE, "secrets", variable)
    _check(found, path, scalars.variable_name, variable)
    _check(found, (*path, "name"), apiwords.name, secret.name)
    _check(found, (*path, "key"), apiwords.secret_key, secret.key)
    return found


def _run_as(run_as: RunAs) -> list[Problem]:
    found: list[Problem] = []
    for key in ("user", "group"):
        number = getattr(run_as, key)
        if number is not None and not 0 <= number <= MAX_USER:
            found.append(_problem((*_SITE, "run_as", key), f"{number} must be from 0 to {MAX_USER}"))
    _check(found, (*_SITE, "run_as", "home"), check_text.absolute, run_as.home)
    return found


def _sshd(sshd: Sshd) -> list[Problem]:
    found: list[Problem] = []
    if not 1 <= sshd.port <= _LARGEST_PORT:
        found.append(_problem((*_SITE, "sshd", "port"), f"{sshd.port} must be from 1 to {_LARGEST_PORT}"))
    if sshd.kit is not None:
        _check(found, (*_SITE, "sshd", "kit"), _image, sshd.kit)
    _check(found, (*_SITE, "sshd", "folder"), check_text.absolute, sshd.folder)
    if sshd.folder.startswith("/") and not sshd.folder.strip("/"):
        message = "it is put over what the image has there: write a folder of its own, such as /opt/ssh"
        found.append(_problem((*_SITE, "sshd", "folder"), message))
    return found


def _launcher(launcher: LauncherPod) -> list[Problem]:
    found: list[Problem] = []
    if launcher.cpu < 1:
        found.append(_problem((*_SITE, "launcher", "cpu"), f"{launcher.cpu} must be at least 1"))
    _check(found, (*_SITE, "launcher", "memory"), apiwords.memory, launcher.memory)
    for index, toleration in enumerate(launcher.tolerations):
        found += _toleration(toleration, (*_SITE, "launcher", "tolerations", index))
    for key, value in launcher.selector.items():
        _check(found, (*_SITE, "launcher", "selector", key), apiwords.label_key, key)
        _check(found, (*_SITE, "launcher", "selector", key), apiwords.label_value, value)
    return found


def _toleration(toleration: Toleration, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if toleration.key is not None:
        _check(found, (*path, "key"), apiwords.label_key, toleration.key)
    if toleration.value is not None:
        _check(found, (*path, "value"), apiwords.label_value, toleration.value)
    if toleration.operator == "Equal" and toleration.key is None:
        found.append(_problem(path, "operator: Equal needs the taint's key"))
    elif toleration.operator == "Equal" and toleration.value is None:
        message = f'operator: Equal needs the value of the taint {toleration.key} (value: "" for none)'
        found.append(_problem(path, message))
    if toleration.operator == "Exists" and toleration.value is not None:
        message = "a value goes with operator: Equal; Exists, the default here, takes any value"
        found.append(_problem((*path, "value"), message))
    return found


def _allocatable(allocatable: Allocatable, path: Path) -> list[Problem]:
    found: list[Problem] = []
    if allocatable.cpu is not None and allocatable.cpu < 1:
        found.append(_problem((*path, "cpu"), f"{allocatable.cpu} must be at least 1"))
    if allocatable.memory is not None:
        _check(found, (*path, "memory"), apiwords.memory, allocatable.memory)
    return found


def _cluster_version(text: str) -> None:
    parts = text.split(".")
    if len(parts) not in (2, 3) or not check_text.are_digits(parts, range(1, 4)):
        raise ValueError(f"{shown(text)} is not a version of Kubernetes, such as 1.29 or 1.29.4")


def _operator_version(text: str) -> None:
    parts = text.split(".")
    if len(parts) != 3 or not check_text.are_digits(parts, range(1, 4)):
        raise ValueError(f"{shown(text)} is not a version of the MPI operator, such as 0.8.0")


def _pages(size: str, amount: str) -> None:
    if size.startswith("hugepages-"):
        raise ValueError(f"write the size alone: {size.removeprefix('hugepages-')}")
    page = apiwords.page_size(size)
    total = apiwords.memory(amount)
    if total % page:
        right = quantity.of_bytes((total // page + 1) * page)
        raise ValueError(f"{shown(amount)} is no multiple of the page size {size}: {right} is the next")


def _hca(text: str) -> None:
    """An HCA by its PCI address or its device name. What looks like an address but is none is refused here:
    as a name it would match no HCA, and jobs would run without."""
    if ":" in text and not pci.is_address(text):
        raise ValueError(
            f"{shown(text)} is not a PCI address in full and small letters, such as 0000:0c:00.0"
        )
    if ":" not in text:
        check_text.name(text)


def _rdma_resource(text: str) -> None:
    if "/" in text:
        apiwords.resource(text)
    elif not text or len(text) > apiwords.LONGEST_LABEL or not _SHARED_NAME.issuperset(text):
        raise ValueError(
            f"{shown(text)} is no resource of the shared device plugin, which has letters, digits and '_' "
            "alone; another plugin's is such as nvidia.com/resibp12s0"
        )


def _image(text: str) -> None:
    check_text.line(text)
    if not text.isascii() or " " in text or text.startswith("/") or "://" in text or "#" in text:
        raise ValueError(f"{shown(text)} is not an image such as registry.example.com/sshd:1")
