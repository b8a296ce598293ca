"""Variables of manifests as launchers hand them on, and values that the API does not fill in."""

import pytest
import yaml
from manifest_cases import converted, findings, hints

SECRET = "[{name: KEY, valueFrom: {secretKeyRef: {name: vault, key: token}}}]"
WORKER = (
    "    Worker:\n      replicas: 2\n      template: {spec: {containers: [{name: w, image: 'a.b/c:1', "
    "resources: {limits: {nvidia.com/gpu: 8}}}]}}\n"
)


def mpijob(command: str, env: str = "[]") -> str:
    return (
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  slotsPerWorker: 8\n"
        "  mpiReplicaSpecs:\n    Launcher:\n      template:\n        spec:\n          containers:\n"
        f"          - name: l\n            image: a.b/c:1\n            env: {env}\n"
        f"            command: {command}\n{WORKER}"
    )


@pytest.mark.parametrize(
    "command",
    ['[mpirun, -x, "KEY=$(KEY)", ./run]', '[sh, -c, "mpirun -x KEY=$KEY ./run"]', "[mpirun, -x, KEY, ./run]"],
)
def test_a_secret_that_mpirun_hands_on_is_one_of_the_job(command: str) -> None:
    draft = converted(mpijob(command, SECRET))
    assert draft.facts["secrets", 0].value == "KEY"
    assert ("env", "KEY") not in draft.facts
    assert not {"question", "defect"} & {row[0] for row in findings(draft)}


def test_a_secret_that_ranks_have_under_another_name_is_that_of_the_site() -> None:
    draft = converted(mpijob('[mpirun, -x, "TOKEN_OF_RANKS=$(KEY)", ./run]', SECRET))
    assert {fact.value for key, fact in draft.facts.items() if key[0] == "secrets"} >= {"TOKEN_OF_RANKS"}
    assert hints(draft)["kubernetes.secrets.TOKEN_OF_RANKS"] == {"name": "vault", "key": "token"}


@pytest.mark.parametrize(
    ("command", "value"),
    [
        ("[mpirun, -x, LR=$(LR), ./run]", "0.5"),
        ("[mpirun, -x, LR=0.7, ./run]", "0.7"),
        ('[sh, -c, "export LR=0.9; mpirun -x LR=$LR ./run"]', "0.9"),
    ],
)
def test_a_value_that_mpirun_hands_on_reaches_the_ranks(command: str, value: str) -> None:
    draft = converted(mpijob(command, "[{name: LR, value: '0.5'}]"))
    assert draft.facts["env", "LR"].value == value
    assert "defect" not in {row[0] for row in findings(draft)}


def test_what_mpirun_asks_of_root_is_none_of_the_ranks() -> None:
    env = "[{name: OMPI_ALLOW_RUN_AS_ROOT, value: '1'}, {name: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, value: '1'}]"
    draft = converted(mpijob("[mpirun, ./run]", env))
    assert not [key for key in draft.facts if key[0] == "env"]
    assert "defect" not in {row[0] for row in findings(draft)}


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        (
            '[sh, -c, "mpirun -x LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH ./run -b 8"]',
            'export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; exec ./run -b 8',
        ),
        (
            '[sh, -c, "mpirun -x PYTHONPATH=/a:${PYTHONPATH} ./run --seed $SEED"]',
            'export PYTHONPATH=/a:"$PYTHONPATH"; ./run --seed $SEED',
        ),
    ],
)
def test_what_is_added_to_a_variable_of_the_image_each_rank_adds(command: str, becomes: str) -> None:
    draft = converted(mpijob(command))
    assert draft.facts["command",].value == becomes
    assert not any(fact.is_open for fact in draft.facts.values())


def test_what_another_variable_has_is_asked_for() -> None:
    draft = converted(mpijob('[sh, -c, "mpirun -x LD_LIBRARY_PATH=/opt/lib:$LIBRARY_PATH ./run"]'))
    assert draft.facts["env", "LD_LIBRARY_PATH"].is_open


