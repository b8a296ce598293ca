"""The claims behind a site's volumes, with the static volumes and the classes that they are bound to."""

from collections.abc import Mapping
from typing import Any, NoReturn

from hpclaunch.cluster.manifests import HEADER, MANAGED, Document, Manifest, manifest_text, metadata
from hpclaunch.cluster.podneeds import kubernetes_of
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Csi, Site, StorageClass, Volume
from hpclaunch.values.errors import InputError, Problem


def storage(site: Site, machines: Mapping[str, NodeType]) -> str:
    """For each volume with a claim and a size: the class that makes it (`provision`), or the volume over data
    that is there (`csi`), and the claim.

    A static volume and its claim name one another, so that neither is bound to anything else, and deleting
    the claim deletes no data. Raises InputError where no volume has that, and where one claim or class is
    described in two ways.
    """
    namespace = kubernetes_of(site).namespace
    classes: dict[str, Document] = {}
    claims: dict[str, list[Document]] = {}
    for name, volume in site.volumes.items():
        if volume.claim is None or volume.size is None:
            continue
        here = ("volumes", name)
        if volume.provision is not None and volume.storage_class is not None:
            made = _class(volume.storage_class, volume.provision)
            if classes.setdefault(volume.storage_class, made) != made:
                _refuse(f"the class {volume.storage_class} is another one above", (*here, "provision"))
        found = _claim(name, volume, volume.claim, volume.size, namespace)
        others = claims.setdefault(volume.claim, found)
        if [body for _, body in others] != [body for _, body in found]:
            _refuse(f"the claim {volume.claim} is another one above", (*here, "claim"))
    if not claims:
        _refuse(
            "no volume has a claim with a size: write size: 100Gi, and csi or storage_class", ("volumes",)
        )
    documents = [*classes.values(), *(document for found in claims.values() for document in found)]
    return manifest_text(HEADER.format("Storage", site.name), documents)


def _class(name: str, made: StorageClass) -> Document:
    body: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "labels": MANAGED},
        "provisioner": made.provisioner,
    }
    if made.parameters:
        body["parameters"] = dict(made.parameters)
    body["reclaimPolicy"] = made.reclaim
    ends = "is deleted with its claim" if made.reclaim == "Delete" else "stays when its claim is deleted"
    return f"Makes a volume for each claim of this class; it {ends}.", body


def _claim(name: str, volume: Volume, claim: str, size: str, namespace: str) -> list[Document]:
    """The claim, after the volume that is there for it."""
    if volume.csi is None:
        body = _claim_body(volume, claim, size, namespace, None)
        if volume.storage_class is None:
            how = "A new volume of the cluster's default class"
        else:
            how = f"A new volume of the class {volume.storage_class}"
        return [(f"{how}, for jobs that mount `{name}`.", body)]
    static = f"{namespace}-{claim}"
    return [
        (
            f"The data of `{name}`, which is there already: only the claim below is bound to it, and it "
            "stays when that is deleted.",
            _static_volume(static, volume, volume.csi, claim, size, namespace),
        ),
        ("", _claim_body(volume, claim, size, namespace, static)),
    ]


def _static_volume(
    name: str, volume: Volume, csi: Csi, claim: str, size: str, namespace: str
) -> dict[str, Any]:
    source: Manifest = {"driver": csi.driver, "volumeHandle": csi.handle}
    if volume.access == "ReadOnlyMany":
        source["readOnly"] = True
    if csi.attributes:
        source["volumeAttributes"] = dict(csi.attributes)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata(name, None, volume.labels.items()),
        "spec": {
            "storageClassName": volume.storage_class or "",
            "capacity": {"storage": size},
            "accessModes": [volume.access],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": claim,
                "namespace": namespace,
            },
            "csi": source,
        },
    }


def _claim_body(volume: Volume, claim: str, size: str, namespace: str, static: str | None) -> dict[str, Any]:
    """A claim without a class names the empty one where its volume is there: else the default class, whatever
    it is, would be asked for another."""
    spec: Manifest = {}
    if static is not None or volume.storage_class is not None:
        spec["storageClassName"] = volume.storage_class or ""
    spec |= {"accessModes": [volume.access], "resources": {"requests": {"storage": size}}}
    if volume.labels:
        spec["selector"] = {"matchLabels": dict(volume.labels)}
    if static is not None:
        spec["volumeName"] = static
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(claim, namespace),
        "spec": spec,
    }


def _refuse(message: str, path: tuple[str, ...]) -> NoReturn:
    raise InputError([Problem(message, "site", path)])
