"""`site export storage`: classes, static volumes, claims, and what is bound to what."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_sites import exported, of_kind

from hpclaunch.cluster.export import export
from hpclaunch.spec.read import read_site
from hpclaunch.values import quantity
from hpclaunch.values.errors import InputError

HEAD = """\
version: 1
name: made
scheduler: kubernetes
node_types: [{type: dgx-1v, count: 2}]
kubernetes: {namespace: adas}
volumes:
"""
STATIC = "claim: data, size: 1Ti, csi: {driver: d.example.com, handle: 'h;path=/gpfs/a'}"


def site(folder: Path, *volumes: str) -> Path:
    file = folder / "site.yaml"
    file.write_text(HEAD + "".join(f"  v{number}: {{{text}}}\n" for number, text in enumerate(volumes)))
    return file


def binds(volume: dict[str, Any], claim: dict[str, Any]) -> bool:
    """Whether the cluster binds a claim to a volume that is there (pkg/controller/volume/persistentvolume and
    k8s.io/component-helpers/storage/volume of Kubernetes)."""
    has, wants = volume["spec"], claim["spec"]
    name = (claim["metadata"]["namespace"], claim["metadata"]["name"])
    reserved = has.get("claimRef")
    selector = wants.get("selector", {}).get("matchLabels", {})
    return (
        (reserved is None or (reserved["namespace"], reserved["name"]) == name)
        and wants.get("volumeName", volume["metadata"]["name"]) == volume["metadata"]["name"]
        and wants.get("storageClassName", "the default") == has["storageClassName"]
        and selector.items() <= volume["metadata"]["labels"].items()
        and set(wants["accessModes"]) <= set(has["accessModes"])
        and quantity.nano(wants["resources"]["requests"]["storage"])
        <= quantity.nano(has["capacity"]["storage"])
    )


def test_the_published_storage_of_the_dgx1s() -> None:
    """What the seed's administrator applied: its volume, its class, its two claims."""
    documents = exported("storage", "openshift-dgx1-spectrumscale")
    (made,) = of_kind(documents, "StorageClass")
    assert (made["metadata"]["name"], made["provisioner"], made["reclaimPolicy"]) == (
        "remotefs-m4",
        "spectrumscale.csi.ibm.com",
        "Delete",
    )
    assert made["parameters"] == {"volBackendFs": "ess3000_4M", "clusterId": "215057217487177715"}
    (volume,) = of_kind(documents, "PersistentVolume")
    assert volume["spec"]["csi"] == {
        "driver": "spectrumscale.csi.ibm.com",
        "volumeHandle": "16217308676014575381;099B6A7A:5EB99743;path=/gpfs/ess3000_4M/adas",
    }
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    claims = {claim["metadata"]["name"]: claim for claim in of_kind(documents, "PersistentVolumeClaim")}
    assert set(claims) == {"adas-data-pvc", "adas-priv-pvc"}
    assert binds(volume, claims["adas-data-pvc"])
    assert not binds(volume, claims["adas-priv-pvc"])
    assert claims["adas-data-pvc"]["spec"]["selector"] == {"matchLabels": {"type": "data", "dept": "adas"}}
    assert claims["adas-priv-pvc"]["spec"]["storageClassName"] == "remotefs-m4"


@pytest.mark.parametrize("labels", ["", ", labels: {dept: adas}"])
@pytest.mark.parametrize("of_class", ["", ", storage_class: static"])
def test_a_static_volume_and_its_claim_are_for_each_other_alone(
    tmp_path: Path, labels: str, of_class: str
) -> None:
    other = STATIC.replace("claim: data", "claim: other").replace("gpfs/a", "gpfs/b")
    documents = exported("storage", site(tmp_path, STATIC + labels + of_class, other + labels + of_class))
    volumes = {each["spec"]["claimRef"]["name"]: each for each in of_kind(documents, "PersistentVolume")}
    claims = {each["metadata"]["name"]: each for each in of_kind(documents, "PersistentVolumeClaim")}
    bound = {(a, b) for a, volume in volumes.items() for b, claim in claims.items() if binds(volume, claim)}
    assert bound == {("data", "data"), ("other", "other")}
    # Neither takes what somebody else makes with the same class, size and labels.
    free = {**volumes["data"], "metadata": {**volumes["data"]["metadata"], "name": "free"}}
    foreign = {**claims["data"], "metadata": {"namespace": "other", "name": "data"}}
    assert not binds(free, claims["data"])
    assert not binds(volumes["data"], foreign)


def test_data_that_is_only_read(tmp_path: Path) -> None:
    documents = exported("storage", site(tmp_path, f"{STATIC}, access: ReadOnlyMany"))
    (volume,), (claim,) = of_kind(documents, "PersistentVolume"), of_kind(documents, "PersistentVolumeClaim")
    assert volume["spec"]["csi"]["readOnly"] is True
    assert volume["spec"]["accessModes"] == claim["spec"]["accessModes"] == ["ReadOnlyMany"]


def test_a_claim_of_the_default_class_names_none(tmp_path: Path) -> None:
    (claim,) = exported("storage", site(tmp_path, "claim: data, size: 5Gi"))
    assert "storageClassName" not in claim["spec"]


def test_two_volumes_may_be_folders_of_one_claim(tmp_path: Path) -> None:
    documents = exported("storage", site(tmp_path, f"{STATIC}, folder: a", f"{STATIC}, folder: b"))
    assert [document["kind"] for document in documents] == ["PersistentVolume", "PersistentVolumeClaim"]


MADE = "size: 1Gi, storage_class: s, provision: {provisioner: p}"

WRONG = [
    (("claim: data",), "no volume has a claim with a size", "7"),
    ((STATIC, STATIC.replace("gpfs/a", "gpfs/b")), "the claim data is another one above", "8"),
    (
        (f"claim: a, {MADE}", f"claim: b, {MADE.replace('provisioner: p', 'provisioner: q')}"),
        "the class s is another one above",
        "8",
    ),
]


@pytest.mark.parametrize(("volumes", "said", "line"), WRONG)
def test_what_cannot_be_exported(tmp_path: Path, volumes: tuple[str, ...], said: str, line: str) -> None:
    document = read_site(str(site(tmp_path, *volumes)))
    with pytest.raises(InputError, match=said) as caught:
        export("storage", document.value, {}, None)
    (problem,) = caught.value.problems
    assert document.locate(problem.path).split(":")[1] == line


def test_strings_are_quoted_for_every_reader(tmp_path: Path) -> None:
    """Go's YAML takes y for true and 1e3 for a number; each of these is a text to the API."""
    words = {"a": "y", "b": "on", "c": "1e3", "d": "0x1F", "e": "1_000", "f": "007", "g": "null", "h": "No"}
    labels = ", ".join(f'{key}: "{value}"' for key, value in words.items())
    file = site(tmp_path, f"{STATIC}, labels: {{{labels}}}")
    (volume,) = of_kind(exported("storage", file), "PersistentVolume")
    assert words.items() <= volume["metadata"]["labels"].items()
    text = export("storage", read_site(str(file)).value, {}, None)
    scalars = [event for event in yaml.parse(text) if isinstance(event, yaml.ScalarEvent)]
    styles = {event.style for event in scalars if event.value in words.values()}
    assert styles <= {"'", '"'}
