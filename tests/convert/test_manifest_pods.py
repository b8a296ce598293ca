"""How many nodes and GPUs the pods of a manifest are, where its words say it in a way of their own."""

from typing import Any

import pytest
from manifest_cases import converted

from hpclaunch.convert.draft import Draft

_GPUS = "{limits: {nvidia.com/gpu: 8}}"
_JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n"
_TORCH = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n"


def _container(command: str, resources: str = _GPUS, more: str = "") -> str:
    return f"{{containers: [{{name: c, image: a/b:1, command: {command}, resources: {resources}{more}}}]}}"


def _mpijob(command: str, workers: int = 16) -> Draft:
    launcher = f"{{template: {{spec: {_container(command, '{}')}}}}}"
    worker = f"{{replicas: {workers}, template: {{spec: {_container('[sleep]')}}}}}"
    head = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  slotsPerWorker: 8\n"
    return converted(f"{head}  mpiReplicaSpecs:\n    Launcher: {launcher}\n    Worker: {worker}\n")


def _job(
    command: str, resources: str = "{limits: {nvidia.com/gpu: 8}}", more: str = "", spec: str = ""
) -> Draft:
    head = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec:\n{spec}"
    return converted(f"{head}  template: {{spec: {_container(command, resources, more)}}}\n")


def _value(draft: Draft, key: str) -> Any:
    fact = draft.facts.get((key,))
    return "asked" if fact is not None and fact.is_open else fact.value if fact is not None else None


@pytest.mark.parametrize(
    ("options", "nodes", "per_node"),
    [
        ('-np, "16", -N, "8"', 2, 8),
        ('-np, "16", -npernode, "4"', 4, 4),
        ('-np, "128", -N, "8"', 16, 8),
        ('-np, "16", --map-by, "ppr:8:node"', 2, 8),
        ('-np, "17", -N, "8"', 16, "asked"),
        ('-np, "256", -N, "8"', 16, "asked"),
    ],
)
def test_all_ranks_and_those_of_a_node_tell_the_nodes(options: str, nodes: int, per_node: object) -> None:
    found = _mpijob(f"[mpirun, {options}, ./x]")
    assert (_value(found, "nodes"), _value(found, "ranks_per_node")) == (nodes, per_node)
    idle = any("stood idle" in each.why for each in found.findings)
    assert idle == (nodes != 16)


@pytest.mark.parametrize("options", ["-cx", "-ec", "-xec", "-ce"])
def test_a_shells_text_is_read_wherever_the_c_of_its_options_stands(options: str) -> None:
    found = _mpijob(f"[bash, {options}, 'mpirun -np 4 -x FOO=1 --bind-to none lmp']", workers=2)
    assert _value(found, "ranks_per_node") == 4
    assert found.facts["env", "FOO"].value == "1"
    assert found.facts["bind", "cpus"].value == "none"


def test_an_mpirun_in_the_words_of_another_program_tells_no_default() -> None:
    found = _mpijob('[python, wrap.py, mpirun, -np, "4", --bind-to, none, lmp]', workers=2)
    assert {_value(found, "ranks_per_node"), _value(found, "command")} == {"asked"}
    assert not any("binds ranks to cores" in each.what for each in found.findings)


@pytest.mark.parametrize(
    ("resource", "gpus"),
    [
        *(("nvidia.com/a100", 2), ("nvidia.com/rtxa6000", 2), ("nvidia.com/A100_80GB", 2)),
        *(("gpu.intel.com/i915", 2), ("amd.com/gpu", 2), ("nvidia.com/pgpu", 2)),
        *(("nvidia.com/hostdev", 0), ("nvidia.com/sriov_rdma_vf", 0), ("nvidia.com/mlnxnics", 0)),
        *(("rdma/hca", 0), ("vpc.amazonaws.com/efa", 0)),
    ],
)
def test_a_gpu_has_the_name_of_its_kind_too_and_a_nic_is_none(resource: str, gpus: int) -> None:
    found = _job("[python, t.py]", f"{{limits: {{{resource}: 2}}}}")
    assert _value(found, "gpus_per_node") == gpus
    assert any(each.became.startswith("site hint kubernetes.rdma") for each in found.findings) != bool(gpus)


