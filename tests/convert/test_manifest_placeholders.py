"""Manifests with $NAME for envsubst: --env fills them in as it would, and what nobody gives is asked for."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hpclaunch.cli.main import hpclaunch
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.options import Options
from hpclaunch.values.errors import InputError

FILE = "train.yaml"
TEMPLATE = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: fsdp}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: $NODES
      template:
        spec:
          volumes:
          - {name: data, persistentVolumeClaim: {claimName: "${CLAIM}"}}
          # not this one: $COMMENTED
          containers:
          - name: pytorch
            image: ${IMAGE}
            imagePullPolicy: Always
            resources:
              limits: {nvidia.com/gpu: $GPUS, vpc.amazonaws.com/efa: $ADAPTERS}
            env:
            - {name: PROVIDER, value: "${PROVIDER}"}
            - {name: HF_TOKEN, value: "${HF_TOKEN}"}
            volumeMounts:
            - {name: data, mountPath: /data}
            command: [torchrun, --nproc_per_node=$GPUS, --nnodes=$NODES, train.py, "--batch=${BATCH}"]
"""
GIVEN = {
    "NODES": "4",
    "IMAGE": "reg.io/team/fsdp:2",
    "GPUS": "8",
    "ADAPTERS": "1",
    "CLAIM": "fsx",
    "PROVIDER": "efa",
    "BATCH": "16",
}


def converted(text: str, **environment: str) -> Draft:
    draft = Draft()
    convert([(FILE, text)], draft, Options(environment))
    return draft


def test_what_the_operator_exports_is_filled_in() -> None:
    draft = converted(TEMPLATE, **GIVEN, HF_TOKEN="hf_do_not_show")
    found = {".".join(map(str, key)): fact.value for key, fact in draft.facts.items()}
    assert not any(fact.is_open for fact in draft.facts.values())
    assert (found["nodes"], found["gpus_per_node"], found["ranks_per_node"]) == (4, 8, 8)
    assert (found["image"], found["mounts.0"]) == ("reg.io/team/fsdp:2", "fsx:/data")
    assert found["env.PROVIDER"] == "efa"
    assert found["command"][-1] == "--batch=16"  # type: ignore[index]
    assert found["secrets.0"] == "HF_TOKEN"
    assert "do_not_show" not in repr((list(draft.facts.values()), draft.findings, draft.hints))
    assert {f"--env {name}" for name in GIVEN} <= {
        place.file for each in draft.findings for place in each.places
    }


@pytest.mark.parametrize(
    ("missing", "key"),
    [
        ("NODES", ("nodes",)),
        ("IMAGE", ("image",)),
        ("GPUS", ("gpus_per_node",)),
        ("GPUS", ("ranks_per_node",)),
        ("CLAIM", ("mounts", 0)),
        ("PROVIDER", ("env", "PROVIDER")),
        ("BATCH", ("command",)),
    ],
)
def test_what_nobody_gives_is_asked_for_and_nothing_is_written_in_its_place(
    missing: str, key: tuple[str | int, ...]
) -> None:
    draft = converted(TEMPLATE, **{name: value for name, value in GIVEN.items() if name != missing})
    assert draft.facts[key].is_open
    questions = [each for each in draft.findings if each.kind == "question"]
    assert all(f"--env {missing}=VALUE" in each.todo for each in questions)
    others = {fact.key for fact in draft.facts.values() if fact.is_open}
    assert len(others) == len(questions) <= 2
    assert not any("$" in str(fact.value) for fact in draft.facts.values() if key[0] == fact.key[0])


def test_a_place_of_which_no_question_speaks_is_said() -> None:
    draft = converted(TEMPLATE, **{name: value for name, value in GIVEN.items() if name != "ADAPTERS"})
    assert [(each.kind, each.what) for each in draft.findings if "ADAPTERS" in each.todo] == [
        ("left", "$ADAPTERS")
    ]
    assert not any("COMMENTED" in each.what for each in draft.findings)
    assert not any(each.kind == "unread" for each in draft.findings)