@pytest.mark.parametrize(
    "image", ["<account>.dkr.ecr.eu.amazonaws.com/<image>:<tag>", "a.b/c:{TAG}", "$IMAGE"]
)
def test_an_image_with_places_to_fill_in_is_asked_for(image: str) -> None:
    assert converted(mpijob("[mpirun, ./run]").replace("a.b/c:1", image)).facts["image",].is_open


def test_accelerators_that_are_no_gpus_are_no_hcas() -> None:
    text = mpijob("[mpirun, ./run]").replace(
        "nvidia.com/gpu: 8", "aws.amazon.com/neuron: 16, vpc.amazonaws.com/efa: 1"
    )
    draft = converted(text)
    assert hints(draft)["kubernetes.rdma"] == {"HCA-OF-efa": "vpc.amazonaws.com/efa"}
    assert ["left", "aws.amazon.com/neuron: 16"] in [[row[0], row[2]] for row in findings(draft)]


def test_networks_in_json_are_hints_like_those_in_words() -> None:
    rows = '[{"name": "rail-0", "namespace": "nets"}, {"name": "rail-1", "interface": "eth9"}]'
    meta = f"metadata: {{annotations: {{k8s.v1.cni.cncf.io/networks: '{rows}'}}}}, spec"
    draft = converted(mpijob("[mpirun, ./run]").replace("template: {spec", f"template: {{{meta}"))
    assert hints(draft)["kubernetes.networks"] == ["nets/rail-0", "rail-1"]
    assert any(row[0] == "left" and "interface" in row[2] for row in findings(draft))