def test_ranks_that_have_their_world_by_hand_find_each_other_in_the_job() -> None:
    field = "{name: RANK, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['x']\"}}}"
    more = f", env: [{{name: MASTER_ADDR, value: a-0}}, {{name: WORLD_SIZE, value: '2'}}, {field}]"
    found = _job(
        "[python, t.py]", more=more, spec="  completions: 2\n  parallelism: 2\n  completionMode: Indexed\n"
    )
    assert _value(found, "rendezvous") == "torch"
    assert not any(each.what.startswith("RANK from") for each in found.findings)


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ("  completions: ${N}\n  parallelism: ${N}\n", "asked"),
        ("  parallelism: {{ .Values.pods }}\n", "asked"),
        ("  completions: some\n  completionMode: Indexed\n", "asked"),
        ("  completions: 4\n  completionMode: Indexed\n", "asked"),  # one pod after another
        ("  completions: 4\n  parallelism: 4\n  completionMode: Indexed\n", 4),
        ("  completions: 1\n", 1),
        ("", 1),
    ],
)
def test_how_many_pods_a_job_has_is_asked_where_its_numbers_do_not_tell_it(spec: str, nodes: object) -> None:
    found = _job("[python, t.py]", spec=spec)
    assert _value(found, "nodes") == nodes


@pytest.mark.parametrize(
    ("host", "nodes"), [("--hostfile, /etc/h", "asked"), ("-H, 'a:4,b:4'", "asked"), ("-H, a", 1)]
)
def test_an_mpirun_over_other_hosts_than_its_pod_tells_no_nodes(host: str, nodes: object) -> None:
    found = _job(f'[mpirun, -np, "8", {host}, ./x]')
    assert _value(found, "nodes") == nodes
    assert any(each.what == "the pods of the ranks" for each in found.findings) == (nodes == "asked")


@pytest.mark.parametrize(
    ("options", "nodes", "ranks"),
    [
        ("--host, 'w-0:4,w-1:4'", 2, 4),
        ("--host, 'w-0,w-1'", 2, "asked"),  # how many slots these have nobody tells
        ("-np, '4', -H, 'w-0:2,w-1:2'", 2, 2),
        ("-np, '16', --host, 'w-0,w-1'", 2, 8),
    ],
)
def test_the_hosts_of_an_mpirun_are_pods_of_the_workers(options: str, nodes: object, ranks: object) -> None:
    found = _mpijob(f"[mpirun, {options}, ./x]", workers=2)
    assert (_value(found, "nodes"), _value(found, "ranks_per_node")) == (nodes, ranks)


@pytest.mark.parametrize("duration", ["2h", "-k 10 3600"])
def test_what_stands_around_a_launcher_is_said_with_its_words(duration: str) -> None:
    words = ", ".join(f'"{each}"' for each in ["timeout", *duration.split(), "mpirun", "-np", "16", "./x"])
    found = _mpijob(f"[{words}]", workers=2)
    assert f"timeout {duration}" in {each.what for each in found.findings if each.kind == "left"}


def test_torchrun_of_a_pytorchjob_without_gpus_has_no_default() -> None:
    template = f"{{spec: {_container('[torchrun, t.py]', '{}').replace('name: c', 'name: pytorch')}}}"
    head = (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n"
    )
    found = converted(f"{head}    Worker: {{replicas: 2, template: {template}}}\n")
    assert _value(found, "ranks_per_node") == "asked"


def test_a_limit_of_no_time_is_a_defect() -> None:
    found = _job("[python, t.py]", spec="  activeDeadlineSeconds: 0\n")
    assert any(each.kind == "defect" and "activeDeadlineSeconds" in each.what for each in found.findings)
    assert not any(each.what == "no line gives a time limit" for each in found.findings)


@pytest.mark.parametrize(
    ("volume", "is_left"), [("", False), (", volumeMounts: [{name: v, mountPath: /c}]", True)]
)
def test_a_config_map_of_variables_alone_makes_no_files(volume: str, is_left: bool) -> None:
    source = "" if is_left else ", envFrom: [{configMapRef: {name: m}}]"
    config_map = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {A: "1"}\n---\n'
    pod = _container("[python, t.py]", more=source + volume)
    pod = pod[:-1] + (", volumes: [{name: v, configMap: {name: m}}]}" if is_left else "}")
    found = converted(f"{config_map}{_JOB}  template: {{spec: {pod}}}\n")
    assert any("must be in the namespace" in each.why for each in found.findings) == is_left


@pytest.mark.parametrize("before", ["time ", "time -p ", "export A=1 && time "])
def test_what_is_timed_is_the_launch(before: str) -> None:
    draft = _job(f"[sh, -c, '{before}mpirun -np 4 ./t']", more="")
    assert (_value(draft, "ranks_per_node"), _value(draft, "command")) == (4, ["./t"])


