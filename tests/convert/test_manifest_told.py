"""What a pod's controller or its status tells it does not become something else in the job."""

import pytest
from manifest_cases import converted

POD = (
    "{containers: [{name: c, image: a/b:1, command: %s, env: %s, resources: {limits: {nvidia.com/gpu: 8}}}]}"
)


def template(command: str, env: str = "[]") -> str:
    return "{spec: " + POD % (command, env) + "}"


def indexed(command: str) -> str:
    head = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completions: 4\n"
    return f"{head}  parallelism: 4\n  completionMode: Indexed\n  template: {template(command)}\n"


def torch(command: str, per_node: int, of_master: str = "[]") -> str:
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n"
    return (
        f'{head}  nprocPerNode: "{per_node}"\n  pytorchReplicaSpecs:\n'
        f"    Master: {{replicas: 1, template: {template(command, of_master)}}}\n"
        f"    Worker: {{replicas: 3, template: {template(command)}}}\n"
    )


POD_IP = "[{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]"


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        (indexed('[python, a.py, "$(JOB_COMPLETION_INDEX)"]'), "JOB_COMPLETION_INDEX"),
        (indexed('[sh, -c, "python a.py $JOB_COMPLETION_INDEX"]'), "JOB_COMPLETION_INDEX"),
        (torch('[torchrun, a.py, "$(RANK)"]', 8), "RANK"),
        (torch('[sh, -c, "torchrun --node_rank=$RANK a.py ${WORLD_SIZE}"]', 8), "WORLD_SIZE"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " + POD % ("[a, $(IP)]", POD_IP), "IP"),
    ],
)
def test_a_value_that_ranks_do_not_have_is_asked_for(manifest: str, name: str) -> None:
    draft = converted(manifest)
    assert draft.facts["command",].is_open
    assert name in draft.facts["command",].question


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ('[python, a.py, "$(MASTER_ADDR)", "$(RANK)"]', 'exec python a.py "$MASTER_ADDR" "$RANK"'),
        ('[python, a.py, "$$(RANK)", "$(NO)"]', ["python", "a.py", "$(RANK)", "$(NO)"]),
        ("[python, a.py]", ["python", "a.py"]),
    ],
)
def test_what_the_operator_tells_pods_of_one_rank_ranks_have_too(
    words: str, command: str | list[str]
) -> None:
    draft = converted(torch(words, 1))
    assert draft.facts["command",].value == command


def test_a_program_that_may_read_its_index_is_said() -> None:
    assert ("left", "completionMode: Indexed") in {
        (each.kind, each.what) for each in converted(indexed("[python, a.py]")).findings
    }


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("[python, a.py]", ["python", "a.py"]),
        ('[python, a.py, "$(JOB_COMPLETION_INDEX)"]', ["python", "a.py", "0"]),
    ],
)
def test_the_number_of_the_only_pod_is_known(words: str, command: list[str]) -> None:
    draft = converted(indexed(words).replace(": 4", ": 1"))
    assert draft.facts["env", "JOB_COMPLETION_INDEX"].value == "0"
    assert draft.facts["command",].value == command
    assert not any(each.what == "completionMode: Indexed" for each in draft.findings)


def test_a_number_that_the_container_has_itself_stays() -> None:
    own = indexed("[python, a.py]").replace(": 4", ": 1")
    own = own.replace("env: []", 'env: [{name: JOB_COMPLETION_INDEX, value: "7"}]')
    assert converted(own).facts["env", "JOB_COMPLETION_INDEX"].value == "7"


def test_a_job_whose_pods_have_no_number_has_none() -> None:
    draft = converted(indexed("[python, a.py]").replace(": 4", ": 1").replace("Indexed", "NonIndexed"))
    assert ("env", "JOB_COMPLETION_INDEX") not in draft.facts


def test_an_image_with_a_name_to_fill_in_is_asked_for() -> None:
    assert converted(indexed("[a]").replace("a/b:1", '"a/b:${TAG}"')).facts["image",].is_open


