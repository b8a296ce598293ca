"""Every field of a manifest against the plan that it was made of, as readers of YAML find it, and what the
containers start after the kubelet's expansion."""

import copy
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import expected_manifest
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from kubelet_expansion import argv, environment, expand
from made_up import BY_HAND, COMMON, ONE_RANK, SEVERAL_RANKS, V1, V2BETA1, commons, plan, targets
from msgspec import structs
from yaml_readers import read

from hpclaunch.rank import wrapper_text
from hpclaunch.rank.pod import launcher_text, stage_in_text, worker_text
from hpclaunch.render import manifest
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import KubernetesTarget, SecretRef
from hpclaunch.values.words import EnvVar

every = pytest.mark.parametrize("target", BY_HAND.values(), ids=BY_HAND.keys())


Manifest = dict[str, Any]


def rendered(target: KubernetesTarget, common: Common = COMMON) -> Manifest:
    found: Manifest = read(manifest.render(plan(target, common), target))
    return found


def pods(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The templates: the pod that starts the ranks, and the workers."""
    spec = found["spec"]
    return [each["template"] for each in spec.get("mpiReplicaSpecs", {"": spec}).values()]


def containers(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for pod in pods(found):
        yield from pod["spec"].get("initContainers", ())
        yield from pod["spec"]["containers"]


def check_fields(found: Manifest, target: KubernetesTarget) -> None:
    found = copy.deepcopy(found)
    for container in containers(found):
        for field in ("command", "args", "env"):
            container.pop(field, None)
    assert found == expected_manifest.manifest(target)


def check_commands(found: Manifest, target: KubernetesTarget, common: Common) -> None:
    """Laid out or not, a setting is the same: the wrapper takes any white space for one separator."""
    first, *workers = [pod["spec"]["containers"][0] for pod in pods(found)]
    wanted = expected_manifest.argv(
        target,
        common,
        launcher_text([option.text for option in target.launch], target.stays),
        wrapper_text([option.text for option in target.wrapper]),
        wrapper_text([option.text for option in target.alone]),
    )
    # If the kubelet replaced anything, these would show.
    shown = {"X": "replaced", "x": "replaced", "HOME": "replaced", "hostname": "replaced"}
    assert [_joined(word) for word in argv(first, shown)] == wanted
    for worker in workers:
        told = [option.text for option in target.serve]
        words = [*worker.get("command", ()), *worker.get("args", ())]
        served = ["/bin/sh", "-c", worker_text(told), "hpclaunch-worker", *told] if told else []
        assert [expand(word, shown) for word in words] == served
    if target.worker.staging:
        copying = pods(found)[-1]["spec"]["initContainers"][-1]
        folders = (
            word for each in target.worker.staging.folders for word in (each.source, each.target, each.name)
        )
        words = ["/bin/sh", "-c", stage_in_text(), "hpclaunch-stage-in", *folders]
        assert [expand(word, shown) for word in (*copying["command"], *copying["args"])] == words


def check_environments(found: Manifest, target: KubernetesTarget) -> None:
    given = [target.launcher, target.worker] if target.launcher else [target.worker]
    for pod, template in zip(given, pods(found), strict=True):
        kept = {(secret.name, secret.key): f"value of {secret.name}/{secret.key}" for secret in pod.secrets}
        wanted = {variable.name: variable.value for variable in pod.env}
        wanted |= {secret.variable: kept[secret.name, secret.key] for secret in pod.secrets}
        assert environment(template["spec"]["containers"][0], kept) == wanted


def _joined(word: str) -> str:
    if not word.startswith(("hcas=", "near=", "cpus=", "cores=", "gpus=")):
        return word
    return word.replace(";\n", ";").replace("\n", " ")


@every
def test_every_field_is_where_its_version_has_it(target: KubernetesTarget) -> None:
    check_fields(rendered(target), target)


@every
def test_containers_start_what_the_plan_says(target: KubernetesTarget) -> None:
    check_commands(rendered(target), target, COMMON)


@every
def test_variables_are_in_the_environment_as_they_were_written(target: KubernetesTarget) -> None:
    check_environments(rendered(target), target)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(targets(), commons())
def test_any_target(target: KubernetesTarget, common: Common) -> None:
    found = yaml.load(manifest.render(plan(target, common), target), Loader=yaml.CSafeLoader)
    check_fields(found, target)
    check_commands(found, target, common)
    check_environments(found, target)


@pytest.mark.parametrize(("workers", "target"), [(2, V2BETA1), (2, V1)])
def test_a_manifest_is_as_long_for_560_nodes_as_for_two(workers: int, target: KubernetesTarget) -> None:
    assert target.mpi_job
    assert target.mpi_job.workers == workers
    many = structs.replace(target, mpi_job=structs.replace(target.mpi_job, workers=560))
    common = structs.replace(COMMON, nodes=560)
    few_lines, many_lines = (
        manifest.render(plan(each, of), each).splitlines() for each, of in ((target, COMMON), (many, common))
    )
    assert rendered(many, common)["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 560
    assert len(many_lines) == len(few_lines)


def test_why_stands_beside_what_it_explains() -> None:
    lines = [line.strip() for line in manifest.render(plan(V2BETA1), V2BETA1).splitlines()]
    assert "- wait=600 # seconds" in lines
    assert lines[lines.index("# from the launcher's start") + 1] == "activeDeadlineSeconds: 1800"
    assert lines[lines.index("# NCCL needs it") + 1] == "- name: dshm"
    above = lines.index("# the compute HCAs")
    assert lines[above + 1 : above + 3] == ["- |-", "hcas=mlx5_0/0000:00:00.0/1/InfiniBand"]


@pytest.mark.parametrize("why", ["two\nlines", "a: b\n- c", "# d", "\x85e: f", "\u2028"])
def test_no_reason_gets_out_of_its_comment(why: str) -> None:
    run = structs.replace(V2BETA1.run_policy, deadline_why=why)
    job = structs.replace(V2BETA1, run_policy=run)
    assert rendered(job) == rendered(V2BETA1)


def test_a_text_that_yaml_cannot_hold_is_refused() -> None:
    common = structs.replace(COMMON, environment=(EnvVar("A", "a\0b", "job"),))
    with pytest.raises(ValueError, match="no character of a text in YAML"):
        manifest.render(plan(ONE_RANK, common), ONE_RANK)


def test_the_secret_made_by_hand_has_what_the_pods_look_for(tmp_path: Path) -> None:
    """The command of the comment, run by bash with a stand-in for kubectl that keeps what it is given. No
    value is in its arguments, where anybody on the machine would see it."""
    found = by_hand(
        V2BETA1, tmp_path, {"WANDB_API_KEY": "it's\n$x `y`\n", "HTTPS_PROXY": "http://proxy:3128"}
    )
    assert found["arguments"] == (
        "--context adas@cluster -n adas create secret generic resnet50-env HTTPS_PROXY WANDB_API_KEY"
    )
    assert found["WANDB_API_KEY"] == "it's\n$x `y`\n"
    assert found["HTTPS_PROXY"] == "http://proxy:3128"


def test_a_secret_of_a_job_in_one_pod_is_made_alike(tmp_path: Path) -> None:
    worker = structs.replace(SEVERAL_RANKS.worker, secrets=(SecretRef("KEY", "one-env", "KEY"),))
    target = structs.replace(SEVERAL_RANKS, worker=worker, variables_secret="one-env")
    found = by_hand(target, tmp_path, {"KEY": "value"})
    assert (found["arguments"], found["KEY"]) == ("-n adas create secret generic one-env KEY", "value")


def test_a_job_that_needs_no_secret_says_nothing_of_one() -> None:
    assert (
        "secret" not in manifest.render(plan(SEVERAL_RANKS), SEVERAL_RANKS).split("\napiVersion")[0].lower()
    )


def by_hand(target: KubernetesTarget, folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """What the command in the manifest's head hands to kubectl."""
    head = manifest.render(plan(target), target).split("\napiVersion")[0]
    command = re.search(r"^#   (kubectl .*(?:\n#     .*)*)", head, re.MULTILINE)
    assert command
    kubectl = folder / "kubectl"
    kubectl.write_text("""\
#!/bin/bash
words=()
for word; do
  if [[ $word == --from-file=* ]]; then
    word=${word#*=}
    cat "${word#*=}" >"$KEPT/${word%%=*}"
    word=${word%%=*}
  fi
  words+=("$word")
done
printf %s "${words[*]}" >"$KEPT/arguments"
""")
    kubectl.chmod(0o755)
    kept = folder / "kept"
    kept.mkdir()
    env = {**variables, "PATH": f"{folder}:{os.environ['PATH']}", "KEPT": str(kept)}
    subprocess.run(["bash", "-eu"], input=command[1].replace("\n#", "\n"), env=env, text=True, check=True)
    return {path.name: path.read_bytes().decode() for path in kept.iterdir()}