def test_the_shells_own_variables_are_no_places_of_a_manifest_for_nobody() -> None:
    """A text for a shell has $NAME, and the API's own values have not."""
    text = TEMPLATE
    for name, value in GIVEN.items():
        text = text.replace(f"${{{name}}}", value).replace(f"${name}", value)
    plain = text.replace(
        '[torchrun, --nproc_per_node=8, --nnodes=4, train.py, "--batch=16"]',
        '[bash, -c, "N=3; torchrun --nproc_per_node=8 train.py --n $N"]',
    )
    draft = converted(plain)
    assert not any(fact.is_open for fact in draft.facts.values())
    assert not any("envsubst" in each.why for each in draft.findings if "HF_TOKEN" not in each.what)


def test_a_value_that_the_api_does_not_fill_in_is_a_defect() -> None:
    plain = TEMPLATE
    for name, value in GIVEN.items():
        plain = plain.replace(f"${{{name}}}", value).replace(f"${name}", value)
    draft = converted(plain.replace('value: "efa"', 'value: "$PATH:/opt/efa/bin"'))
    assert draft.facts["env", "PROVIDER"].value == "$PATH:/opt/efa/bin"
    assert any(each.kind == "defect" and "PROVIDER: $PATH" in each.what for each in draft.findings)


def test_the_command_takes_them_by_env(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(TEMPLATE)
    options = [f"--env={name}={value}" for name, value in GIVEN.items()]
    result = CliRunner().invoke(hpclaunch, ["convert", *options, str(path)])
    assert result.exit_code == 0
    assert "nodes: 4" in result.output
    assert "<ask:" not in result.output


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ('[mpirun, sh, -c, "echo $HOSTNAME $SEED && ./t"]', False),
        ('[mpirun, /bin/bash, -lc, "./t $SEED"]', False),
        ('[bash, -e, -c, "./t $SEED"]', False),
        ('[mpirun, sh, -c, "./t $0", $SEED]', True),
        ("[mpirun, ./t, $SEED]", True),
        ('[mpirun, ./t, -c, "$SEED"]', True),
    ],
)
def test_a_shell_puts_in_its_variables_and_no_other_program_does(command: str, wrong: bool) -> None:
    text = (
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: w}\nspec:\n  mpiReplicaSpecs:\n"
        f"    Launcher: {{template: {{spec: {{containers: [{{name: l, image: a, command: {command}}}]}}}}}}\n"
        "    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: 'a/b:1'}]}}}\n"
    )
    said = [each for each in converted(text).findings if "puts in $(NAME), and not $NAME" in each.why]
    assert bool(said) == wrong


_OF_GO = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: nccl
spec:
  slotsPerWorker: {{.Slots}}
  # {{.Commented}}
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - name: l
            image: a/b:1
            command: [mpirun, -x, "SIZE={{ .Size }}", -x, B=1, ./a, "{{ .Values.last | quote }}"]
    Worker:
      replicas: {{ workers }}
      template:
        spec:
          containers:
          - {name: w, image: "{{ .Values.image.name }}:{{ .Values.image.tag }}"}
"""
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: "a/b:1", command: [docker, ps, --format, "{{.Names}}"]}]}
"""
_IN_GO = {"Slots": "4", "workers": "2", "image_name": "a/b", "image_tag": "1", "Size": "9", "last": "z"}


def test_a_template_that_puts_values_in_alone_is_read_with_a_question_for_each() -> None:
    draft = converted(_OF_GO)
    facts = draft.facts
    assert [key[0] for key, fact in facts.items() if not fact.is_open] == [
        "name",
        "gpus_per_node",
        "env",
        "mpi",
    ]
    assert facts["env", "SIZE"].is_open
    asked = {
        name for each in draft.findings if each.kind == "question" for name in _IN_GO if name in each.todo
    }
    assert asked == _IN_GO.keys()
    said = {each.what: each.places[0].line for each in draft.findings if each.kind == "repaired"}
    assert said["{{.Slots}}"] == 6
    assert not any("Commented" in what for what in said)


def test_the_values_of_a_template_are_given_with_env() -> None:
    draft = converted(_OF_GO, **_IN_GO)
    told = {".".join(map(str, key)): fact.value for key, fact in draft.facts.items()}
    assert (told["nodes"], told["ranks_per_node"], told["image"]) == (2, 4, "a/b:1")
    assert (told["env.SIZE"], told["command"]) == ("9", ["./a", "z"])


