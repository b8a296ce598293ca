"""Hints are what a site file takes; and what hpclaunch itself rendered is told apart."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_cases import converted, hints

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.options import Options
from hpclaunch.spec.job import SiteHints
from hpclaunch.spec.read import read_site

HERE = Path(__file__).parent
CASES = HERE / "manifests" / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.yaml") if ".expected" not in path.name)
GOLDEN = HERE.parent / "golden"
BASE: dict[str, Any] = {
    "version": 1,
    "name": "cluster",
    "scheduler": "kubernetes",
    "node_types": [{"type": "dgx-a100", "count": 4}],
    "kubernetes": {"namespace": "team", "version": "1.30", "mpi_operator": "0.8.0"},
    "network": {"socket_ifname": "eth0"},
}


def with_hint(site: dict[str, Any], key: str, value: Any) -> None:
    """A hint's key as it stands in a site file; that of node_types in each of them."""
    holder: Any = site
    *above, last = key.split(".", 2)
    for part in above:
        holder = holder.setdefault(part, {}) if part != "node_types" else holder["node_types"][0]
    holder[last] = value


@pytest.mark.parametrize("name", NAMES)
def test_a_site_file_takes_the_hints(name: str, tmp_path: Path) -> None:
    site = yaml.safe_load(yaml.safe_dump(BASE))
    found = hints(converted((CASES / f"{name}.yaml").read_text("utf-8")))
    of_user = set(SiteHints.__struct_fields__)
    for key, value in found.items():
        if key not in of_user:
            with_hint(site, key, value)
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump(site), "utf-8")
    read = read_site(str(path)).value
    assert set(read.volumes) == {key.partition(".")[2] for key in found if key.startswith("volumes.")}


def test_claims_may_be_in_a_file_of_their_own() -> None:
    whole = (CASES / "job-beside.yaml").read_text("utf-8")
    parts = whole.split("---\n")
    draft = Draft()
    convert([("job.yaml", parts[-1]), ("others.yaml", "---\n".join(parts[:-1]))], draft, Options({}))
    assert hints(draft) == hints(converted(whole))
    assert {key: fact.value for key, fact in draft.facts.items()} == {
        key: fact.value for key, fact in converted(whole).facts.items()
    }


def test_the_site_names_its_volumes_itself() -> None:
    draft = Draft()
    volumes = {"gpfs": ("claim", "adas-data-pvc", ""), "raid": ("path", "/raid/cache", "")}
    text = (CASES / "job-beside.yaml").read_text("utf-8")
    convert([("job.yaml", text)], draft, Options({}, volumes=volumes))
    assert draft.facts["mounts", 0].value == "gpfs:/workspace"
    assert not [key for key in draft.hints if key.startswith("volumes.")]


@pytest.mark.parametrize("path", sorted((GOLDEN / "manifests").glob("*.yaml")), ids=lambda each: each.stem)
def test_what_hpclaunch_rendered_is_told_apart(path: Path) -> None:
    text = path.read_text("utf-8")
    assert [each.role for each in classified({"text": text})] == ["own manifest"]


@pytest.mark.parametrize(
    ("rule", "is_apart"),
    [
        ("{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}", True),
        ("{maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}", False),
        ("{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}", False),
        ("{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}", False),
    ],
)
def test_pods_spread_over_hosts_are_each_on_a_machine_of_its_own(rule: str, is_apart: bool) -> None:
    found = converted(_indexed(f"topologySpreadConstraints: [{rule}], "))
    assert ("share_nodes" not in found.hints) == is_apart
    assert len([each for each in found.findings if "topologySpread" in each.what]) == 1


def test_pods_on_one_named_machine_are_said_to_be_several_nodes_under_slurm() -> None:
    found = converted(_indexed("nodeName: gpu7, "))
    assert any(each.what == "4 pods on gpu7" and "Slurm" in each.why for each in found.findings)
    assert not any("pods on" in each.what for each in converted(_indexed("")).findings)


@pytest.mark.parametrize(
    ("first", "second", "workers", "hosts", "few"),
    [
        ("nodeName: n1", "nodeName: n2", 1, "n1,n2", False),
        ("nodeSelector: {kubernetes.io/hostname: n1}", "nodeName: n2", 1, "n1,n2", False),
        ("nodeName: n1", "nodeName: n1", 1, "n1", True),
        ("nodeName: n1", "nodeName: n2", 3, "n1,n2", True),
    ],
)
def test_machines_of_each_template_are_those_of_the_job(
    first: str, second: str, workers: int, hosts: str, few: bool
) -> None:
    found = converted(_of_two_templates(first, second, workers))
    assert found.hints["nodelist"] == hosts
    assert any(f"pods on {hosts}" in each.what for each in found.findings) == few
    assert ("share_nodes" in found.hints) == few


_TO_HOSTS = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [HOSTS]}]}]}}}"
)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (_TO_HOSTS.replace("HOSTS", "n1"), "4 pods on n1"),
        (_TO_HOSTS.replace("HOSTS", "n1, n2"), "nodelist n1"),
        ("priorityClassName: high", "nodelist n1"),
    ],
)
def test_a_machine_of_the_first_template_alone_is_not_that_of_all_pods(second: str, said: str) -> None:
    first = _TO_HOSTS.replace("HOSTS", "n1")
    found = converted(_of_two_templates(first, second, 3))
    about = {each.what for each in found.findings if each.kind == "left"}
    assert about & {"4 pods on n1", "nodelist n1"} == {said}


@pytest.mark.parametrize(("label", "kind"), [("kueue.x-k8s.io/queue-name: q", "replaced"), ("a: b", "left")])
def test_a_suspended_job_is_kueues_or_submitted_later_and_is_said_once(label: str, kind: str) -> None:
    text = (
        _indexed("")
        .replace("name: a}", f"name: a, labels: {{{label}}}}}")
        .replace("spec:\n", "spec:\n  suspend: true\n")
    )
    said = [each for each in converted(text).findings if each.what == "suspend: true"]
    assert [each.kind for each in said] == [kind]


@pytest.mark.parametrize(
    "given",
    [
        "labels: {kueue.x-k8s.io/max-exec-time-seconds: '7200'}",
        "annotations: {provreq.kueue.x-k8s.io/maxRunDurationSeconds: '7200'}",
    ],
)
def test_the_longest_time_that_kueue_gives_is_the_jobs(given: str) -> None:
    found = converted(_indexed("").replace("name: a}", f"name: a, {given}}}"))
    assert found.facts["time",].value == "02:00:00"
    assert not any(word in each.what for each in found.findings for word in ("label", "annotation"))


def _of_two_templates(first: str, second: str, workers: int) -> str:
    container = "{name: c, image: a/b:1, command: [./x], resources: {limits: {nvidia.com/gpu: 1}}}"
    text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n"
    text += "spec:\n  pytorchReplicaSpecs:\n"
    for kind, where, count in (("Master", first, 1), ("Worker", second, workers)):
        pod = f"{{spec: {{{where}, containers: [{container}]}}}}"
        text += f"    {kind}: {{replicas: {count}, template: {pod}}}\n"
    return text


def _indexed(of_pod: str) -> str:
    head = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completions: 4\n  parallelism: 4\n"
    container = "{name: c, image: a/b:1, command: [./x], resources: {limits: {nvidia.com/gpu: 1}}}"
    return f"{head}  completionMode: Indexed\n  template: {{spec: {{{of_pod}containers: [{container}]}}}}\n"
