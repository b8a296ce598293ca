"""A launcher of an MPIJob that starts ranks more than once: a job starts them once."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers: [{image: reg/x:1, name: l, command: [/bin/bash, -c], args: ['ARGS']}]
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{image: reg/x:1, name: w, resources: {limits: {nvidia.com/gpu: 4}}}]
"""


# On two workers with four slots each: eight ranks, in any words.
_AS_MANY = ["-np 8", "-n 8", "--np 8", "-npernode 4", "--map-by ppr:4:node", ""]
_OTHERS = ["-np 4 -H a-worker-1", "-n 16", "-npernode 2", "-np 3"]


@pytest.mark.parametrize("first", ["-np 8", "-N 4"])
@pytest.mark.parametrize("second", [*_AS_MANY, *_OTHERS])
def test_a_second_mpirun_is_no_step_of_the_launchers_pod(first, second):
    other = " ".join(f"/usr/bin/mpirun {second} ./b".split())
    text = _MPIJOB.replace("ARGS", f"mpirun {first} ./a; {other}")
    found = convert(classified({"a.yaml": text}), Options({}))
    its = [each for each in found.findings if each.what.endswith(other)]
    assert [each.kind for each in its] == ["left"]
    assert "ranks of its own" in its[0].why
    assert "after:" not in found.job
    asked = [each for each in found.findings if each.kind == "question" and "start ranks" in each.what]
    assert len(asked) == (second in _OTHERS)


@pytest.mark.parametrize(
    ("text", "env", "unseen"),
    [
        ("export A=1; mpirun -np 8 -x A ./a", {"A": "1"}, set()),
        ("export A=1; mpirun -np 8 ./a", {"A": "1"}, {"A"}),
        ("A=1; export A; mpirun -np 8 -x A ./a", {"A": "1"}, set()),
        ("set -a; A=1; mpirun -np 8 -x A ./a", {"A": "1"}, set()),
        ("A=1; ssh $A w true; mpirun -np 8 ./a", {}, set()),
        ("A=1; mpirun -np 8 ./a $A", {}, set()),
        ("declare -xr A=1; mpirun -np 8 -x A ./a", {"A": "1"}, set()),
        ("typeset -x A=1; mpirun -np 8 ./a", {"A": "1"}, {"A"}),
        ("readonly A=1; mpirun -np 8 ./a $A", {}, set()),
        ("A=1; export B=$A/x; mpirun -np 8 -x B ./a $A", {"B": "1/x"}, set()),
        ("A=1; export B=$((A * 8)); mpirun -np 8 -x B ./a $A", {"B": "8"}, set()),
        ("A=1; horovodrun -np 8 ./a", {}, set()),
        ("export A=1; horovodrun -np 8 ./a", {"A": "1"}, set()),
        ("export OMPI_MCA_pml=ucx; mpirun -np 8 ./a", {"OMPI_MCA_pml": "ucx"}, set()),
    ],
)
def test_ranks_have_what_the_launchers_shell_exports(
    text: str, env: dict[str, str], unseen: set[str]
) -> None:
    """A shell's own variables are no environment, and mpirun carries what -x names."""
    draft = converted(_MPIJOB.replace("ARGS", text))
    assert {key[1]: fact.value for key, fact in draft.facts.items() if key[0] == "env"} == env
    said = {each.what for each in draft.findings if each.kind == "defect"}
    assert said == {f"{name} did not reach the ranks" for name in unseen}
    if "$A" in text.partition("./a")[2]:
        assert draft.facts["command",].value == ["./a", "1"]


@pytest.mark.parametrize(
    "more",
    ["[ -z $X ] && A=4", "if [ -z $X ]; then A=4; fi", "A=$(nproc)", "A+=6", "for A in 4 8; do :; done"],
)
def test_a_variable_that_may_be_another_by_then_is_not_told(more: str) -> None:
    draft = converted(_MPIJOB.replace("ARGS", f"A=16; {more}; mpirun -np 8 -x B=$A -x A ./a"))
    assert draft.facts["env", "B"].is_open
    assert draft.facts["env", "A"].is_open


