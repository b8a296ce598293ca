"""The limit on locked memory for containers without root, where IPC_LOCK has no effect.

Forms: machineconfiguration/v1/types.go of openshift/api; Ignition configuration 3.2; crio.conf(5),
`default_ulimits`.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import NoReturn

from hpclaunch.cluster.manifests import HEADER, MANAGED, Manifest, manifest_text
from hpclaunch.cluster.podneeds import kubernetes_of
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError, Path, Problem

IGNITION = "3.2.0"
_FIRST = (1, 20)  # OpenShift 4.7, the first to read Ignition 3.2
_FILE = "/etc/crio/crio.conf.d/99-hpclaunch-memlock.conf"
_ROLE = "machineconfiguration.openshift.io/role"

LIMITS = """\
# RDMA pins the memory that it transfers: containers without root have no other way to be allowed to.
[crio.runtime]
default_ulimits = ["memlock=-1:-1"]
"""


def machine_config(site: Site, machines: Mapping[str, NodeType]) -> str:
    """The MachineConfig that lets every container of the pool's nodes lock memory without limit.

    Raises InputError, with what to do there, for a cluster that is no OpenShift or an older one.
    """
    kubernetes = kubernetes_of(site)
    if not kubernetes.openshift:
        _refuse(
            "only OpenShift's nodes are configured by MachineConfigs. With containerd write "
            "/etc/systemd/system/containerd.service.d/memlock.conf on each node, with the lines [Service] "
            "and LimitMEMLOCK=infinity, and restart containerd: containers inherit it",
            ("kubernetes", "openshift"),
        )
    version = kubernetes.version
    if version is not None and tuple(int(part) for part in version.split(".")[:2]) < _FIRST:
        _refuse(
            f"Kubernetes {version} is an OpenShift before 4.7, which reads no Ignition {IGNITION}: put "
            f'default_ulimits = ["memlock=-1:-1"] under [crio.runtime] of /etc/crio/crio.conf on each node',
            ("kubernetes", "version"),
        )
    pool = kubernetes.machine_pool
    body: Manifest = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"name": f"99-{pool}-hpclaunch-memlock", "labels": {**MANAGED, _ROLE: pool}},
        "spec": {
            "config": {
                "ignition": {"version": IGNITION},
                "storage": {
                    "files": [
                        {
                            "path": _FILE,
                            "mode": 0o644,
                            "overwrite": True,
                            "contents": {
                                "source": "data:text/plain;charset=utf-8;base64,"
                                + b64encode(LIMITS.encode()).decode()
                            },
                        }
                    ]
                },
            }
        },
    }
    comment = (
        f"Containers on the nodes of the machine config pool `{pool}` may lock memory without limit "
        '(default_ulimits = ["memlock=-1:-1"]). OpenShift applies it node by node, and restarts each.'
    )
    return manifest_text(HEADER.format("The runtime's limits", site.name), [(comment, body)])


def _refuse(message: str, path: Path) -> NoReturn:
    raise InputError([Problem(message, "site", path)])
