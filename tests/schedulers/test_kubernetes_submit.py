"""Submitting to a real HTTP server that speaks the API: once, whatever happens on the way."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import TOKEN, ApiServer, Fault, Request, decoded, stamp

from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.schedulers import kubernetes_client, lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.values.errors import HpclaunchError, SchedulerError
from hpclaunch.values.job import Submission

Make = Callable[..., Record]
CREATE = r"/mpijobs$"
NOTHING = Submission()
VALUES = Submission(
    {"HTTPS_PROXY": "http://p:3128"}, {"WANDB_API_KEY": "s3cret-ü$x\n"}, secret_name="train-env"
)


def submit(record: Record, submission: Submission = NOTHING) -> str:
    return lifecycle.submit(record, submission, pytest.fail)


def refused(record: Record, submission: Submission = NOTHING) -> list[str]:
    """The lines of the refusal."""
    with pytest.raises(Refused) as error:
        lifecycle.submit(record, submission, pytest.fail)
    assert record.state().job_id is None
    return str(error.value).splitlines()


def test_what_is_sent_is_the_record_s_manifest_with_the_tag(server: ApiServer, on_kubernetes: Make) -> None:
    record = on_kubernetes()
    assert submit(record) == "train"
    sent = server.one("mpijobs")
    labels = sent["metadata"]["labels"]
    assert labels.pop("hpclaunch/tag") == record.tag
    expected = yaml.safe_load(record.script.read_text())
    assert record.script.name == "manifest.yaml"
    assert labels == expected["metadata"]["labels"]
    assert (sent["spec"], sent["kind"]) == (expected["spec"], "MPIJob")
    assert find("here/train").tag == find("train").tag == record.tag
    (request,) = server.asked("POST")
    assert request.query["fieldValidation"] == "Strict"


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_lost_connection_makes_one_job_and_not_two(
    server: ApiServer, on_kubernetes: Make, drop: str
) -> None:
    server.faults.append(Fault("POST", CREATE, drop=drop))
    record = on_kubernetes()
    assert submit(record) == "train"
    assert len(server.asked("POST", "mpijobs")) == 2
    assert server.one("mpijobs")["metadata"]["labels"]["hpclaunch/tag"] == record.tag


def test_a_server_that_is_gone_after_taking_the_job_is_asked_for_the_tag(
    server: ApiServer, on_kubernetes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_client, "RETRIES", 0)
    server.faults.append(Fault("POST", CREATE, drop="after"))
    record = on_kubernetes()
    assert submit(record) == "train"
    assert len(server.asked("POST")) == 1
    assert record.state().job_id == "train"


def test_a_server_that_stays_away_leaves_it_open_and_a_later_question_finds_the_job(
    server: ApiServer, on_kubernetes: Make
) -> None:
    for _ in range(6):
        server.faults.append(Fault("POST", CREATE, drop="after"))
    for _ in range(6):
        server.faults.append(Fault("GET", CREATE, code=503, body={"message": "not now"}))
    plan = json.dumps({"target": {"variables_secret": "train-env"}}).encode()
    record = on_kubernetes(plan=plan)
    said: list[str] = []
    with pytest.raises(SchedulerError) as error:
        lifecycle.submit(record, VALUES, said.append)
    assert not isinstance(error.value, Refused)
    assert f"hpclaunch submit --resume here/{record.tag}" in str(error.value)
    assert any("Secret train-env" in one for one in said)
    server.faults.clear()
    assert lifecycle.ask([record], pytest.fail)[record.tag].state == "PENDING"
    assert record.state().job_id == "train"
    # and the Secret that waited for its job has it now
    assert (
        server.one("secrets")["metadata"]["ownerReferences"][0]["uid"]
        == server.one("mpijobs")["metadata"]["uid"]
    )


@pytest.mark.parametrize("at", ["secrets", "mpijobs"])
def test_ctrl_c_says_what_may_be_there(
    server: ApiServer, on_kubernetes: Make, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    answer = server.answer

    def late(request: Request) -> tuple[int, Any]:
        if request.method == "POST" and at in request.path:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # the answer is not there when the signal is
        return answer(request)

    monkeypatch.setattr(server, "answer", late)
    record = on_kubernetes()
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        lifecycle.submit(record, VALUES, said.append)
    assert "Secret train-env" in said[0]
    assert f"hpclaunch submit --resume here/{record.tag}" in said[1]


@pytest.mark.parametrize("text", ["{", "", "[]", "kind: Pod"])
def test_a_damaged_manifest_is_named(server: ApiServer, on_kubernetes: Make, text: str) -> None:
    record = on_kubernetes()
    submit(record)
    record.script.write_text(text)
    with pytest.raises(HpclaunchError) as error:
        lifecycle.ask([record], pytest.fail)
    assert f"{record.script} is damaged" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: ApiServer, on_kubernetes: Make, code: int) -> None:
    server.faults += [
        Fault("POST", CREATE, code=code, body={"message": "busy"}, headers={"Retry-After": "0"})
    ] * 2
    assert submit(on_kubernetes()) == "train"
    assert len(server.asked("POST")) == 3


def test_retry_after_is_heard_but_not_for_an_hour(
    server: ApiServer, on_kubernetes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", slept.append)
    server.faults += [
        Fault("POST", CREATE, code=429, body={"message": "busy"}, headers={"Retry-After": after})
        for after in ("3", "3600")
    ]
    assert submit(on_kubernetes()) == "train"
    assert slept == [3, kubernetes_client.LONGEST_PAUSE_S]


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [(429, Refused, "too much to do"), (500, SchedulerError, "etcd is sad")],
)
def test_a_server_that_stays_busy_is_given_up(
    server: ApiServer, on_kubernetes: Make, code: int, kind: type[Exception], words: str
) -> None:
    server.faults += [Fault("POST", CREATE, code=code, body={"message": "etcd is sad"})] * 20
    with pytest.raises(SchedulerError, match=words) as error:
        submit(on_kubernetes())
    # 500 may be said of a job that was made; 429 is never
    assert isinstance(error.value, Refused) == (kind is Refused)
    assert len(server.asked("POST")) == 1 + kubernetes_client.RETRIES


def test_a_server_that_does_not_answer_is_one_line_and_no_hang(
    server: ApiServer, on_kubernetes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_client, "READ_S", 0.1)
    server.faults += [Fault("GET", "", pause_s=5.0) for _ in range(9)]
    server.faults += [Fault("POST", CREATE, code=0, pause_s=5.0) for _ in range(9)]
    with pytest.raises(SchedulerError, match="does not answer in time") as error:
        submit(on_kubernetes())
    assert not isinstance(error.value, Refused)


def test_nobody_listens(on_kubernetes: Make, server: ApiServer, tmp_path: Path) -> None:
    record = on_kubernetes()
    (tmp_path / "kubeconfig").write_text(
        (tmp_path / "kubeconfig").read_text().replace(server.url, "http://127.0.0.1:9")
    )
    with pytest.raises(
        SchedulerError, match=r"the cluster at http://127.0.0.1:9 cannot be reached: .*refused"
    ):
        submit(record)


def test_the_name_of_another_s_job_is_a_refusal_that_says_whose(
    server: ApiServer, on_kubernetes: Make
) -> None:
    server.add("mpijobs", {"kind": "MPIJob", "metadata": {"name": "train", "labels": {}}, "spec": {}})
    message, advice = refused(on_kubernetes())
    assert message == "namespace adas has the MPIJob train already, another's: PENDING"
    assert "kubectl -n adas delete mpijobs train" in advice
    assert "--set name=" in advice


def test_the_name_of_an_own_job_that_has_ended_is_freed_by_cancel(
    server: ApiServer, on_kubernetes: Make
) -> None:
    first = on_kubernetes()
    submit(first)
    server.one("mpijobs")["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    message, advice = refused(on_kubernetes())
    assert message == "namespace adas has the MPIJob train already, an earlier one of yours: COMPLETED"
    assert "It has ended; remove it (`hpclaunch cancel here/train`)" in advice
    assert lifecycle.ask([first], pytest.fail)[first.tag].state == "COMPLETED"
    assert lifecycle.free_name(first)
    assert "is being deleted" in refused(on_kubernetes())[0]
    server.collect()
    assert submit(on_kubernetes()) == "train"
    assert lifecycle.ask([first], pytest.fail)[first.tag].state == "COMPLETED"


@pytest.mark.parametrize(
    ("spoil", "message", "advice"),
    [
        (lambda one: setattr(one, "token", "another"), "does not know who you are", "oc login"),
        (
            lambda one: one.forbidden.add(("create", "mpijobs")),
            'User "jane" cannot create',
            "site export rbac",
        ),
        (lambda one: one.namespaces.clear(), "no namespace adas", "`namespace`"),
        (lambda one: one.served.pop("kubeflow.org"), "the MPI operator is not installed", "administrator"),
        (
            lambda one: one.served.update({"kubeflow.org": ["v1", "v1alpha2"]}),
            "serves kubeflow.org in version v1, v1alpha2, and not v2beta1",
            "`mpijob`",
        ),
    ],
    ids=["401", "403", "namespace", "no operator", "another version"],
)
def test_what_the_cluster_does_not_have_or_allow(
    server: ApiServer, on_kubernetes: Make, spoil: Callable[[ApiServer], object], message: str, advice: str
) -> None:
    spoil(server)
    record = on_kubernetes()
    said, how = refused(record)
    assert message in said
    assert advice in how
    state = record.state().status
    assert state
    assert state.reason == f"it was never submitted: {said}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("slotsPerWorker: 8", "nonsense: 8"), 'unknown field "spec.nonsense"'),
        (("name: train\n", "name: 16gpu\n"), "metadata.name: Invalid value: a DNS label is wanted"),
    ],
)
def test_what_the_api_refuses_is_said_in_its_words(
    server: ApiServer, on_kubernetes: Make, change: tuple[str, str], words: str
) -> None:
    record = on_kubernetes()
    record.script.write_text(record.script.read_text().replace(*change))
    assert words in refused(record)[0]


def test_a_quota_is_named_as_such(server: ApiServer, on_kubernetes: Make) -> None:
    text = (
        'mpijobs "train" is forbidden: exceeded quota: gpus, requested: count/mpijobs=1, used: 4, limited: 4'
    )
    server.faults.append(Fault("POST", CREATE, code=403, body={"message": text}))
    assert "the namespace's quota does not allow" in refused(on_kubernetes())[0]


def test_the_server_s_warnings_reach_the_user(server: ApiServer, on_kubernetes: Make) -> None:
    server.warnings = [r"would violate PodSecurity \"baseline:latest\""]
    said: list[str] = []
    lifecycle.submit(on_kubernetes(), Submission(), said.append)
    assert said == ['would violate PodSecurity "baseline:latest"']


def test_the_secret_comes_before_the_job_and_belongs_to_it(server: ApiServer, on_kubernetes: Make) -> None:
    record = on_kubernetes()
    submit(record, VALUES)
    job, secret = server.one("mpijobs"), server.one("secrets")
    assert [one.path.rsplit("/", 1)[1] for one in server.asked("POST")] == ["secrets", "mpijobs"]
    assert decoded(secret) == {"HTTPS_PROXY": b"http://p:3128", "WANDB_API_KEY": "s3cret-ü$x\n".encode()}
    assert secret["immutable"] is True
    assert secret["metadata"]["labels"]["hpclaunch/tag"] == record.tag
    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["name"], owner["kind"]) == (job["metadata"]["uid"], "train", "MPIJob")
    assert "blockOwnerDeletion" not in owner  # on OpenShift that needs a right which users lack
    lifecycle.cancel(record, pytest.fail)
    server.collect()
    assert server.of("secrets") == []


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (422, {"message": "bad: s3cret-ü$x\n"}),
        (422, "s3cret-ü$x\n is bad".encode()),
        (500, {"message": "webhook: cannot read s3cret-ü$x\n"}),
    ],
)
def test_no_value_is_in_a_record_or_a_message(
    server: ApiServer, on_kubernetes: Make, home: Path, code: int, body: Any
) -> None:
    for _ in range(kubernetes_client.RETRIES + 1):
        server.faults.append(Fault("POST", r"/secrets$", code=code, body=body))
    said = "\n".join(refused(on_kubernetes(), VALUES))
    assert "s3cret" not in said
    server.faults.clear()
    submit(on_kubernetes(), VALUES)
    written = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert len(written) > 6
    assert not [
        data for data in written if b"s3cret" in data or b"czNjcmV0" in data or TOKEN.encode() in data
    ]


def test_a_job_that_is_refused_leaves_no_secret(server: ApiServer, on_kubernetes: Make) -> None:
    server.forbidden.add(("create", "mpijobs"))
    refused(on_kubernetes(), VALUES)
    assert server.of("secrets") == []


def test_a_secret_that_is_refused_means_no_job(server: ApiServer, on_kubernetes: Make) -> None:
    server.forbidden.add(("create", "secrets"))
    assert "cannot create" in refused(on_kubernetes(), VALUES)[0]
    assert server.of("mpijobs") == []


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_connection_lost_over_the_secret(server: ApiServer, on_kubernetes: Make, drop: str) -> None:
    server.faults.append(Fault("POST", "/secrets$", drop=drop))
    submit(on_kubernetes(), VALUES)
    assert server.one("secrets")["metadata"]["ownerReferences"]


def test_the_secret_of_a_job_that_is_gone_makes_room(server: ApiServer, on_kubernetes: Make) -> None:
    owner = {"uid": "gone", "kind": "MPIJob", "name": "train"}
    server.add("secrets", {"metadata": {"name": "train-env", "ownerReferences": [owner]}, "data": {}})
    submit(on_kubernetes(), VALUES)
    assert "WANDB_API_KEY" in server.one("secrets")["data"]


def test_a_taken_name_is_told_by_its_job_and_not_by_the_job_s_secret(
    server: ApiServer, on_kubernetes: Make
) -> None:
    submit(on_kubernetes(), VALUES)
    before = decoded(server.one("secrets"))
    assert "has the MPIJob train already, an earlier one of yours" in refused(on_kubernetes(), VALUES)[0]
    assert decoded(server.one("secrets")) == before


def test_another_s_secret_is_left_alone(server: ApiServer, on_kubernetes: Make) -> None:
    server.add("secrets", {"metadata": {"name": "train-env"}, "data": {"A": "QQ=="}})
    assert "a Secret train-env already" in refused(on_kubernetes(), VALUES)[0]
    assert decoded(server.one("secrets")) == {"A": b"A"}


def test_without_values_there_is_no_secret(server: ApiServer, on_kubernetes: Make) -> None:
    submit(on_kubernetes(), Submission(secret_name="train-env"))
    assert server.of("secrets") == []


def test_a_name_that_is_being_freed_is_told_from_one_that_is_taken(
    server: ApiServer, on_kubernetes: Make
) -> None:
    submit(on_kubernetes())
    server.one("mpijobs")["metadata"]["deletionTimestamp"] = stamp()
    assert "Submit again in a moment" in refused(on_kubernetes())[1]