@pytest.mark.parametrize("option", ["-x MASTER_ADDR", "-x MASTER_ADDR=$MASTER_ADDR"])
def test_an_address_that_the_launcher_looks_up_is_that_of_rendezvous(option: str) -> None:
    run = f"mpirun -np 8 {option} ./a"
    draft = converted(_MPIJOB.replace("ARGS", f"export MASTER_ADDR=$(hostname -i); {run}"))
    assert draft.facts["rendezvous",].value == "torch"
    assert ("env", "MASTER_ADDR") not in draft.facts
    assert not [each for each in draft.findings if each.kind == "question"]
    said = {each.what: each.kind for each in draft.findings}
    assert said["export MASTER_ADDR=$(hostname -i)"] == "replaced"
    given = converted(_MPIJOB.replace("ARGS", f"export MASTER_ADDR=10.0.0.1; {run}"))
    assert ("rendezvous",) not in given.facts
    assert given.facts["env", "MASTER_ADDR"].value == "10.0.0.1"


def test_what_the_launchers_shell_puts_before_what_its_image_has_each_rank_puts_there() -> None:
    line = "export LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH"
    draft = converted(_MPIJOB.replace("ARGS", f"{line}; mpirun -np 8 -x LD_LIBRARY_PATH ./a"))
    assert draft.facts["command",].value == 'export LD_LIBRARY_PATH=/x:"$LD_LIBRARY_PATH"; exec ./a'
    assert not [each for each in draft.findings if each.what == line]


def test_an_mpirun_that_prepares_each_node_is_a_step_of_the_one_behind_it() -> None:
    text = "R=/m; mpirun -npernode 1 --prefix $P $R/setup.sh; mpirun -np 8 -x R=$R ./a"
    draft = converted(_MPIJOB.replace("ARGS", text))
    assert draft.facts["command",].value == ["./a"]
    assert draft.facts["setup", 0].value == {"run": ["/m/setup.sh"]}
    assert draft.number("ranks_per_node") == 4
    assert not [each for each in draft.findings if each.kind == "question"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("mpirun -np 8 ./prepare.sh; ./train.sh", True),
        ("mpirun -np 8 ./prepare.sh; echo done", False),
        ("mpirun -np 8 ./train.sh; ./evaluate.sh", False),
    ],
)
def test_which_is_the_run_is_asked_where_mpirun_starts_what_prepares_alone(text: str, asked: bool) -> None:
    draft = converted(_MPIJOB.replace("ARGS", text))
    assert draft.facts["command",].is_open == asked
    if asked:
        assert "./train.sh" in (draft.facts["command",].question or "")


@pytest.mark.parametrize("kind", ["Pod", "PyTorchJob"])
@pytest.mark.parametrize("first", [0, 1])
def test_the_container_with_gpus_is_the_job_and_the_one_beside_it_is_named(kind: str, first: int) -> None:
    both = [
        {"name": "rxdm", "image": "reg/daemon:1", "resources": {"limits": {"nvidia.com/gpu": 0}}},
        {"name": "train", "image": "reg/train:1", "resources": {"limits": {"nvidia.com/gpu": 4}}},
    ]
    pod = {"containers": both if first else both[::-1]}
    given: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": pod}
    if kind == "PyTorchJob":
        replicas = {"Worker": {"replicas": 2, "template": {"spec": pod}}}
        given |= {"apiVersion": "kubeflow.org/v1", "spec": {"pytorchReplicaSpecs": replicas}}
    draft = converted(yaml.safe_dump(given))
    assert draft.facts["image",].value == "reg/train:1"
    assert draft.facts["gpus_per_node",].value == 4
    assert any(each.kind == "left" and "rxdm" in each.what for each in draft.findings)