def test_numbers_that_a_pods_shell_adds_up_are_known() -> None:
    draft = _job("[sh, -c, 'mpirun -np $((2*4)) ./t --bytes $((1024*9)) --of $((N+1))']")
    assert _value(draft, "ranks_per_node") == 8
    assert not any(each.what.startswith("$(...)") for each in draft.findings)


@pytest.mark.parametrize(
    ("text", "per_node"),
    [
        ("mpirun -np 4 ./t || ./other", 4),
        ("torchrun --nproc_per_node=4 t.py || true", "asked"),
        ("if [ -d /data ]; then torchrun --nproc_per_node=4 t.py; fi", "asked"),
    ],
)
def test_a_launcher_that_depends_on_other_commands_is_asked_for(text: str, per_node: object) -> None:
    draft = _job(f"[bash, -c, '{text}']")
    assert (_value(draft, "command"), _value(draft, "ranks_per_node")) == ("asked", per_node)


def test_a_path_of_credentials_is_a_variable_and_an_empty_key_stands_nowhere() -> None:
    env = (
        ", env: [{name: GOOGLE_APPLICATION_CREDENTIALS, value: gcs.json}, {name: A_TOKEN_X, value: /etc/t}, "
        "{name: WANDB_API_KEY, value: }]"
    )
    draft = _job("[python, t.py]", more=env)
    assert draft.facts["env", "GOOGLE_APPLICATION_CREDENTIALS"].value == "gcs.json"
    assert not [each for each in draft.findings if "stands in the manifest" in each.what]


def test_parameters_of_the_workers_that_sshd_keeps_from_the_ranks_are_told() -> None:
    worker = (
        "{replicas: 2, template: {spec: {containers: [{name: w, image: a/b:1, command: [/usr/sbin/sshd], "
        "env: [{name: OMPI_MCA_btl_vader_single_copy_mechanism, value: none}]}]}}}"
    )
    launcher = f"{{template: {{spec: {_container('[mpirun, ./t]', '{}')}}}}}"
    head = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  slotsPerWorker: 8\n"
    draft = converted(f"{head}  mpiReplicaSpecs:\n    Launcher: {launcher}\n    Worker: {worker}\n")
    said = [each.what for each in draft.findings if each.kind == "defect"]
    assert "OMPI_MCA_btl_vader_single_copy_mechanism did not reach the ranks" in said


@pytest.mark.parametrize("value", ["$(MASTER_ADDR):$(MASTER_PORT)", '"$(MASTER_ADDR):1"', "$MASTER_ADDR:1"])
def test_what_the_operator_tells_does_not_hide_a_launcher_in_a_text(value: str) -> None:
    text = f"torchrun --nnodes=3 --nproc_per_node=2 --rdzv_endpoint={value} b.py"
    pod = f"{{template: {{spec: {_container('[bash, -c]', _GPUS, f', args: [{text!r}]')}}}"
    found = converted(f"{_TORCH}    Master: {pod}}}\n    Worker: {pod}, replicas: 2}}\n")
    assert (_value(found, "ranks_per_node"), _value(found, "nodes")) == (2, 3)
    assert _value(found, "command") == ["python", "-u", "b.py"]


def test_a_value_of_a_secret_does_not_hide_a_launcher_in_a_text() -> None:
    env = ", env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: s, key: t}}}]"
    found = _job("[bash, -c, 'torchrun --nproc_per_node=4 t.py --token $(HF_TOKEN)']", more=env)
    assert (_value(found, "ranks_per_node"), "${HF_TOKEN}" in _value(found, "command")) == (4, True)


def test_an_item_without_a_value_is_told() -> None:
    found = _job("[python, t.py, --config, null]")
    assert _value(found, "command") == ["python", "t.py", "--config", ""]
    assert [each.what for each in found.findings if each.kind == "question"] == ["an item of command"]


def test_variables_of_an_init_container_are_those_of_its_step() -> None:
    init = (
        "initContainers: [{name: get, image: a/b:1, command: [sh, -c, 'hf get m'],"
        " env: [{name: HF_HOME, value: '/d a'}, {name: SAME, value: x},"
        " {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]"
    )
    env = "env: [{name: SAME, value: x}]"
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
    found = converted(f"{head}  {init}\n  containers: [{{name: c, image: a/b:1, command: [./t], {env}}}]\n")
    assert found.facts["setup", 0].value["run"] == "export 'HF_HOME=/d a'; hf get m"
    assert [each.what for each in found.findings if each.kind == "left"] == ["KEY of the init container get"]


