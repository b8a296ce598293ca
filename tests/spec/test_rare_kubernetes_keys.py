"""Each key of a Kubernetes cluster that few sites have is checked also where it is the only one of them."""

from typing import Any

import msgspec
import pytest

from hpclaunch.spec.check_kubernetes import cluster_problems
from hpclaunch.spec.kubernetes import KubernetesSite

WRONG: dict[str, Any] = {
    "hugepages": {"2Mi": "much"},
    "secrets": {"1 X": {"name": "a", "key": "b"}},
    "labels": {"a b": "c"},
    "annotations": {"a b": "c"},
    "rdma_interfaces": {"rdma/none": ["ib0"]},
    "machine_pool": "A B",
    "submitters": ["A B"],
}


@pytest.mark.parametrize("key", WRONG)
def test_it_is_checked_alone(key: str) -> None:
    site = msgspec.convert({key: WRONG[key]}, KubernetesSite)
    found = [each.path[:2] for each in cluster_problems(site)]
    assert found
    assert set(found) == {("kubernetes", key)}
