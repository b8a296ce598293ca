"""Objects of controllers that are not read: refused by their name, with what they tell."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted, job

_GPUS = {"limits": {"nvidia.com/gpu": 8}}


def _pod(image: str = "reg/train:1", **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": image, "command": ["./t"], **more}]}}


_WORKERS = {"replicas": 3, "template": _pod(resources=_GPUS)}
_KINDS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("kubeflow.org/v1", "TFJob", "a TFJob", {"tfReplicaSpecs": {"Worker": _WORKERS}}),
    ("kubeflow.org/v1", "MXJob", "an MXJob", {"mxReplicaSpecs": {"Worker": _WORKERS}}),
    ("kubeflow.org/v1", "JAXJob", "a JAXJob", {"jaxReplicaSpecs": {"Worker": _WORKERS}}),
    ("batch.volcano.sh/v1alpha1", "Job", "Volcano", {"tasks": [{"name": "w", **_WORKERS}]}),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "a JobSet",
        {
            "replicatedJobs": [
                {
                    "name": "w",
                    "replicas": 1,
                    "template": {"spec": {"parallelism": 3, "template": _pod(resources=_GPUS)}},
                }
            ]
        },
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "LeaderWorkerSet",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": _pod(resources=_GPUS)}},
    ),
    (
        "flux-framework.org/v1alpha2",
        "MiniCluster",
        "Flux",
        {"size": 3, **_pod(resources=_GPUS)["spec"]},
    ),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        "a TrainJob",
        {"trainer": {"numNodes": 3, "image": "reg/train:1", "command": ["./t"], "resourcesPerNode": _GPUS}},
    ),
]


def _object(version: str, kind: str, spec: dict[str, Any]) -> str:
    return yaml.safe_dump({"apiVersion": version, "kind": kind, "metadata": {"name": "run"}, "spec": spec})


@pytest.mark.parametrize(("version", "kind", "said", "spec"), _KINDS, ids=[each[1] for each in _KINDS])
def test_what_it_tells_is_told_and_the_kind_is_named(
    version: str, kind: str, said: str, spec: dict[str, Any]
) -> None:
    text = _object(version, kind, spec)
    draft = converted(text)
    assert said in draft.refused
    found = job(draft)
    assert {key: value for key, (value, _) in found.items()} == {
        "name": "run",
        "image": "reg/train:1",
        "nodes": 3,
        "gpus_per_node": 8,
    }
    lines = text.split("\n")
    assert "nvidia.com/gpu" in lines[found["gpus_per_node"][1] - 1]
    assert "reg/train:1" in lines[found["image"][1] - 1]


def test_parts_with_as_many_gpus_are_all_named_and_none_is_the_job() -> None:
    parts = {"Chief": {"replicas": 1, "template": _pod("reg/a:1")}, "PS": {"template": _pod("reg/b:1")}}
    draft = converted(_object("kubeflow.org/v1", "TFJob", {"tfReplicaSpecs": parts}))
    assert list(job(draft)) == ["name"]
    said = [each.what for each in draft.findings if each.kind == "left"]
    assert any("Chief: 1 pod of reg/a:1" in each for each in said)
    assert any("PS: 1 pod of reg/b:1" in each for each in said)


@pytest.mark.parametrize(
    "spec", [{}, {"tasks": 3}, {"tasks": [None]}, {"tasks": [{"template": {"spec": {"containers": {}}}}]}]
)
def test_one_without_pods_is_refused_all_the_same(spec: dict[str, Any]) -> None:
    draft = converted(_object("batch.volcano.sh/v1alpha1", "Job", spec))
    assert "Volcano" in draft.refused
    assert list(job(draft)) == ["name"]


def test_each_of_several_in_one_file_is_named_by_its_kind() -> None:
    every = [_object(version, kind, spec) for version, kind, _, spec in _KINDS]
    draft = converted("---\n".join(every))
    assert _KINDS[0][2] in draft.refused
    left = [f"{each.what}; {each.why}" for each in draft.findings if each.kind == "left"]
    for _, kind, said, _ in _KINDS:
        assert any(f"{kind} run" in each and said in each for each in left), kind
    assert not any("does not know" in each for each in left)


_VOLCANO = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: run
spec:
  minAvailable: 3
  schedulerName: volcano
  tasks:
    - replicas: 3
      name: w
      policies:
        - event: TaskCompleted
          action: CompleteJob
      template:
        spec:
          containers:
            - command: [./t]
              image: reg/train:1
              name: main
              workingDir: /home
              resources:
                limits:
                  nvidia.com/gpu: 8
          restartPolicy: OnFailure
"""