def test_what_no_job_has_is_not_said_to_be_for_all() -> None:
    pod = "{spec: {containers: [{name: c, image: a/b:1, command: [./t]MORE}]}}"
    master = pod.replace("MORE", ", lifecycle: {preStop: {exec: {command: [sync]}}}")
    found = converted(
        f"{_TORCH}    Master: {{template: {master}}}\n    Worker: {{template: {pod.replace('MORE', '')}}}\n"
    )
    assert not [each for each in found.findings if "all have it" in each.why]
    assert [each.kind for each in found.findings if "lifecycle" in each.what] == ["left"]


@pytest.mark.parametrize(
    ("own", "of_pod", "user"),
    [("{runAsUser: 0}", "{runAsUser: 7}", 0), ("{}", "{runAsUser: 7}", 7), ("{runAsUser: 3}", "{}", 3)],
)
def test_a_containers_own_user_goes_before_its_pods(own: str, of_pod: str, user: int) -> None:
    container = _container("[python, t.py]", more=f", securityContext: {own}")
    spec = f"{container[:-1]}, securityContext: {of_pod}}}"
    found = converted(f"{_JOB}  template: {{spec: {spec}}}\n")
    assert found.hints["user"] == user
    assert any("goes before it" in each.why for each in found.findings) == (user == 0)


def test_the_first_name_that_kubernetes_had_for_gpus_is_one_of_gpus() -> None:
    found = _job("[python, t.py]", "{limits: {alpha.kubernetes.io/nvidia-gpu: 4}}")
    assert _value(found, "gpus_per_node") == 4
    assert not found.hints


_ASTRAY = "[{name: d, resources: {limits: {nvidia.com/gpu: 4}}}]"


@pytest.mark.parametrize(
    ("pod", "gpus"),
    [
        (f"extendedResources: {_ASTRAY}", "asked"),
        ("resources: {limits: {nvidia.com/gpu: 4}}", "asked"),
        (f"initContainers: {_ASTRAY}", 0),
        ("nodeSelector: {nvidia.com/gpu: '1'}", 0),
        ("resources: {limits: {cpu: 4}}", 0),
    ],
)
def test_gpus_that_stand_in_no_container_are_asked_for(pod: str, gpus: object) -> None:
    spec = _container("[./t]", "{}").removesuffix("}")
    found = converted(f"{_JOB}  template: {{spec: {spec}, {pod}}}}}\n")
    assert _value(found, "gpus_per_node") == gpus


def test_what_all_containers_of_a_pod_have_together_is_told_by_each_amount() -> None:
    spec = _container("[./t]", "{}").removesuffix("}")
    amounts = "limits: {cpu: 4, hugepages-2Mi: 8Mi}, requests: {memory: 2Gi}"
    found = converted(f"{_JOB}  template: {{spec: {spec}, resources: {{{amounts}}}}}}}\n")
    said = {each.what: each.kind for each in found.findings if "of the pod" in each.what}
    assert said == {
        "limits cpu of the pod: 4": "replaced",
        "limits hugepages-2Mi of the pod: 8Mi": "left",
        "requests memory of the pod: 2Gi": "replaced",
    }


def test_pods_without_gpus_have_none_that_stand_idle() -> None:
    launcher = f"{{template: {{spec: {_container('[mpirun, -np, 2, ./x]', '{}')}}}}}"
    worker = f"{{replicas: 4, template: {{spec: {_container('[sleep]', '{}')}}}}}"
    head = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  slotsPerWorker: 1\n"
    found = converted(f"{head}  mpiReplicaSpecs:\n    Launcher: {launcher}\n    Worker: {worker}\n")
    said = next(each.why for each in found.findings if "stood idle" in each.why)
    assert said.endswith("ranks were on 2 of 4 pods, and the others stood idle")


@pytest.mark.parametrize(
    ("resources", "said"),
    [(_GPUS, "pods that had not ended kept their GPUs"), ("{}", "pods that had not ended kept their cores")],
)
def test_pods_that_nobody_deletes_keep_what_they_have(resources: str, said: str) -> None:
    master = f"    Master: {{replicas: 1, template: {{spec: {_container('[./t]', resources)}}}}}\n"
    found = converted(f"{_TORCH}{master}  runPolicy: {{cleanPodPolicy: None}}\n")
    (why,) = (each.why for each in found.findings if each.what == "cleanPodPolicy: None")
    assert why.startswith(said)


