"""Manifests against the schemas of the API."""

import copy
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from api_schemas import CORE_VERSIONS, validate
from hypothesis import HealthCheck, given, settings
from made_up import BY_HAND, COMMON, V1, V1ALPHA2, V2BETA1, commons, plan, targets
from yaml_readers import read

from hpclaunch.render import manifest
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import KubernetesTarget

Manifest = dict[str, Any]


def rendered(target: KubernetesTarget, common: Common = COMMON) -> Manifest:
    found: Manifest = read(manifest.render(plan(target, common), target))
    return found


@pytest.mark.parametrize("version", CORE_VERSIONS)
@pytest.mark.parametrize("target", BY_HAND.values(), ids=BY_HAND.keys())
def test_the_api_knows_every_field(target: KubernetesTarget, version: str) -> None:
    validate(rendered(target), version)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(targets(), commons())
def test_the_api_knows_every_field_of_any_target(target: KubernetesTarget, common: Common) -> None:
    validate(rendered(target, common), CORE_VERSIONS[-1])


def test_amounts_are_texts() -> None:
    """The API takes numbers as well, but 1.10 of a CPU would lose its zero and 8e3 its form."""
    of = rendered(V2BETA1)["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0][
        "resources"
    ]
    amounts = [*of["limits"].values(), *of["requests"].values()]
    assert [amount for amount in amounts if not isinstance(amount, str)] == []


def worker(found: Manifest) -> Manifest:
    pod: Manifest = found["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    ("target", "change"),
    [
        (V2BETA1, lambda found: found["spec"].update(cleanPodPolicy="Running")),  # that is v1
        (V2BETA1, lambda found: found["spec"].update(mainContainer="worker")),
        (V2BETA1, lambda found: found["spec"]["runPolicy"].update(cleanPodPolicy="Some")),
        (V1, lambda found: found["spec"].update(sshAuthMountPath="/root/.ssh")),  # that is v2beta1
        (V1, lambda found: found["spec"].update(backoffLimit=0)),  # that is v1alpha2
        (V1ALPHA2, lambda found: found["spec"].update(ttlSecondsAfterFinished=1)),
        (V2BETA1, lambda found: found["spec"]["mpiReplicaSpecs"].update(worker={})),
        (V2BETA1, lambda found: worker(found).update(enableServiceLink=False)),
        (V2BETA1, lambda found: worker(found).update(enableServiceLinks="false")),
        (V2BETA1, lambda found: worker(found)["containers"][0].update(resource={})),
        (V2BETA1, lambda found: worker(found)["containers"][0]["readinessProbe"].update(tcpsocket={})),
        (V2BETA1, lambda found: worker(found)["affinity"]["podAntiAffinity"].update(required=[])),
    ],
)
def test_a_field_that_is_not_there_would_be_found(
    target: KubernetesTarget, change: Callable[[Manifest], None]
) -> None:
    found = copy.deepcopy(rendered(target))
    change(found)
    with pytest.raises(jsonschema.ValidationError):
        validate(found, CORE_VERSIONS[-1])