def test_one_with_the_name_of_a_kind_that_is_read_is_not_mended_by_the_types_of_that() -> None:
    draft = converted(_VOLCANO)
    assert [each.what for each in draft.findings if each.kind == "repaired"] == []
    assert {key: value for key, (value, _) in job(draft).items()} == {
        "name": "run",
        "image": "reg/train:1",
        "nodes": 3,
        "gpus_per_node": 8,
    }


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("elastic.example/v1", "ElasticJob", {"replicaSpecs": {"Worker": _WORKERS}}),
        (
            "kubeflow.org/v1beta1",
            "Experiment",
            {"trialTemplate": {"trialSpec": {"spec": {"Worker": _WORKERS}}}},
        ),
        ("batch.example/v1", "MPIJob", {"launcherTemplate": _pod("reg/a:1"), "replicas": 3, "w": _WORKERS}),
    ],
)
def test_a_kind_that_nobody_told_hpclaunch_is_a_launch_all_the_same(
    version: str, kind: str, spec: dict[str, Any]
) -> None:
    draft = converted(_object(version, kind, spec))
    assert f"{kind} of {version}" in draft.refused
    found = {key: value for key, (value, _) in job(draft).items()}
    assert found == {"name": "run", "image": "reg/train:1", "nodes": 3, "gpus_per_node": 8}


@pytest.mark.parametrize(("version", "kind"), [("apps/v1", "Deployment"), ("example.com/v1", "Certificate")])
def test_what_is_no_launch_is_none(version: str, kind: str) -> None:
    draft = converted(_object(version, kind, {"replicas": 2, "secretName": "a"}))
    assert "nothing in it starts ranks" in draft.refused


_ENV = [
    {"name": "NCCL_DEBUG", "value": "INFO"},
    {"name": "WANDB_API_KEY", "value": "abcdef0123456789"},
    {"name": "SET_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['set']"}}},
]
_MOUNTS: dict[str, Any] = {"volumeMounts": [{"name": "d", "mountPath": "/data"}], "env": _ENV}


def _jobset(pods: object, container: dict[str, Any], *more: dict[str, Any]) -> str:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "corpus-pvc"}}]
    pod = _pod(resources={"limits": {"nvidia.com/gpu": container.pop("gpus", 8)}}, **container)
    pod["spec"]["containers"] = [*more, *pod["spec"]["containers"]]
    pod["spec"]["volumes"] = volumes
    part = {"name": "w", "template": {"spec": {"parallelism": pods, "template": pod}}}
    return _object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [part]})


def test_variables_and_mounts_of_its_pods_are_told() -> None:
    draft = converted(_jobset(2, dict(_MOUNTS)))
    found = {key: value for key, (value, _) in job(draft).items()}
    assert (found["env.NCCL_DEBUG"], found["mounts.0"]) == ("INFO", "corpus:/data")
    assert found["secrets.0"] == "WANDB_API_KEY"
    said = [(each.kind, each.what) for each in draft.findings]
    assert ("left", "SET_NAME from the pod's metadata.annotations['set']") in said
    assert ("question", "ranks_per_node, mpi, time and bind") in said


def test_numbers_that_a_template_leaves_open_are_told_as_such() -> None:
    draft = converted(_jobset("${PODS}", {"gpus": "${GPUS}"}))
    assert "nodes" not in job(draft)
    asked = [each.what for each in draft.findings if each.kind == "question"]
    assert {"nodes: ${PODS}", "gpus_per_node: ${GPUS}"} <= {*asked}


def test_the_container_with_gpus_counts_and_the_others_are_named() -> None:
    draft = converted(_jobset(2, {}, {"name": "tcpx", "image": "reg/net:1"}))
    assert job(draft)["image"][0] == "reg/train:1"
    assert any(each.what == "the container tcpx of w" for each in draft.findings)


