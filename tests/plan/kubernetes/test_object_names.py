"""Names that the API takes. The grammar is restated from k8s.io/apimachinery (DNS1035Label)."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pod_plans import planned, refused, target, warned

from hpclaunch.plan.kubernetes import names
from hpclaunch.spec import check_text

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def is_label(text: str) -> bool:
    return len(text) <= 63 and LABEL.fullmatch(text) is not None


def job_names() -> st.SearchStrategy[str]:
    """What a job file may have for a name."""
    text = st.text("abzABZ0189-_.", min_size=1, max_size=128)
    return text.filter(lambda name: _is_name(name))


def _is_name(text: str) -> bool:
    try:
        check_text.name(text)
    except ValueError:
        return False
    return True


@given(job_names(), st.integers(1, 100_000))
@example("a" * 128, 140)
@example("16gpu-" + "x" * 60, 560)
@example("-".join("a" * 64), 100_000)
def test_an_mpijob_and_all_its_pods_have_labels_for_names(text: str, workers: int) -> None:
    name = names.of_job(text, workers)
    # The operator's objects (mpi_job_controller.go), and a pod of the launcher's Job, of which the API server
    # makes the last five characters.
    for each in (name, f"{name}-worker-0", f"{name}-worker-{workers - 1}", f"{name}-launcher-x7k2q"):
        assert is_label(each), each


@given(job_names())
@example("a" * 128)
def test_a_job_of_one_pod_and_its_pod_have_labels_for_names(text: str) -> None:
    name = names.of_job(text, None)
    assert is_label(name)
    assert is_label(f"{name}-x7k2q")


@given(st.text(max_size=200), st.integers(20, 63))
def test_any_text_becomes_a_label_of_that_length_and_a_label_stays(text: str, room: int) -> None:
    name = names.label(text, room)
    assert is_label(name)
    assert len(name) <= room
    assert names.label(name, room) == name


@given(st.from_regex(LABEL, fullmatch=True).filter(lambda text: len(text) <= 45))
def test_what_is_a_label_and_short_enough_stays_as_it_is(text: str) -> None:
    assert names.of_job(text, 1000) == text


@given(st.text("ab", min_size=64, max_size=128), st.text("ab", min_size=64, max_size=128))
@example("a" * 80 + "b", "a" * 80 + "c")
@example("Train_" + "a" * 80, "train-" + "a" * 80)
def test_long_names_that_begin_alike_stay_apart(one: str, other: str) -> None:
    assert (names.of_job(one, 2) == names.of_job(other, 2)) == (one == other)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("16gpu-tensorflow-benchmark-imagenet", "job-16gpu-tensorflow-benchmark-imagenet"),
        ("horovod-new_test", "horovod-new-test"),
        ("BERT.large__2", "bert-large-2"),
        ("resnet50", "resnet50"),
        ("9", "job-9"),
        ("x_", "x"),
    ],
)
def test_the_rule_is_one_that_a_person_can_follow(text: str, name: str) -> None:
    assert names.of_job(text, 2) == name


def test_a_changed_name_is_said_and_used_everywhere() -> None:
    plan = planned({"name": "Bert_Large", "secrets": ["KEY"]})
    pods = target(plan)
    assert pods.name == "bert-large"
    assert warned(plan, "'Bert_Large' cannot be a name in Kubernetes: there the job is called bert-large")
    assert pods.launcher is not None
    for labels in (pods.labels, pods.worker.labels, pods.launcher.labels):
        assert dict(labels)["hpclaunch/job"] == "bert-large"
    assert dict(pods.worker.apart)["hpclaunch/job"] == "bert-large"
    assert pods.variables_secret == "bert-large-env"
    assert not [warning for warning in planned().warnings if "cannot be a name" in warning]


def test_two_volumes_of_one_name_to_kubernetes_are_refused_by_both_names() -> None:
    volumes = {"A_b": {"claim": "one"}, "a.b": {"claim": "two"}}
    found = refused({"mounts": ["A_b:/one", "a.b:/two"]}, volumes=volumes)
    message = found["job", ("mounts", 1)]
    assert "A_b" in message
    assert "a.b" in message
    # One volume in two places is no collision.
    assert len(target(planned({"mounts": ["A_b:/one", "A_b:/two"]}, volumes=volumes)).worker.mounts) == 3


@pytest.mark.parametrize(
    ("volume", "mounts"),
    [
        ("dshm", ["dshm:/data"]),
        ("path-1", ["path-1:/data", "/scratch:/scratch"]),
        ("ssh-auth", ["ssh-auth:/data"]),
        ("mpi-job-config", ["mpi-job-config:/data"]),
    ],
)
def test_a_volume_with_a_name_that_pods_have_anyway_is_refused(volume: str, mounts: list[str]) -> None:
    """It would be mounted in place of the other, without a word."""
    found = refused({"mounts": mounts}, volumes={volume: {"claim": "c"}})
    assert list(found) == [("job", ("mounts", 0))]
    assert volume in found["job", ("mounts", 0)]
