"""Manifests whose pods are not alike: which program is the job's is asked, and variables make groups."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some
from manifest_cases import converted

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.writing import write
from hpclaunch.spec.read import parse_job


def _container(image: str, command: list[str], gpus: int) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    container = {"name": "pytorch", "image": image, "command": command, "resources": limits}
    return {"template": {"spec": {"containers": [container]}}}


def _manifest(kind: str, replicas: dict[str, Any]) -> Draft:
    version = "v2beta1" if kind == "MPIJob" else "v1"
    key = "mpiReplicaSpecs" if kind == "MPIJob" else "pytorchReplicaSpecs"
    return converted(
        yaml.safe_dump(
            {
                "apiVersion": f"kubeflow.org/{version}",
                "kind": kind,
                "metadata": {"name": "two"},
                "spec": {key: replicas},
            },
            sort_keys=False,
        )
    )


def _open(draft: Draft) -> set[str]:
    return {str(key[0]) for key, fact in draft.facts.items() if fact.is_open}


def _pytorch(image: str, command: list[str], gpus: int) -> Draft:
    worker = {"replicas": 2, **_container(image, command, gpus)}
    return _manifest("PyTorchJob", {"Master": _container("a:1", ["./a"], 8), "Worker": worker})


@pytest.mark.parametrize(
    ("image", "command", "gpus", "key"),
    [
        ("b:1", ["./a"], 8, "image"),
        ("a:1", ["torchrun", "--nproc_per_node=8", "b.py"], 8, "command ranks_per_node"),
        ("a:1", ["sh", "-c", "cd /b; ./b"], 8, "command"),
        ("a:1", ["./a"], 4, "gpus_per_node"),
        ("a:1", ["./a"], 0, "gpus_per_node"),
    ],
)
def test_what_differs_between_master_and_worker_is_asked(
    image: str, command: list[str], gpus: int, key: str
) -> None:
    draft = _pytorch(image, command, gpus)
    assert _open(draft) == set(key.split())
    for each in key.split():
        assert [found.kind for found in draft.findings if found.key == each] == ["question"]


@pytest.mark.parametrize("words", [["./b"], ["sh", "-c", "./b $RANK"], ["python", "-m", "b"]])
def test_a_worker_with_another_command_is_a_group(words: list[str]) -> None:
    draft = _pytorch("a:1", words, 8)
    job = parse_job(write(draft, ["job.yaml"]), "job.yaml", ".").value
    plain = {name: (group.nodes, group.command) for name, group in job.groups.items()}
    assert plain["master"] == (1, ("./a",))
    nodes, command = plain["worker"]
    assert (nodes, command) == (2, tuple(words) if words[0] != "sh" else "./b $RANK")
    assert job.command is None or not job.command
    assert (job.rendezvous, job.gpus_per_node, job.ranks_per_node) == ("torch", 8, 1)


def test_a_worker_with_another_command_and_other_variables_is_one_group() -> None:
    worker = {"replicas": 2, **_container("a:1", ["./b"], 8)}
    worker["template"]["spec"]["containers"][0]["env"] = [{"name": "PART", "value": "b"}]
    draft = _manifest("PyTorchJob", {"Master": _container("a:1", ["./a"], 8), "Worker": worker})
    job = parse_job(write(draft, ["job.yaml"]), "job.yaml", ".").value
    assert [(group.nodes, group.command, group.env) for group in job.groups.values()] == [
        (1, ("./a",), {}),
        (2, ("./b",), {"PART": "b"}),
    ]


def test_a_worker_like_its_master_is_asked_nothing() -> None:
    assert not _open(_pytorch("a:1", ["./a"], 8))


def test_an_mpirun_of_several_programs_is_asked_for_each() -> None:
    words = ["mpirun", "-n", "8", "./a", ":", "-n", "8", "./b"]
    workers = {"replicas": 2, **_container("a:1", ["sleep", "inf"], 8)}
    draft = _manifest("MPIJob", {"Launcher": _container("a:1", words, 0), "Worker": workers})
    assert _open(draft) == {"nodes", "ranks_per_node", "command"}
    assert not [each for each in draft.findings if each.kind == "defect"]


_ENV = some.dictionaries(
    some.sampled_from(("PART", "LR", "DATA", "NCCL_DEBUG")),
    some.text(some.characters(codec="ascii", exclude_categories=("C",), exclude_characters="$"), max_size=9),
)


def _of_two(master: dict[str, str], worker: dict[str, str], **more: Any) -> Draft:
    replicas = {"Master": _container("a:1", ["./a"], 8), "Worker": _container("a:1", ["./a"], 8)}
    for name, env in (("Master", master), ("Worker", worker)):
        (container,) = replicas[name]["template"]["spec"]["containers"]
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
    replicas["Worker"]["replicas"] = 3
    (first,) = replicas["Master"]["template"]["spec"]["containers"]
    first.update({key: value for key, value in more.items() if key == "command"})
    (second,) = replicas["Worker"]["template"]["spec"]["containers"]
    second.update({key: value for key, value in more.items() if key == "command"})
    if "init" in more:
        replicas["Master"]["template"]["spec"]["initContainers"] = [more["init"]]
    return _manifest("PyTorchJob", replicas)


@given(_ENV, _ENV)
def test_each_pod_has_the_variables_of_its_part(master: dict[str, str], worker: dict[str, str]) -> None:
    draft = _of_two(master, worker)
    job = parse_job(write(draft, ["job.yaml"]), "job.yaml", ".").value
    assert bool(job.groups) == (master != worker)
    if not job.groups:
        assert (job.nodes, job.env) == (4, master)
        return
    parts = {name: (group.nodes, {**job.env, **group.env}) for name, group in job.groups.items()}
    assert list(parts.items()) == [("master", (1, master)), ("worker", (3, worker))]


def test_where_a_job_cannot_have_groups_the_variables_are_left_by_name() -> None:
    init = {"name": "get", "image": "a:1", "command": ["./get"]}
    draft = _of_two({"PART": "a", "LR": "1"}, {"PART": "b", "LR": "1"}, init=init)
    assert not any(key[0] == "groups" for key in draft.facts)
    (said,) = [each for each in draft.findings if each.kind == "left" and "PART" in each.what]
    assert "setup" in said.why
    assert "LR" not in said.what


@pytest.mark.parametrize(
    ("command", "is_asked"),
    [
        (["./a", "$(PART)"], True),
        (["./a", "$(LR)"], False),
        (["sh", "-c", "./a ${PART}"], False),
        (["sh", "-c", "torchrun --nproc_per_node=8 a.py $PART"], True),
        # Of the launcher's options alone: ranks are compared by themselves.
        (["torchrun", "--nproc-per-node=$(PART)", "t.py"], False),
        (["sh", "-c", "torchrun --nproc-per-node=${PART:-1} --nnodes=2 t.py"], False),
        (["sh", "-c", "torchrun --nproc-per-node=${PART:-1} t.py --of $PART"], True),
        (["sh", "-c", "./get $PART && torchrun --nproc-per-node=${PART:-1} t.py"], True),
    ],
)
def test_a_command_with_a_value_that_is_not_the_same_in_all_pods_is_asked(
    command: list[str], is_asked: bool
) -> None:
    draft = _of_two({"PART": "a", "LR": "1"}, {"PART": "b", "LR": "1"}, command=command)
    assert ("command" in _open(draft)) == is_asked
    fact = draft.facts["command",]
    if not is_asked and "$PART" in command[-1]:
        assert "PART" in str(fact.value)


_A100: dict[str, Any] = {"nodeSelector": {"gpu": "a100"}}


@pytest.mark.parametrize(
    ("first", "other", "kind"), [(_A100, _A100, "replaced"), ({}, _A100, "left"), (_A100, {}, None)]
)
def test_nodes_that_a_second_template_asks_for_are_not_those_of_the_first(first, other, kind) -> None:
    master, worker = _container("a:1", ["./a"], 8), _container("a:1", ["./a"], 8)
    master["template"]["spec"] |= first
    worker["template"]["spec"] |= other
    draft = _manifest("PyTorchJob", {"Master": master, "Worker": worker})
    found = [each.kind for each in draft.findings if each.what == "nodeSelector of the Worker"]
    assert found == ([kind] if kind else [])


_PREPARED = "pip install wind\nexport LR=2\n./fit --all\n"


@pytest.mark.parametrize(
    ("program", "worker", "is_same"),
    [
        ("bash", f"# the workers wait\n{_PREPARED}", True),
        ("bash", _PREPARED.replace("export", "\n  # half of it\nexport"), True),
        ("bash", _PREPARED.replace("LR=2", "LR=3"), False),
        ("bash", _PREPARED.replace("LR=2", "LR='\n# 2'"), False),
        ("bash", _PREPARED.replace("export", "cat > a <<E\n# b\nE\nexport"), False),
        ("bash", f"#!/bin/sh\n{_PREPARED}", False),
        ("./run", f"# the workers wait\n{_PREPARED}", False),
    ],
)
def test_texts_of_a_shell_that_differ_in_comments_are_one_command(
    program: str, worker: str, is_same: bool
) -> None:
    pods = {
        name: _container("a:1", [program, "-c", text], 8)
        for name, text in (("Master", _PREPARED), ("Worker", worker))
    }
    draft = _manifest("PyTorchJob", pods)
    said = {each.what for each in draft.findings if "differ in comments alone" in each.why}
    assert said == ({"command of the Worker"} if is_same else set())
    has_one = ("command",) in draft.facts and not draft.facts["command",].is_open
    assert has_one == is_same
