"""A launcher that a pod's shell has in a variable of the container, or of its text."""

import pytest
from manifest_cases import converted, job, of_shell

_WHOLE = "value: torchrun --nproc_per_node=8 train.py"


def _converted(text: str, value: str):
    return of_shell(text, 8, more=f"env: [{{name: RUN, {value}}}]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$RUN train.py", "value: torchrun --nproc_per_node=8"),
        ("exec ${RUN} --nproc_per_node=8 train.py", "value: torchrun"),
        ("echo start\n$RUN\necho end", _WHOLE),
        ("echo $RUN\neval $RUN", _WHOLE),
        ('eval "${RUN}"', _WHOLE),
        ('bash -c "$RUN"', _WHOLE),
        ('CMD="torchrun --nproc_per_node=8 train.py"\neval "$CMD"', "value: x"),
        ("eval $RUN", "value: accelerate launch --num_processes 8 train.py"),
    ],
)
def test_it_is_read_where_its_variable_stands(text: str, value: str) -> None:
    found = {key: value for key, (value, _) in job(_converted(text, value)).items()}
    assert found["ranks_per_node"] == 8
    assert found["rendezvous"] == "torch"
    assert found["command"] == ["python", "-u", "train.py"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('eval "$RUN"', "value: 'torchrun --nproc_per_node=8 train.py --name \"a b\"'"),
        ("$RUN train.py", "valueFrom: {configMapKeyRef: {name: m, key: k}}"),
    ],
)
def test_what_nobody_can_tell_of_it_is_asked(text: str, value: str) -> None:
    facts = _converted(text, value).facts
    assert facts[("ranks_per_node",)].is_open
    assert facts[("command",)].is_open


@pytest.mark.parametrize("text", ["$RUN train.py", "echo $RUN", 'python train.py --by "$RUN"'])
def test_other_variables_ask_nothing(text: str) -> None:
    value = "value: python3" if text.startswith("$") else _WHOLE
    assert job(_converted(text, value))["ranks_per_node"][0] == 1


@pytest.mark.parametrize(
    ("value", "env", "ranks"),
    [("${RUN:-4}", "value: '8'", 8), ("${PER_NODE:-4}", "value: x", 4), ("${RUN:-4}", "value: ''", 4)],
)
def test_a_default_in_a_launchers_line_counts_where_nothing_is_told(value: str, env: str, ranks: int) -> None:
    draft = _converted(f"torchrun --nproc_per_node={value} train.py", env)
    assert job(draft)["ranks_per_node"][0] == ranks
    said = [each.became for each in draft.findings if each.kind == "assumed" and each.what == value]
    assert said == (["4"] if "PER_NODE" in value else [])


def test_a_default_is_no_answer_where_there_are_names_that_nobody_tells() -> None:
    text = "torchrun --nproc_per_node=${RUN:-4} train.py"
    draft = of_shell(text, 8, more="envFrom: [{configMapRef: {name: m}}]")
    assert draft.facts[("ranks_per_node",)].is_open


_TORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  PROCESSES
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: reg/x:1
            command: [bash, -c]
            args: ['COMMAND']
            resources: {limits: {nvidia.com/gpu: 8}}
"""
_PET = "torchrun --nnodes $PET_NNODES --nproc-per-node $PET_NPROC_PER_NODE --node-rank $PET_NODE_RANK t.py"


@pytest.mark.parametrize(("line", "ranks"), [('nprocPerNode: "4"', 4), ("", 8)])
def test_what_the_operator_tells_a_torchrun_is_told(line: str, ranks: int) -> None:
    found = job(converted(_TORCH.replace("PROCESSES", line).replace("COMMAND", _PET)))
    assert (found["nodes"][0], found["ranks_per_node"][0]) == (2, ranks)
    assert found["command"][0] == ["python", "-u", "t.py"]


def test_a_program_that_reads_what_the_operator_tells_a_torchrun_is_asked_about() -> None:
    text = _TORCH.replace("PROCESSES", "").replace("COMMAND", "python t.py --node $PET_NODE_RANK")
    fact = converted(text).facts[("command",)]
    assert "PET_NODE_RANK was the number of the pod: NODE_RANK here" in fact.question


_TWO = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [FIRST]}}}
    Worker: {replicas: 2, template: {spec: {containers: [OTHER]}}}
"""
_EACH = """{name: pytorch, image: "reg/x:1", command: [sh, -c, "torchrun --nproc_per_node=NUMBER t.py"]ENV}"""


@pytest.mark.parametrize(
    ("first", "other", "ranks"),
    [
        (("4", ""), ("4", ""), 4),
        (("4", ""), ("8", ""), None),
        (("$N", ", env: [{name: N, value: '8'}]"), ("$N", ", env: [{name: N, value: '4'}]"), None),
        (("${N:-1}", ", env: [{name: N, value: '8'}]"), ("${N:-1}", ""), None),
        (("${N:-1}", ", env: [{name: N, value: '1'}]"), ("${N:-1}", ""), 1),
    ],
)
def test_pods_that_start_other_numbers_of_ranks_are_asked_about(first, other, ranks) -> None:
    texts = [_EACH.replace("NUMBER", number).replace("ENV", env) for number, env in (first, other)]
    draft = converted(_TWO.replace("FIRST", texts[0]).replace("OTHER", texts[1]))
    assert draft.facts[("ranks_per_node",)].value == ranks


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("NCCL_DEBUG=INFO torchrun --nproc_per_node=8 t.py", {"NCCL_DEBUG": "INFO"}),
        (
            "cd /w &&\nNCCL_DEBUG=INFO \\\n  A='x y' torchrun --nproc_per_node=8 t.py",
            {"A": "x y", "NCCL_DEBUG": "INFO"},
        ),
        ("A=1 torchrun --nproc_per_node=8 t.py 2>&1 | tee /log", {"A": "1"}),
        ("export A=1\nA=2 B=$A torchrun --nproc_per_node=8 t.py", {"A": "2", "B": "2"}),
        ("OMP_NUM_THREADS=7 torchrun --nproc_per_node=8 t.py", {"OMP_NUM_THREADS": "7"}),
        ("torchrun --nproc_per_node=8 t.py\nA=1 python after.py", {}),
    ],
)
def test_what_stands_in_front_of_a_launcher_is_set_for_the_ranks(text: str, env: dict[str, str]) -> None:
    found = {key.partition("env.")[2]: value for key, (value, _) in job(_converted(text, "value: x")).items()}
    names = found.keys() - {"", "RUN", *({"OMP_NUM_THREADS"} - env.keys())}
    assert {name: found[name] for name in names} == env


def test_a_value_in_front_of_a_launcher_that_only_its_pod_knows_is_said() -> None:
    draft = _converted("A=1 P=/x:$P D=$(date) torchrun --nproc_per_node=8 t.py", "value: x")
    assert job(draft)["env.A"][0] == "1"
    assert {"P=/x:${P}", "D=$(...)"} <= {each.what for each in draft.findings if each.kind == "left"}
