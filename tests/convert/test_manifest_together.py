"""torchrun in several containers of one pod: what they count as nodes is one node of the job."""

import pytest
from manifest_cases import converted, job

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: pair}
spec:
  containers:
"""
_ONE = """\
  - name: part-NUMBER
    image: lab/fit:3
    command: [torchrun, --nnodes=2, --node_rank=NUMBER, --nproc_per_node=EACH, --master_addr=pair, fit.py]
    env: [{name: LEVEL, value: low}]
"""


def _pod(*parts: str, each: int = 1) -> str:
    texts = [part.replace("NUMBER", str(number)) for number, part in enumerate(parts)]
    return _POD + "".join(texts).replace("EACH", str(each))


@pytest.mark.parametrize("each", [1, 4])
def test_ranks_of_alike_containers_are_ranks_of_one_node(each):
    found = converted(_pod(_ONE, _ONE, each=each))
    facts = {key: value for key, (value, _) in job(found).items()}
    assert (facts["nodes"], facts["ranks_per_node"]) == (1, 2 * each)
    (said,) = (finding for finding in found.findings if finding.what.startswith("the container part-1"))
    assert said.kind == "replaced"


def test_torchrun_with_one_process_sets_no_number_of_threads():
    assert "env.OMP_NUM_THREADS" not in job(converted(_pod(_ONE, _ONE)))
    assert "env.OMP_NUM_THREADS" in job(converted(_pod(_ONE, _ONE, each=4)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lab/fit:3", "lab/fit:4"),
        ("value: low", "value: high"),
        ("fit.py", "other.py"),
        ("EACH", "2"),
        ("pair, fit.py", "elsewhere, fit.py"),
    ],
)
def test_nodes_are_asked_for_where_the_containers_are_not_alike(old, new):
    found = converted(_pod(_ONE, _ONE.replace(old, new)))
    assert found.facts[("nodes",)].is_open
    (said,) = (finding for finding in found.findings if finding.what.startswith("the container part-1"))
    assert said.kind == "left"


def test_nodes_are_asked_for_where_each_container_has_gpus():
    gpu = "    resources: {limits: {nvidia.com/gpu: 1}}\n"
    found = converted(_pod(_ONE + gpu, _ONE + gpu))
    assert found.facts[("nodes",)].is_open


def test_nodes_are_asked_for_where_not_all_of_them_are_in_the_pod():
    found = converted(_pod(_ONE, _ONE).replace("--nnodes=2", "--nnodes=3"))
    assert found.facts[("nodes",)].is_open


def test_a_container_that_starts_nothing_of_it_changes_nothing():
    beside = "  - {name: logs, image: lab/logs:1, command: [ship, /var/log]}\n"
    facts = job(converted(_pod(_ONE, beside)))
    assert (facts["nodes"][0], facts["ranks_per_node"][0]) == (2, 1)