def test_mounts_and_variables_of_a_part_that_is_not_the_job_are_named() -> None:
    part = {"replicas": 1, "template": _pod(**_MOUNTS)}
    tasks = [{"name": "a", **part}, {"name": "b", **part}]
    draft = converted(_object("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks}))
    said = next(each.what for each in draft.findings if each.what.startswith("a: 1 pod"))
    assert "with mounts at /data" in said
    assert "NCCL_DEBUG, WANDB_API_KEY, SET_NAME" in said


def test_variables_that_stand_by_their_names_are_told() -> None:
    container = {"image": "reg/a:1", "env": {"A": "b"}, "volumes": {"d": {"path": "/d"}}}
    spec = {"size": 2, "containers": [container]}
    draft = converted(_object("flux-framework.org/v1alpha2", "MiniCluster", spec))
    assert job(draft)["env.A"][0] == "b"
    assert any(each.what == "volumes of spec" for each in draft.findings)


_CLUSTER = {"size": 2, "containers": [{"image": "reg/a:1", "environment": {"A": "b"}}]}


@pytest.mark.parametrize(("tasks", "ranks"), [(8, 4), (2, 1), (3, None), (1, None)])
def test_the_tasks_of_a_minicluster_are_the_ranks_of_all_its_pods(tasks: int, ranks: int | None) -> None:
    draft = converted(_object("flux-framework.org/v1alpha2", "MiniCluster", {**_CLUSTER, "tasks": tasks}))
    assert draft.number("ranks_per_node") == ranks
    said = [each.what for each in draft.findings if each.kind == "question"]
    assert (f"ranks_per_node: tasks: {tasks}" in said) == (ranks is None)
    assert ("mpi, time and bind" in said) == (ranks is not None)
    assert job(draft)["env.A"][0] == "b"


def test_a_minicluster_that_waits_for_people_is_said_to_where_it_has_no_command() -> None:
    waits = {**_CLUSTER, "interactive": True}
    runs = {**waits, "containers": [{"image": "reg/a:1", "command": "./t"}]}
    for spec, said in ((waits, True), (runs, False)):
        draft = converted(_object("flux-framework.org/v1alpha2", "MiniCluster", spec))
        assert any(each.what == "interactive: true" for each in draft.findings) == said


def _keeps(kind: str, image: str, **more: Any) -> str:
    pods = {"replicas": 2, "selector": {}, "template": _pod(image, **more)}
    return _object("apps/v1", kind, pods)


_ALONE = _object("batch/v1", "Job", {"template": _pod("reg/train:1")})
_ADDRESS = [{"name": "MASTER_ADDR", "value": "first"}]


def test_pods_of_the_jobs_image_that_are_told_of_each_other_may_be_its_ranks() -> None:
    draft = converted(f"{_ALONE}---\n{_keeps('StatefulSet', 'reg/train:1', env=_ADDRESS)}")
    assert draft.facts[("nodes",)].is_open
    said = next(each.what for each in draft.findings if each.what.startswith("StatefulSet run"))
    assert "2 pods of reg/train:1" in said


@pytest.mark.parametrize(
    "beside", [_keeps("StatefulSet", "reg/etcd:1", env=_ADDRESS), _keeps("Deployment", "reg/train:1")]
)
def test_other_pods_beside_a_job_are_told_and_nothing_is_asked(beside: str) -> None:
    draft = converted(f"{_ALONE}---\n{beside}")
    assert job(draft)["nodes"][0] == 1
    assert any("2 pods of" in each.what for each in draft.findings if each.kind == "left")


def test_pods_with_gpus_that_are_kept_running_are_a_launch_without_a_job() -> None:
    draft = converted(_keeps("StatefulSet", "reg/train:1", resources=_GPUS))
    assert "StatefulSet of apps/v1" in draft.refused
    assert job(draft)["nodes"][0] == 2


def test_what_a_cron_job_starts_is_told() -> None:
    spec = {"schedule": "@daily", "jobTemplate": {"spec": {"parallelism": 2, "template": _pod()}}}
    draft = converted(_object("batch/v1", "CronJob", spec))
    assert "a CronJob" in draft.refused
    assert (job(draft)["image"][0], job(draft)["nodes"][0]) == ("reg/train:1", 2)
    words = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert [each.what for each in draft.findings if each.what.endswith(f": {' '.join(words)}")]


_RAY = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: a}
spec:
  entrypoint: python train.py
  runtimeEnvYAML: |
    pip: [torch]
    env_vars:
      WORKERS: "2"
      DEBUG: info
  rayClusterSpec:
    enableInTreeAutoscaling: true
    headGroupSpec:
      template: {spec: {containers: [{name: h, image: reg/head:1, env: [{name: OWN, value: x}]}]}}
    workerGroupSpecs:
    - replicas: 2
      groupName: g
      template:
        spec:
          containers:
          - {name: w, image: reg/ray:1, resources: {limits: {nvidia.com/gpu: 8}}}
"""


def test_of_ray_the_runtime_environment_is_told_and_head_program_and_scaling_are_said() -> None:
    draft = converted(_RAY)
    assert job(draft)["env.WORKERS"] == ["2", 9]
    assert job(draft)["env.DEBUG"] == ["info", 10]
    said = {each.what for each in draft.findings}
    assert "the head, beside the nodes of the workers: 1 pod of reg/head:1, with the variables OWN" in said
    assert {"entrypoint", "runtimeEnvYAML: pip", "nodes: enableInTreeAutoscaling"} <= said


@pytest.mark.parametrize("text", ["'{'", "just words", "''"])
def test_a_runtime_environment_that_is_no_yaml_is_said(text: str) -> None:
    block = _RAY[_RAY.index("  runtimeEnvYAML") : _RAY.index("  rayClusterSpec")]
    draft = converted(_RAY.replace(block, f"  runtimeEnvYAML: {text}\n"))
    assert any(each.kind == "unread" and "runtimeEnvYAML" in each.what for each in draft.findings)


def test_the_leader_of_a_leaderworkerset_is_said() -> None:
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": _pod(resources=_GPUS)}}
    spec["leaderWorkerTemplate"]["leaderTemplate"] = _pod("reg/lead:1", env=[{"name": "ROLE", "value": "l"}])
    draft = converted(_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec))
    said = [each.what for each in draft.findings if "the leader" in each.what]
    assert said == ["the leader, one of the nodes: 1 pod of reg/lead:1, with the variables ROLE"]


@pytest.mark.parametrize("name", ["numWorkers", "workerReplicas", "numNodes"])
def test_the_pods_of_a_kind_that_nobody_knows_are_counted_by_any_of_the_usual_names(name: str) -> None:
    found = converted(_object("lab.example/v1", "TrainingRun", {name: 3, "template": _pod(resources=_GPUS)}))
    assert found.number("nodes") == 3
    assert found.number("gpus_per_node") == 8