def test_an_empty_folder_that_the_site_is_told_of_is_told_once() -> None:
    pod = yaml.safe_load(mpijob("[mpirun, ./run]"))
    spec = pod["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    draft = converted(yaml.safe_dump(pod))
    assert hints(draft)["volumes.scratch"] == {"empty_dir": {}}
    assert not [row for row in findings(draft) if row[0] == "left"]


def test_a_file_without_any_object_of_kubernetes_is_called_that() -> None:
    draft = converted("tasks: 4\nscript: run.sh\n")
    assert "no object with a kind" in draft.refused


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {containers: [{name: c, image: a.b/c:1, command: COMMAND}]}}}
"""


@pytest.mark.parametrize(
    "command",
    [
        "[numactl, --cpunodebind=0, ./run]",
        '[sh, -c, "exec taskset -c 0-7 ./run"]',
        "[mpirun, -np, 8, bindpcie, ./run]",
        "[mpirun, -np, 8, likwid-pin, -c, 0-7, ./run]",
    ],
)
def test_a_command_that_binds_itself_is_bound_by_nobody_else(command: str) -> None:
    draft = converted(JOB.replace("COMMAND", command))
    assert (draft.facts["bind", "cpus"].value, draft.facts["bind", "memory"].value) == ("none", "none")
    binders = ("numactl", "taskset", "bindpcie", "likwid-pin")
    assert any(each in str(draft.facts["command",].value) for each in binders)


@pytest.mark.parametrize(("value", "is_said"), [("value:", True), ("value: ''", False), ("value: x", False)])
def test_a_value_that_was_to_be_filled_in_is_said(value: str, is_said: bool) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n"
        f"    image: a/b:1\n    command: [./x]\n    env:\n    - name: DATA\n      {value}\n"
    )
    found = converted(text)
    assert any(each.kind == "left" and "env.DATA" in each.todo for each in found.findings) == is_said


_UNBOUND = {"cpus": "none", "memory": "none"}


@pytest.mark.parametrize(
    ("words", "name", "value", "ranks", "bind"),
    [
        ("", "OMPI_MCA_rmaps_base_mapping_policy", "ppr:2:node", 2, {}),
        ("", "PRTE_MCA_rmaps_default_mapping_policy", "ppr:2:node", 2, {}),
        ("", "OMPI_MCA_hwloc_base_binding_policy", "none", 8, _UNBOUND),
        ("", "PRTE_MCA_hwloc_default_binding_policy", "none", 8, _UNBOUND),
        ("--bind-to, core, ", "OMPI_MCA_hwloc_base_binding_policy", "none", 8, {}),
        ("", "I_MPI_PIN", "0", 8, _UNBOUND),
        ("", "I_MPI_PIN_DOMAIN", "numa", 8, _UNBOUND),
    ],
)
def test_variables_that_mpirun_takes_for_options(
    words: str, name: str, value: str, ranks: int, bind: dict[str, str]
) -> None:
    text = mpijob(f"[mpirun, {words}./run]", f"[{{name: {name}, value: '{value}'}}]")
    if name.startswith("I_MPI"):
        text = text.replace("spec:\n", "spec:\n  mpiImplementation: Intel\n", 1)
    draft = converted(text)
    assert draft.facts["ranks_per_node",].value == ranks
    assert {key[1]: fact.value for key, fact in draft.facts.items() if key[0] == "bind"} == bind
    assert not [row for row in findings(draft) if bind and "cpus: local" in str(row)]


def test_ranks_of_several_slots_each_are_asked_for() -> None:
    draft = converted(mpijob("[mpirun, --map-by, 'socket:PE=4', ./run]"))
    assert draft.facts["ranks_per_node",].is_open
    assert (
        converted(mpijob("[mpirun, -np, '16', --map-by, 'socket:PE=4', ./run]"))
        .facts["ranks_per_node",]
        .value
        == 8
    )


def _of_pod(entries: str, more: str = "") -> tuple[dict[str, object], list[object], str]:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n"
    pod += "    image: a.b/c:1\n    command: [./run]\n    resources: {limits: {nvidia.com/gpu: 1}}\n"
    draft = converted(f"{pod}    env: [{entries}]\n{more}")
    env = {str(key[1]): fact.value for key, fact in draft.facts.items() if key[0] == "env"}
    secrets = [fact.value for key, fact in draft.facts.items() if key[0] == "secrets"]
    said = "\n".join(f"{each.kind} {each.what}: {each.why}" for each in draft.findings)
    return env, secrets, said


@pytest.mark.parametrize(
    ("of", "more"),
    [
        ("{name: N, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", ""),
        ("{name: N, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}", ""),
        ("{name: O, value: x}", "    envFrom: [{configMapRef: {name: m}}]\n"),
    ],
)
def test_a_value_that_is_made_of_one_that_the_cluster_gives_is_asked_for(of: str, more: str) -> None:
    env, secrets, said = _of_pod(f"{of}, {{name: A, value: x-$(N)}}, {{name: B, value: $$(N)}}", more)
    assert (env["A"], env["B"], secrets) == (None, "$(N)", [])
    assert "it has that of N, which the cluster gives to the pod" in said


def test_a_value_that_is_made_of_the_address_of_a_service_is_asked_for() -> None:
    env, _, _ = _of_pod("{name: A, value: $(DB_SERVICE_HOST):1}, {name: B, value: $(DB)}")
    assert (env["A"], env["B"]) == (None, "$(DB)")


def test_a_value_that_has_a_secret_in_it_is_one() -> None:
    env, secrets, said = _of_pod(
        f"{SECRET[1:-1]}, {{name: URL, value: http://$(KEY)@h}}, {{name: C, value: $(KEY)}}"
    )
    assert (env, secrets) == ({}, ["KEY", "URL", "C"])
    assert "left the value of URL: it has that of KEY, which is in a Secret" in said
    assert "the value of C" not in said


@pytest.mark.parametrize(
    ("key", "said"), [("level", "and has no key level"), ("LEVEL", ""), ("other", "and has no key other")]
)
def test_a_key_that_a_given_config_map_does_not_have_is_said_to_be_missing(key: str, said: str) -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tide}\ndata: {LEVEL: high}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"
        "  - name: c\n    image: reg/x:1\n    command: [./t]\n"
        f"    env: [{{name: L, valueFrom: {{configMapKeyRef: {{name: tide, key: {key}}}}}}}]\n"
    )
    fact = converted(text).facts["env", "L"]
    assert (fact.value == "high", said in fact.question) == (not said, True)
