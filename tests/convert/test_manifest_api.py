"""The table of the API's types is held against the OpenAPI types of Kubernetes' own client, and against the
CRD of MPIJob and what the readings of manifests know."""

import re
from typing import Any

import kubernetes.client.models as client
import msgspec
import pytest

from hpclaunch.convert.manifests.text import api
from hpclaunch.readback.kubernetes import jobmodels, podmodels

# Kubeflow's types are not the client's.
OWN = {
    *("FirstMPIJob", "FirstMPIJobSpec"),
    *("MPIJob", "MPIJobSpec", "MPIReplicaSpecs", "ReplicaSpec", "RunPolicy", "SchedulingPolicy"),
    *("PyTorchJob", "PyTorchJobSpec", "PyTorchReplicaSpecs", "ElasticPolicy", "RdzvConf"),
}
PREFIXES = ("V1", "CoreV1", "RbacV1", "StorageV1")


def of_client(name: str) -> Any:
    return next((found for each in PREFIXES if (found := getattr(client, f"{each}{name}", None))), None)


@pytest.mark.parametrize("name", sorted(set(api.types()) - OWN))
def test_a_type_has_keys_of_the_api_with_their_types(name: str) -> None:
    theirs = of_client(name)
    types = {theirs.attribute_map[key]: kind for key, kind in theirs.openapi_types.items()}
    for key, kind in api.types()[name].items():
        assert key in types, f"the API has no {name}.{key}"
        given = types[key]
        if kind in (api.MAP, api.AMOUNTS):
            assert re.match(r"dict[(\[]", given, re.IGNORECASE), (name, key, given)
        elif kind == api.TEXT:
            assert not re.match(r"(list|dict)\b", given, re.IGNORECASE), (name, key, given)
            assert of_client(re.sub(r"^V1", "", given)) is None or given == "datetime", (name, key, given)
        elif kind != api.ANY:
            inner = re.sub(r"^list\[(.*)\]$", r"\1", given, flags=re.IGNORECASE)
            assert (api.item(kind) is not None) == (inner != given), (name, key, given)
            bare = api.item(kind) or kind
            wanted = (
                ("str", "int", "object") if bare == api.TEXT else tuple(f"{each}{bare}" for each in PREFIXES)
            )
            assert inner in wanted or bare == api.ANY, (name, key, given)


def test_each_type_that_is_named_is_there() -> None:
    free = {api.TEXT, *api.FREE}
    for name, keys in api.types().items():
        for key, kind in keys.items():
            assert (api.item(kind) or kind) in free | set(api.types()), (name, key)
    assert set(api.types()) >= api.KINDS
    assert set(api.types()) >= set(api.REQUIRED)


MODELS = {
    "MPIJobSpec": (jobmodels.V1, jobmodels.V1Alpha2, jobmodels.V2Beta1),
    "RunPolicy": (jobmodels.RunPolicy,),
    "ReplicaSpec": (jobmodels.Replica,),
    "MPIReplicaSpecs": (jobmodels.Replicas,),
    "PodSpec": (podmodels.PodSpec,),
    "Container": (podmodels.Container,),
    "JobSpec": (jobmodels.BatchSpec,),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_diff_reads_of_a_manifest_is_in_the_table(name: str) -> None:
    for model in MODELS[name]:
        names = {field.encode_name for field in msgspec.structs.fields(model)}
        assert names <= set(api.types()[name])