@pytest.mark.parametrize(
    "act", ["{{- if .X }}", "{{ range .Y }}", '{{ include "a" . }}', "{% if x %}", "{{ $a := .B }}"]
)
def test_a_template_that_does_more_is_refused(act: str) -> None:
    with pytest.raises(InputError, match="template") as caught:
        converted(f"{_OF_GO}{act}\n")
    assert caught.value.problems


def test_braces_of_a_program_are_no_template() -> None:
    draft = converted(_POD)
    assert draft.facts["command",].value == ["docker", "ps", "--format", "{{.Names}}"]
    assert not [each for each in draft.findings if each.kind == "repaired"]


def test_a_value_that_mpirun_hands_on_is_filled_in_too() -> None:
    text = _OF_GO.replace("{{.Slots}}", "4").replace("{{ workers }}", "$N").replace("{{ .Size }}", "$SIZE")
    text = text.replace("{{ .Values.last | quote }}", "z")
    draft = converted(text.replace("{{ .Values.image.name }}:{{ .Values.image.tag }}", "a/b:1"))
    assert draft.facts["env", "SIZE"].is_open
    assert draft.facts["env", "B"].value == "1"


def test_a_place_in_the_objects_own_name_tells_that_the_file_is_filled_in() -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: run-${NUMBER}
spec:
  template:
    spec:
      containers:
      - {name: a, image: "reg/x:1", command: [./t], env: [{name: OUT, value: "/out/${NUMBER}"}]}
"""
    draft = converted(text)
    assert draft.facts[("env", "OUT")].is_open
    assert not any("as it stands" in each.why for each in draft.findings)
    assert converted(text, NUMBER="3").facts[("env", "OUT")].value == "/out/3"


@pytest.mark.parametrize("name", ["SEED_ID", "fit-SEED_ID", "fit.SEED_ID"])
def test_a_word_in_capitals_that_is_no_name_of_an_object_is_asked_for_wherever_it_stands(name: str) -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: fit}
spec:
  template:
    spec:
      containers:
      - name: a
        image: reg/x:1
        command: [./fit, --seed, SEED_ID]
        env:
        - {name: OUT, value: /out/SEED_ID}
        - {name: MODE, value: FIXED_SEED_ID}
"""
    plain, draft = converted(text), converted(text.replace("name: fit}", f"name: {name}}}"))
    assert not any(fact.is_open for fact in plain.facts.values())
    open_ones = {key for key, fact in draft.facts.items() if fact.is_open}
    assert open_ones == {("name",), ("command",), ("env", "OUT")}
    assert draft.facts["env", "MODE"].value == "FIXED_SEED_ID"


_FORMATTED = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: fit-{{ RUN }}
spec:
  template:
    spec:
      containers:
      - name: a
        image: { { REGISTRY } }
        imagePullPolicy: Always
        command: [./fit, "--from={{START}}"]