@pytest.mark.parametrize("kind", ["Pod", "Job", "PyTorchJob", "MPIJob"])
def test_which_of_two_containers_with_gpus_is_the_job_is_asked(kind: str) -> None:
    """Each with its name, so that nobody takes the job for all of the pod."""
    gpus = {"limits": {"nvidia.com/gpu": 4}}
    both = [
        {"name": name, "image": f"reg/{name}:1", "command": [f"./{name}"], "resources": gpus}
        for name in ("pytorch", "tune")
    ]
    template: dict[str, Any] = {"spec": {"containers": both}}
    launcher = {"containers": [{"name": "l", "image": "reg/l:1", "command": ["mpirun", "-np", "8", "./a"]}]}
    version, spec = {
        "Pod": ("v1", template["spec"]),
        "Job": ("batch/v1", {"template": template}),
        "PyTorchJob": (
            "kubeflow.org/v1",
            {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}},
        ),
        "MPIJob": (
            "kubeflow.org/v2beta1",
            {
                "mpiReplicaSpecs": {
                    "Launcher": {"template": {"spec": launcher}},
                    "Worker": {"replicas": 2, "template": template},
                }
            },
        ),
    }[kind]
    given = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    found = convert(classified({"a.yaml": yaml.safe_dump(given)}), Options({}))
    assert found.job
    assert not found.is_complete
    asked = {each.key: each.why for each in found.findings if each.kind == "question"}
    assert set(asked) == ({"image"} if kind == "MPIJob" else {"command", "image"})
    assert all("pytorch" in why and "tune" in why for why in asked.values())
    alike = [{**each, "image": "reg/x:1", "command": ["./x"]} for each in both]
    template["spec"]["containers"][:] = alike
    again = convert(classified({"a.yaml": yaml.safe_dump(given)}), Options({}))
    assert any(each.kind == "left" and "tune" in each.what for each in again.findings)
    assert {each.key for each in again.findings if each.kind == "question"} == (
        set() if kind == "MPIJob" else {"command"}
    )


def test_a_sidecar_among_the_init_containers_is_no_setup_step() -> None:
    first = [
        {"name": "ship", "image": "reg/x:1", "restartPolicy": "Always", "command": ["./ship"]},
        {"name": "prepare", "image": "reg/x:1", "command": ["./prepare"]},
    ]
    ranks = [{"name": "a", "image": "reg/x:1", "resources": {"limits": {"nvidia.com/gpu": "many"}}}]
    pod = {"initContainers": first, "containers": ranks}
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod}
    draft = converted(yaml.safe_dump(given))
    assert [fact.value["run"] for key, fact in draft.facts.items() if key[0] == "setup"] == [["./prepare"]]
    (its,) = [each for each in draft.findings if "ship" in each.what]
    assert (its.kind, "sidecar" in its.why) == ("left", True)
    (asked,) = [each for each in draft.findings if each.key == "gpus_per_node" and each.kind == "question"]
    assert asked.what == "nvidia.com/gpu: many"


@pytest.mark.parametrize(
    ("copy", "is_staged"),
    [
        ("cp -r /src/. /local", True),
        ("mkdir -p /local && rsync -av /src/ /local", True),
        ("cp -r /src/ /local", False),  # to /local/src
        ("cp -rn /src/. /local", False),
        ("rsync -an /src/ /local", False),
        ("rsync -r /src/ /local", False),
        ("rsync -a /src /local", False),
    ],
)
def test_an_init_container_is_staged_where_it_copies_all_of_a_volume_to_another(
    copy: str, is_staged: bool
) -> None:
    mounts = [{"name": "a", "mountPath": "/src"}, {"name": "b", "mountPath": "/local"}]
    first = [{"name": "bring", "image": "reg/x:1", "command": ["sh", "-c", copy], "volumeMounts": mounts}]
    volumes = [{"name": name, "hostPath": {"path": f"/disk/{name}"}} for name in "ab"]
    pod = {"initContainers": first, "containers": [{"name": "c", "image": "reg/x:1"}], "volumes": volumes}
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod}
    facts = converted(yaml.safe_dump(given)).facts
    kept = {key[0]: fact.value for key, fact in facts.items() if key[0] in ("setup", "stage_in")}
    if is_staged:
        assert kept == {"stage_in": {"source": "/disk/a", "target": "/disk/b"}}
    else:
        assert [step["run"] for step in kept.values()] == [copy]


