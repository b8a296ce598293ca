"""Several objects in a file that start ranks: more nodes of the same launch, or jobs of their own."""

import pytest
from manifest_cases import converted

from hpclaunch.convert.draft import Draft

_POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers:
  - name: c
    image: IMAGE
    command: COMMAND
    resources: {limits: {nvidia.com/gpu: 8}}
"""
_SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata: {name: head-svc}\nspec: {clusterIP: None}\n"
_RAY = "[sh, -c, 'ray start --address=head-svc.ns:6379 --block']"
_KEPT = """\
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: more}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: c
        image: reg/x:1
        command: [python, t.py]
        env: [{name: WORLD_SIZE, value: "4"}]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def _pod(name: str, command: str, image: str = "reg/x:1") -> str:
    return _POD.replace("NAME", name).replace("IMAGE", image).replace("COMMAND", command)


def _nodes(draft: Draft) -> object:
    fact = draft.facts[("nodes",)]
    return "asked" if fact.is_open else fact.value


def _torchrun(rank: int) -> str:
    return f"[torchrun, --nnodes=2, --nproc_per_node=8, --node_rank={rank}, --master_addr=first-0.svc, t.py]"


@pytest.mark.parametrize(
    ("first", "second", "nodes"),
    [
        (_pod("head-0", "[sh, -c, 'ray start --head; python t.py']"), _SERVICE + _pod("b", _RAY), "asked"),
        (_pod("first", "[python, t.py]"), _pod("other", "[python, t.py, --to, 'first:29500']"), "asked"),
        (_pod("first-0", _torchrun(0)), _pod("first-1", _torchrun(1)), 2),  # torchrun tells how many
    ],
)
def test_more_nodes_of_the_launch_are_no_other_job(first: str, second: str, nodes: object) -> None:
    draft = converted(first + second)
    assert _nodes(draft) == nodes
    said = [each.why for each in draft.findings if each.what.startswith("Pod ")]
    assert said
    assert not any("this is another" in each for each in said)


@pytest.mark.parametrize(("app", "nodes"), [("head", "asked"), ("other", 1)])
def test_workers_in_front_of_a_head_to_which_a_service_leads_may_be_one_launch(
    app: str, nodes: object
) -> None:
    head = _pod("first", "[sh, -c, 'ray start --head; python t.py']").replace(
        "{name: first}", f"{{name: first, labels: {{app: {app}}}}}"
    )
    leads = _SERVICE.replace("clusterIP: None", "clusterIP: None, selector: {app: head}")
    assert _nodes(converted(_pod("worker", _RAY) + head + leads)) == nodes


@pytest.mark.parametrize(
    "second",
    [
        _pod("other", "[python, t.py]"),
        _pod("other", "[python, first.py, --first]"),
        _pod("other", "[sh, -c, 'kubectl wait pod/first']", image="reg/kubectl:1"),
    ],
)
def test_a_job_of_its_own_is_said_to_be_another(second: str) -> None:
    draft = converted(_pod("first", "[python, t.py]") + second)
    assert _nodes(draft) == 1
    said = [each.why for each in draft.findings if each.what == "Pod other"]
    assert said == ["a job file is one job, and this is another"]


def test_pods_with_gpus_that_something_keeps_running_may_be_ranks_of_the_job() -> None:
    draft = converted(_pod("first", "[python, t.py]") + _KEPT)
    assert _nodes(draft) == "asked"
    assert not any("launch of its own" in each.why for each in draft.findings)