"""


def test_a_place_that_a_formatter_of_yaml_broke_and_one_within_a_name_are_places_too() -> None:
    draft = converted(_FORMATTED)
    assert {key[0] for key, fact in draft.facts.items() if fact.is_open} == {"name", "image", "command"}
    assert not any(each.kind == "unread" or "for this tag" in each.why for each in draft.findings)
    given = converted(_FORMATTED, RUN="7", REGISTRY="reg/x:2", START="/c/1")
    told = {key[0]: fact.value for key, fact in given.facts.items()}
    assert (told["name"], told["image"], told["command"]) == ("fit-7", "reg/x:2", ["./fit", "--from=/c/1"])


def test_the_name_of_an_image_that_is_no_text_is_asked_for_without_one() -> None:
    draft = converted(_FORMATTED.replace("{ { REGISTRY } }", "[]").replace("-{{ RUN }}", ""))
    assert draft.facts["image",].question == "the image: no name is there"
    assert not any("for this tag" in each.why for each in draft.findings)


@pytest.mark.parametrize(("place", "is_chart"), [("{{ .Values.tag }}", True), ("{{ .Trial }}", False)])
def test_a_template_that_no_chart_has_is_not_said_to_be_of_one(place: str, is_chart: bool) -> None:
    with pytest.raises(InputError) as caught:
        converted(_FORMATTED.replace("{{ RUN }}", f"{place}{{{{- range .Given }}}}"))
    problem = caught.value.problems[0]
    assert ("helm" in problem.message) == is_chart
    assert problem.where == f"{FILE}:4:13"


def test_a_place_in_what_is_told_of_an_object_that_is_not_converted_is_said() -> None:
    text = _FORMATTED.replace("batch/v1", "lab.example/v1").replace("{ { REGISTRY } }", "reg/${TEAM}/x:1")
    draft = converted(text.replace("-{{ RUN }}", "").replace("{{START}}", "2"))
    assert draft.refused
    asked = next(each for each in draft.findings if each.what == "image: reg/${TEAM}/x:1")
    assert (asked.kind, asked.todo) == ("question", "convert again with --env TEAM=VALUE")


@pytest.mark.parametrize(("name", "is_left"), [("RANK", False), ("PET_NNODES", False), ("SHARD", True)])
def test_what_the_operator_tells_a_pod_is_no_place_for_envsubst(name: str, is_left: bool) -> None:
    listed = 'command: [torchrun, --nproc_per_node=$GPUS, --nnodes=$NODES, train.py, "--batch=${BATCH}"]'
    text = f'command: [bash, -c, "torchrun --nnodes=4 --nproc_per_node=8 --node_rank=${name} train.py"]'
    draft = converted(TEMPLATE.replace(listed, text), **GIVEN)
    assert any(each.what == f"${name}" for each in draft.findings if each.kind == "left") == is_left


@pytest.mark.parametrize("limit", ["$MOST", "${MOST}", "{{ .Values.most }}"])
def test_a_time_limit_that_somebody_fills_in_is_asked_for(limit: str) -> None:
    text = _FORMATTED.replace("spec:\n", f"spec:\n  activeDeadlineSeconds: {limit}\n", 1)
    draft = converted(text)
    assert draft.facts["time",].is_open
    assert not any("no line gives a time limit" in each.what for each in draft.findings)
    given = converted(text, MOST="5400", most="5400")
    assert given.facts["time",].value == "01:30:00"


_BY_NAME = """\
apiVersion: batch/v1
kind: Job
metadata: {name: fetch}
spec:
  template:
    spec:
      containers:
      - name: c
        image: reg.io/fetch:1
        env:
        - {name: SETS, value: "${SET_LIST}"}
        - name: STORE
          value: s3://sets/$TEAM
        - {name: LEVEL, value: "${LEVEL}"}
        command: [sh, -c, TEXT]
"""


@pytest.mark.parametrize(
    "file", ["fetch.yaml.tmpl", "fetch.tpl", "a/fetch.template.yaml", "fetch.yaml-template"]
)
@pytest.mark.parametrize(
    ("text", "is_asked"),
    [("'for each in $SETS; do get -v $LEVEL $each; done'", False), ("'get ${SET_LIST}'", True)],
)
def test_a_file_that_is_called_a_template_is_filled_in(text: str, is_asked: bool, file: str) -> None:
    draft = Draft()
    convert([(file, _BY_NAME.replace("TEXT", text))], draft, Options({}))
    asked = {".".join(map(str, key)) for key, fact in draft.facts.items() if fact.is_open}
    assert asked == {"env.SETS", "env.STORE", "env.LEVEL"} | ({"command"} if is_asked else set())
    todo = {each.key: each.todo for each in draft.findings if each.kind == "question"}
    assert "--env SET_LIST=VALUE" in todo["env.SETS"]
    assert not [each for each in draft.findings if "gets the text as it stands" in each.why]
    assert not [each for each in draft.findings if each.kind == "left" and each.what.startswith("$")]


def test_a_place_between_single_quotes_of_a_templates_shell_is_asked_about() -> None:
    draft = Draft()
    convert([("fetch.yaml.tmpl", _BY_NAME.replace("TEXT", '''"get '$LEVEL'"'''))], draft, Options({}))
    assert draft.facts["command",].is_open


def test_in_a_file_of_another_name_the_program_gets_what_stands_there() -> None:
    draft = Draft()
    convert([("template.yaml", _BY_NAME.replace("TEXT", "./get"))], draft, Options({}))
    assert draft.facts["env", "SETS"].value == "${SET_LIST}"
    assert "gets the text as it stands" in next(
        each.why for each in draft.findings if "SETS" in each.what and each.kind == "defect"
    )