@pytest.mark.parametrize(
    ("command", "waits"),
    [
        ("[sleep, infinity]", True),
        ("[/bin/sleep, '86400']", True),
        ("[tail, -f, /dev/null]", True),
        ('[bash, -c, "trap : TERM INT; sleep infinity & wait"]', True),
        ('[sh, -c, "service ssh restart; while true; do sleep 99999; done"]', True),
        ("[sleep, '10']", False),
        ('[sh, -c, "sleep 600; python a.py"]', False),
        ("[python, a.py, --sleep, infinity]", False),
        ("[torchrun, sleep, infinity]", False),
    ],
)
def test_a_pod_that_only_waits_is_no_launch_and_that_is_asked(command: str, waits: bool) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: "
    said = [each for each in converted(head + POD % (command, "[]")).findings if "sleeps" in each.what]
    assert [each.kind for each in said] == ["question"] * waits


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("[bash, /scripts/run.sh]", True),
        ("[/scripts/run.sh, --lr, '1']", True),
        ('[sh, -c, "cd /w; exec /scripts/run.sh"]', True),
        ("[python, a.py, --config, /scripts2/c.yaml]", False),
        ("[python, a.py]", False),
    ],
)
def test_what_a_script_of_a_config_map_does_is_asked_where_the_command_has_it(
    command: str, asked: bool
) -> None:
    pod = (
        f"{{containers: [{{name: c, image: a/b:1, command: {command}, "
        "volumeMounts: [{name: s, mountPath: /scripts}]}], volumes: [{name: s, configMap: {name: m}}]}"
    )
    draft = converted(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {pod}")
    said = [each for each in draft.findings if each.kind == "question" and "config map" in each.what]
    assert len(said) == asked


@pytest.mark.parametrize(
    ("shell", "is_said"),
    [("bash, -lc", True), ("bash, -l, -c", True), ("sh, --login, -c", True), ("bash, -c", False)],
)
def test_a_login_shell_in_front_of_a_launcher_is_told(shell: str, is_said: bool) -> None:
    found = converted(indexed(f'[{shell}, "torchrun --nproc_per_node=8 t.py"]'))
    assert any("/etc/profile" in each.why for each in found.findings) == is_said
    alone = converted(indexed(f'[{shell}, "python t.py"]')).facts["command",].value
    assert (alone[1:-2] != [] or "l" in alone[1]) == is_said  # without a launcher it is in the command


@pytest.mark.parametrize(
    ("command", "is_said", "per_node"),
    [
        ("[bash, /workspace/run.sh]", True, "asked"),
        ("[bash, -c, 'cd /w && ./train.sh 4']", True, "asked"),
        ("[bash, -c, 'cd /w && exec ./start']", True, "asked"),
        ("[/opt/train, --all]", True, "asked"),
        ("[python3, train.py]", False, 1),
        ("[bash, -c, 'cd /w && python train.py']", False, 1),
        ("[torchrun, train.py]", False, 8),
    ],
)
def test_a_script_of_a_pytorchjob_may_start_a_torchrun_that_the_operator_told_its_options(
    command: str, is_said: bool, per_node: object
) -> None:
    found = converted(torch(command, 8))
    assert any("PET_NNODES" in each.why for each in found.findings) == is_said
    fact = found.facts["ranks_per_node",]
    assert ("asked" if fact.is_open else fact.value) == per_node


@pytest.mark.parametrize("meta", ["{name: fit}", "{name: fit, creationTimestamp: null}"])
def test_a_name_alone_in_the_metadata_of_pods_is_said_to_be_one(meta: str) -> None:
    found = converted(f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: fit}}
spec:
  template:
    metadata: {meta}
    spec: {{containers: [{{name: c, image: "reg/x:1", command: [./fit]}}]}}
""").findings
    said = {each.what: each.kind for each in found if "template.metadata" in each.what}
    assert said["spec.template.metadata.name: fit"] == "without effect"
    assert set(said.values()) == {"without effect"}