_LOOP = "for i in 1 2 3; do mpirun -np 8 -x A=1 -bind-to none ./a; done"


@pytest.mark.parametrize("text", [_LOOP, "if [ -d /d ]; then mpirun -np 8 -x A=1 -bind-to none ./a; fi"])
def test_of_a_mpirun_that_depends_on_other_commands_all_but_its_command_is_told(text: str) -> None:
    plain, hidden = (
        converted(_MPIJOB.replace("ARGS", each)) for each in ("mpirun -np 8 -x A=1 -bind-to none ./a", text)
    )
    told = {key: fact.value for key, fact in plain.facts.items() if key != ("command",)}
    assert {key: fact.value for key, fact in hidden.facts.items() if key != ("command",)} == told
    assert ("env", "A") in told
    assert hidden.facts["command",].is_open


@pytest.mark.parametrize(("options", "reached"), [("", False), ("-x P", True), ("-x A", False)])
@pytest.mark.parametrize("text", ["mpirun -np 8 %s ./a", "for i in 1 2; do mpirun %s ./a; done"])
def test_a_secret_that_only_the_job_gives_to_ranks_is_told(text: str, options: str, reached: bool) -> None:
    env = "env: [{name: P, valueFrom: {secretKeyRef: {name: s, key: k}}}], args:"
    draft = converted(_MPIJOB.replace("args:", env).replace("ARGS", text % options))
    assert draft.facts["secrets", 0].value == "P"
    said = [each.kind for each in draft.findings if each.what == "P did not reach the ranks"]
    assert said == ([] if reached else ["defect"])


def test_gpus_of_a_second_kind_are_told() -> None:
    draft = converted(_MPIJOB.replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 4, nvidia.com/mig-1g.5gb: 2"))
    assert draft.number("gpus_per_node") == 4
    assert [each.kind for each in draft.findings if each.what == "nvidia.com/mig-1g.5gb: 2"] == ["left"]


@pytest.mark.parametrize(
    ("more", "command", "assumed"),
    [
        ("", "[python, a.py]", ["no line gives a time limit", "no line binds ranks to cores"]),
        ("activeDeadlineSeconds: 600, ", "[numactl, -m, '0', python, a.py]", []),
    ],
)
def test_a_limit_and_cores_that_no_line_tells_are_said(more: str, command: str, assumed: list[str]) -> None:
    container = f"{{name: c, image: a/b:1, command: {command}, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}"
    spec = f"spec: {{{more}template: {{spec: {{containers: [{container}]}}}}}}"
    text = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\n{spec}\n"
    found = convert(classified({"a.yaml": text}), Options({}))
    assert found.is_complete
    assert found.family == "a manifest of Kubernetes (Job of batch/v1)"
    assert [each.what for each in found.findings if each.what.startswith("no line")] == assumed


@pytest.mark.parametrize(
    ("head", "is_read"),
    [("bash << 'EOF'", True), ("exec /bin/bash -e <<EOF", True), ('sh <<"EOF"', True), ("cat << EOF", False)],
)
def test_the_text_that_a_shell_reads_is_the_launchers_own(head: str, is_read: bool) -> None:
    block = f"""args:
            - |
              {head}
              mpirun -np 8 \\
                -x A=1 ./a \\
                && sleep 5
              EOF
"""
    text = _MPIJOB.replace(
        "containers: [{image: reg/x:1, name: l, command: [/bin/bash, -c], args: ['ARGS']}]", "X"
    )
    before = "containers:\n          - image: reg/x:1\n            name: l\n            command: [sh, -c]\n"
    draft = converted(text.replace("X", f"{before}            {block}", 1))
    fact = draft.facts["command",]
    assert fact.is_open != is_read
    if is_read:
        assert fact.value == ["./a"]
        assert draft.facts["env", "A"].places[0].line == 18


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("hostname > /tmp/h; cat /etc/mpi/hostfile >> /tmp/h; mpirun -np 9 --hostfile /tmp/h ./a", True),
        ("hostname; mpirun -np 8 --hostfile /etc/mpi/hostfile ./a", False),
        ("sort /etc/mpi/hostfile > /tmp/h; mpirun -np 8 --hostfile /tmp/h ./a", False),
    ],
)
def test_a_list_of_hosts_with_the_launchers_own_pod_is_asked_about(text: str, asks: bool) -> None:
    found = converted(_MPIJOB.replace("ARGS", text)).findings
    assert any("the launcher's own pod is in that list" in each.why for each in found) is asks


