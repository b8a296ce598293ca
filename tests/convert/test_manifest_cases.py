"""Manifests of each kind become the facts, hints and findings that stand beside them, with their lines."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_cases import converted, findings, hints, job

HERE = Path(__file__).parent / "manifests" / "cases"
CASES = sorted(path.stem for path in HERE.glob("*.yaml") if not path.stem.endswith(".expected"))


def expected(name: str) -> dict[str, Any]:
    return yaml.safe_load((HERE / f"{name}.expected.yaml").read_text("utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_becomes_what_stands_beside_it(name: str) -> None:
    wanted = expected(name)
    draft = converted((HERE / f"{name}.yaml").read_text("utf-8"))
    assert not draft.refused
    assert job(draft) == wanted["job"]
    assert hints(draft) == {key: yaml.safe_load(text) for key, text in wanted.get("hints", {}).items()}
    found = findings(draft)
    missing = [
        row
        for row in wanted.get("found", [])
        if not any(each[:2] == row[:2] and str(row[2]) in each[2] for each in found)
    ]
    assert missing == []


@pytest.mark.parametrize("name", CASES)
def test_every_line_is_told(name: str) -> None:
    """No line of a manifest is without a finding, but for keys that only lead to others."""
    text = (HERE / f"{name}.yaml").read_text("utf-8")
    told = {
        line
        for each in converted(text).findings
        for place in each.places
        for line in range(place.line, max(place.last, place.line) + 1)
    }
    silent = ("apiVersion:", "kind:", "---", "status:")
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.partition("&")[0].strip().lstrip("- ")
        if bare and not bare.endswith(":") and not bare.startswith(silent):
            assert number in told, f"{name}:{number}: {line}"


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_lines_that_are_not_there(name: str) -> None:
    text = (HERE / f"{name}.yaml").read_text("utf-8")
    last = text.count("\n") + 1
    for each in converted(text).findings:
        assert all(0 < place.line <= last and place.last <= last for place in each.places), each


def test_no_secret_is_in_a_job_or_a_report() -> None:
    for name in CASES:
        draft = converted((HERE / f"{name}.yaml").read_text("utf-8"))
        for secret in ("ghp_abcdefgh", "do-not-show-this"):
            assert secret not in repr(list(draft.facts.values())) + repr(draft.findings) + repr(draft.hints)


def test_with_a_site_its_hints_are_in_the_job() -> None:
    draft = converted((HERE / "v1-exec.yaml").read_text("utf-8"), site="hal")
    found = {key[2]: fact.value for key, fact in draft.facts.items() if key[:2] == ("sites", "hal")}
    assert found == {"namespace": "research", "queue": "gpu-queue", "priority_class": "high", "user": 1000}


def test_a_launcher_that_is_a_worker_as_well_has_gpus_for_its_ranks() -> None:
    """Of any other launcher it is a defect: no rank is there."""
    text = (HERE / "launcher-as-worker.yaml").read_text("utf-8")
    alone = text.replace("  runLauncherAsWorker: true\n", "").replace('"12"', '"8"')
    assert [row[0] for row in findings(converted(text))].count("defect") == 0
    assert [row[0] for row in findings(converted(alone))].count("defect") == 1


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("{limits: {nvidia.com/gpu: 2}}", "its ranks had 2 GPUs, those of a worker 4"),
        ("{}", "its ranks had 0 GPUs, those of a worker 4"),
    ],
)
def test_a_launcher_whose_ranks_have_other_gpus_than_a_worker_is_told(limits: str, said: str) -> None:
    text = (HERE / "launcher-as-worker.yaml").read_text("utf-8")
    left = [row for row in findings(converted(text)) if row[0] == "left"]
    assert left == []
    other = converted(
        text.replace(
            "resources: {limits: {nvidia.com/gpu: 4}}}\n    Worker", f"resources: {limits}}}\n    Worker"
        )
    )
    assert [each.why.partition(":")[0] for each in other.findings if each.kind == "left"] == [said]


@pytest.mark.parametrize(
    ("bounds", "value"),
    [
        ("", 1),
        ("replicas: 3", 3),
        ("minReplicas: 2, maxReplicas: 6", "asked"),
        ("replicas: 3, maxReplicas: 6", 3),
    ],
)
def test_workers_with_a_least_and_a_most_in_place_of_a_number_are_asked_about(
    bounds: str, value: object
) -> None:
    text = f"""\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: a}}
spec:
  mpiReplicaSpecs:
    Launcher:
      template: {{spec: {{containers: [{{name: l, image: "reg/x:1", command: [mpirun, ./heat]}}]}}}}
    Worker: {{{bounds and f"{bounds}, "}template: {{spec: {{containers: [{{name: w, image: "reg/x:1"}}]}}}}}}
"""
    fact = converted(text).facts["nodes",]
    assert (fact.value if not fact.is_open else "asked") == value
    assert not fact.is_open or "Worker.minReplicas: 2 and Worker.maxReplicas: 6" in fact.question