@pytest.mark.parametrize(
    ("limits", "gpus", "said"),
    [
        ("nvidia.com/gpu: 2, nvidia.com/gpumem: 3000, nvidia.com/gpucores: 30", 2, "nvidia.com/gpumem: 3000"),
        ("nvidia.com/gpumem: 3000, nvidia.com/gpu: 2", 2, "nvidia.com/gpumem: 3000"),
        ("volcano.sh/vgpu-number: 2, volcano.sh/vgpu-memory: 3000", 2, "volcano.sh/vgpu-memory: 3000"),
        ("aliyun.com/gpu-mem: 3", "asked", "aliyun.com/gpu-mem: 3"),
        ("tencent.com/vcuda-core: 50", "asked", "tencent.com/vcuda-core: 50"),
        ("cambricon.com/mlu: 2", 0, "cambricon.com/mlu: 2"),
    ],
)
def test_a_part_of_a_gpu_is_no_number_of_gpus_and_no_hca(limits: str, gpus: object, said: str) -> None:
    found = _job("[./t]", f"{{limits: {{{limits}}}}}")
    assert _value(found, "gpus_per_node") == gpus
    assert any(each.kind == "left" and each.what == said for each in found.findings)
    assert "kubernetes.rdma" not in found.hints


def test_a_fraction_of_a_gpu_that_an_annotation_asks_for_is_asked_about() -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {gpu-fraction: '0.5'}}\nspec: "
    fact = converted(f"{head}{_container('[./t]', '{}')}\n").facts[("gpus_per_node",)]
    assert fact.is_open
    assert "gpu-fraction: 0.5" in fact.question


def test_gpus_of_a_sidecar_are_said_to_be_its_own() -> None:
    server = "{name: s, image: a/b:1, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 1}}}"
    found = _job("[./x]", "{}", f"}}], initContainers: [{server}], volumes: [{{name: v, emptyDir: {{}}")
    (said,) = (each for each in found.findings if "a sidecar" in each.why)
    assert "nvidia.com/gpu: 1 is its own" in said.why


@pytest.mark.parametrize(
    ("user", "is_one"), [("1002240000", True), ("2147483647", True), ("2147483648", False)]
)
def test_users_of_openshift_are_users(user: str, is_one: bool) -> None:
    found = _job("[./x]", "{}", f", securityContext: {{runAsUser: {user}}}")
    assert ("user" in found.hints) == is_one


@pytest.mark.parametrize(
    ("of_first", "of_others"), [("{}", 2), ("{limits: {nvidia.com/gpu: 4}}", 2), (_GPUS, 8)]
)
def test_other_gpus_of_the_workers_are_asked_about_and_not_said_to_be_alike(
    of_first: str, of_others: int
) -> None:
    first, others = (
        f"{{replicas: 1, template: {{spec: {_container('[python, t.py]', each)}}}}}"
        for each in (of_first, f"{{limits: {{nvidia.com/gpu: {of_others}, cpu: 4}}}}")
    )
    found = converted(f"{_TORCH}    Master: {first}\n    Worker: {others}\n")
    is_asked = of_others != 8
    assert (_value(found, "gpus_per_node") == "asked") == is_asked
    alike = {each.what for each in found.findings if "have what the first of them has" in each.why}
    assert alike == {"cpu of the Worker", *(() if is_asked else ("nvidia.com/gpu of the Worker",))}


@pytest.mark.parametrize(("indent", "is_the_jobs"), [("  ", True), ("      ", False)])
def test_a_rule_of_the_job_that_stands_in_its_pod_is_said_to_have_no_effect(
    indent: str, is_the_jobs: bool
) -> None:
    rule = f"{indent}ttlSecondsAfterFinished: 60\n"
    text = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: tide}\nspec:\n"
        f"{rule * is_the_jobs}  template:\n    spec:\n{rule * (not is_the_jobs)}"
        "      containers:\n      - {name: c, image: 'reg.io/tide:1', command: [./tide]}\n"
    )
    draft = converted(text)
    unread = [each.what for each in draft.findings if "no such field in this place" in each.why]
    assert ("kubernetes.ttl" in draft.hints, len(unread)) == (is_the_jobs, not is_the_jobs)