@pytest.mark.parametrize(
    ("command", "image", "kind"),
    [("./get", "a/b:1", "carried"), ("./other", "a/b:1", "left"), ("./get", "c/git:1", "left")],
)
def test_what_prepares_each_template_alike_is_one_step_of_all_nodes(
    command: str, image: str, kind: str
) -> None:
    own = "containers: [{name: pytorch, image: 'a/b:1', command: [./a]}]"

    def template(of: str, prepares: str) -> str:
        spec = f"initContainers: [{{name: get, image: '{image}', command: [{prepares}]}}], {own}"
        return f"    {of}: {{replicas: 1, template: {{spec: {{{spec}}}}}}}\n"

    text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\n"
    text += "spec:\n  pytorchReplicaSpecs:\n"
    draft = converted(text + template("Master", "./get") + template("Worker", command))
    steps = [fact.value["run"] for key, fact in draft.facts.items() if key[0] == "setup"]
    assert steps == [["./get"]] * (image == "a/b:1")
    (worker,) = (
        each for each in draft.findings if "init container" in each.what and each.places[0].line == 7
    )
    assert worker.kind == kind


_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: c, image: "reg/x:1", command: [sh, -c, TEXT], resources: {limits: {nvidia.com/gpu: 8}}}
"""


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("'torchrun --nproc_per_node=$0 t.py $1', '4', '--lr=1'", 4),
        ("""'torchrun "$@"', run, '--nproc_per_node=4', t.py, '--lr=1'""", 4),
        ("'torchrun --nproc_per_node=$0 t.py $1', '4', '--name=a b'", None),
    ],
)
def test_words_behind_a_shells_text_are_in_it(text: str, ranks: int | None) -> None:
    facts = converted(_POD.replace("TEXT", text)).facts
    assert facts[("ranks_per_node",)].value == ranks
    assert facts[("command",)].value == (["python", "-u", "t.py", "--lr=1"] if ranks else None)


def test_words_behind_a_text_without_a_launcher_stay_there() -> None:
    facts = converted(_POD.replace("TEXT", "'python t.py $1', x, '--lr=1'")).facts
    assert facts[("command",)].value == ["sh", "-c", "python t.py $1", "x", "--lr=1"]


@pytest.mark.parametrize(
    ("options", "nodes", "mpi"),
    [
        ("", 2, None),
        ("--num_nodes 1 --num_gpus 4", 1, None),
        ("--launcher openmpi", 2, "pmix"),
        ("--launcher pdsh", 2, None),
    ],
)
def test_deepspeed_of_an_mpijob_takes_the_first_nodes_and_needs_no_mpi(options, nodes, mpi) -> None:
    draft = converted(_MPIJOB.replace("ARGS", f"deepspeed --hostfile /etc/mpi/hostfile {options} t.py"))
    fact = draft.facts.get(("mpi",))
    assert (draft.facts[("nodes",)].value, fact.value if fact is not None else None) == (nodes, mpi)
    assert draft.facts[("rendezvous",)].value == "torch"
    assert any("stood idle" in each.why for each in draft.findings) == (nodes == 1)
