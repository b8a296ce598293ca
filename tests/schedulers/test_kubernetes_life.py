"""Logs, waiting, cancelling and listing on a real HTTP server that speaks the API."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import apiserver
import msgspec
import pytest
from apiobjects import condition, ended, pod, running, waiting
from apiserver import ApiServer, Fault
from command import hpclaunch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes_jobs import JOB, MPIJOB

from hpclaunch.records.record import Record
from hpclaunch.schedulers import kubernetes_client, kubernetes_logs, kubernetes_objects, lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission

Make = Callable[..., Record]


@pytest.fixture
def job(server: ApiServer, on_kubernetes: Make) -> Record:
    """A submitted MPIJob."""
    return submitted(on_kubernetes())


class Clock:
    """A clock that tests move."""

    def __init__(self, now: float):
        self.now = now

    def __call__(self) -> float:
        return self.now


class Now:
    """The module time, with such a clock."""

    def __init__(self, clock: Clock):
        self.time = clock
        self.strptime, self.sleep = time.strptime, time.sleep


def submitted(record: Record) -> Record:
    lifecycle.submit(record, Submission(), pytest.fail)
    return record


def bring(record: Record) -> bytes:
    lifecycle.keep_log(record, pytest.fail)
    return record.log.read_bytes() if record.log.exists() else b""


def test_a_log_comes_bit_by_bit_no_byte_lost_and_none_twice(
    server: ApiServer, job: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pod(server, "launcher-x", running())
    lines = [b"\xff\0 raw\n", b"two\r\n", b"\n", b"2030-01-01T00:00:00Z looks like a time\n", b"no end yet"]
    clock = Clock(time.time() - 1000)
    monkeypatch.setattr(kubernetes_logs, "time", Now(clock))
    monkeypatch.setattr(apiserver, "time", Now(clock))
    log = server.logs["train-launcher-x"] = []
    for line in lines:
        log.append((clock.now, line))
        clock.now += 7.25
        assert bring(job) == b"".join(text for _, text in log)
    assert int(server.asked("GET", "/log")[-1].query["sinceSeconds"]) < 30
    for piece in (b", and more", b" of it\n", b"the last, unfinished"):
        clock.now += 60
        log.append((clock.now, piece))
        assert bring(job) == bring(job) == b"".join(text for _, text in log)
    one["status"]["containerStatuses"][0]["state"] = ended(0)
    assert bring(job) == b"".join(text for _, text in log)
    # All of it is here, so nobody is asked again, and nothing is lost with the pod.
    server.objects.clear()
    before = len(server.requests)
    assert bring(job) == b"".join(text for _, text in log)
    assert len(server.requests) == before


def test_a_line_that_grows_between_two_looks(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", running())
    now = time.time()
    log = server.logs["train-launcher-x"] = [(now, b"50%..")]
    assert bring(job) == b"50%.."
    log[0] = (now, b"50%..80%..")
    assert bring(job) == b"50%..80%.."
    log[0] = (now, b"50%..80%..100%\n")
    log.append((now + 0.1, b"done\n"))
    assert bring(job) == bring(job) == b"50%..80%..100%\ndone\n"


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_log_looked_at_at_any_time(
    server: ApiServer, job: Record, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    """Parts of lines come and are looked at with any pauses between; the clocks of node and reader differ,
    the reader's is set, and looks break off."""
    client = kubernetes_client.Client(job.intent.cluster)  # type: ignore[arg-type]
    one = pod(server, "launcher-x", running())
    seen = msgspec.convert(one, kubernetes_objects.Pod)
    path = job.log.with_name(f"{one['metadata']['uid']}.log")
    ours, node, now = Clock(2e9), Clock(2e9), 2e9
    skew = data.draw(st.sampled_from([-200.0, -3.0, 0.0, 3.0, 200.0]))
    monkeypatch.setattr(kubernetes_logs, "time", Now(ours))
    monkeypatch.setattr(apiserver, "time", Now(node))
    log = server.logs["train-launcher-x"] = []
    parts = st.sampled_from([b"a\n", b"a", b"\n", b"long line, in parts"])
    for _ in range(data.draw(st.integers(1, 8))):
        passed = data.draw(st.sampled_from([0.001, 0.7, 5.0, 11.0, 45.0, 3600.0]))
        now += passed
        ours.now += passed + data.draw(
            st.sampled_from([0.0, 0.0, 0.0, -7200.0, -1800.0, -30.0, 30.0, 7200.0])
        )
        for number, part in enumerate(data.draw(st.lists(parts, max_size=3))):
            log.append((now + skew + number * 1e-5, part))
        node.now = now + skew + 1e-4
        if data.draw(st.booleans()):
            server.faults += [Fault("GET", "/log", drop="middle")] * (data.draw(st.integers(0, 4)) == 0)
            with contextlib.suppress(SchedulerError):
                kubernetes_logs.bring(client, seen, path)
            server.faults.clear()
    kubernetes_logs.bring(client, seen, path)
    assert path.read_bytes() == b"".join(text for _, text in log)


def test_lines_of_one_moment_and_lines_out_of_order_all_come_once(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", running())
    now = time.time()
    log = server.logs["train-launcher-x"] = [(now, b"a\n"), (now, b"a\n"), (now + 0.5, b"c\n")]
    bring(job)
    log.append((now + 0.25, b"b, written by another stream\n"))
    bring(job)
    assert bring(job) == b"a\na\nc\nb, written by another stream\n"


def test_what_the_node_has_rotated_away_stays_in_the_record(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", running())
    now = time.time()
    server.logs["train-launcher-x"] = [(now, b"first\n")]
    bring(job)
    server.logs["train-launcher-x"] = [(now + 1, b"second\n")]
    assert bring(job) == b"first\nsecond\n"


def test_a_log_whose_bringer_was_killed_is_not_doubled(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", running())
    server.logs["train-launcher-x"] = [(time.time(), b"first\n")]
    bring(job)
    with job.log.open("ab") as log:
        log.write(b"sec")  # and died before it noted how far it had come
    server.logs["train-launcher-x"].append((time.time(), b"second\n"))
    assert bring(job) == b"first\nsecond\n"


def test_a_log_that_breaks_off_goes_on_the_next_time(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", running())
    now = time.time()
    server.logs["train-launcher-x"] = [(now + i / 100 - 200, b"%d\n" % i) for i in range(20_000)]
    server.faults.append(Fault("GET", "/log", drop="middle"))
    said: list[str] = []
    lifecycle.keep_log(job, said.append)
    assert "the log is not complete: " in said[0]
    assert 0 < job.log.stat().st_size < 60_000
    assert bring(job) == b"".join(b"%d\n" % i for i in range(20_000))


def test_logs_of_a_job_that_has_not_started(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", waiting("ContainerCreating"))
    assert bring(job) == b""
    assert not server.asked("GET", "/log")
    done = hpclaunch("logs", "here/train")
    assert (done.returncode, done.stdout) == (0, "")
    assert "has written nothing yet" in done.stderr


def test_logs_and_those_of_the_workers(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", ended(0))
    for number in (2, 10):
        pod(server, f"worker-{number}", running())
        server.logs[f"train-worker-{number}"] = [(1.0, b"sshd of %d\n" % number), (2.0, b"end")]
    server.logs["train-launcher-x"] = [(time.time(), b"hello\n")]
    assert hpclaunch("logs", "train").stdout == "hello\n"
    assert hpclaunch("logs", "train", "--workers").stdout == (
        "train-worker-2: sshd of 2\ntrain-worker-10: sshd of 10\ntrain-worker-2: end\ntrain-worker-10: end\n"
    )
    one = server.objects["pods", "adas", "train-worker-2"]
    one["status"]["containerStatuses"][0]["state"] = ended(0)
    assert (
        hpclaunch("logs", "train", "--pod", "train-worker-2").stdout
        == "train-worker-2: sshd of 2\ntrain-worker-2: end\n"
    )
    server.objects.clear()
    assert hpclaunch("logs", "train", "--pod", "train-worker-2").stdout.endswith("end\n")


def test_following_ends_with_the_job_and_its_last_line(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", ended(7))
    server.logs["train-launcher-x"] = [(time.time(), b"one\n"), (time.time(), b"the last")]
    condition(server, "Failed", "BackoffLimitExceeded/")
    followed = hpclaunch("logs", "train", "--follow")
    assert followed.stdout == "one\nthe last"
    assert "FAILED with exit code 7" in followed.stderr
    # the record has it when the pods are gone
    server.objects.clear()
    assert hpclaunch("logs", "train").stdout == "one\nthe last"


def test_following_the_workers(server: ApiServer, job: Record) -> None:
    for name in ("worker-0", "worker-1"):
        pod(server, name, ended(0))
        server.logs[f"train-{name}"] = [(1.0, b"one\n"), (2.0, b"two")]
    condition(server, "Succeeded")
    followed = hpclaunch("logs", "train", "--workers", "--follow")
    assert followed.returncode == 0
    lines = [f"train-worker-{number}: {text}" for text in ("one", "two") for number in (0, 1)]
    assert sorted(followed.stdout.splitlines()) == sorted(lines)


def test_jobs_without_pods_have_no_workers_logs(local: Make) -> None:
    local("true")
    done = hpclaunch("logs", "1", "--workers")
    assert done.returncode == 2
    assert "only jobs on Kubernetes have pods" in done.stderr


def test_wait_gives_the_job_s_own_status_and_keeps_its_log(server: ApiServer, job: Record) -> None:
    pod(server, "launcher-x", ended(7))
    server.logs["train-launcher-x"] = [(time.time(), b"why\n")]
    condition(server, "Failed", "BackoffLimitExceeded/")
    assert hpclaunch("wait", "here/train").returncode == 7
    assert job.log.read_bytes() == b"why\n"


def test_waiting_bears_a_server_that_is_away_for_a_while(
    server: ApiServer, job: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_client, "RETRIES", 0)
    condition(server, "Succeeded")
    server.faults += [Fault("GET", "/mpijobs", drop="before"), Fault("GET", "/mpijobs", code=503, body={})]
    said: list[str] = []
    assert lifecycle.wait(job, said.append, lambda _: None).state == "COMPLETED"
    assert len(said) == 1


def test_cancel_keeps_the_log_and_frees_the_name_when_all_pods_have_ended(
    server: ApiServer, job: Record
) -> None:
    pod(server, "launcher-x", running())
    server.logs["train-launcher-x"] = [(time.time(), b"so far\n")]
    condition(server, "Running")
    assert hpclaunch("cancel", "train").returncode == 0
    assert job.log.read_bytes() == b"so far\n"
    (request,) = server.asked("DELETE")
    assert request.body["propagationPolicy"] == "Foreground"
    assert lifecycle.ask([job], pytest.fail)[job.tag].reason == "it is being deleted"
    server.collect()
    seen = lifecycle.ask([job], pytest.fail)[job.tag]
    assert (seen.state, seen.reason, seen.exit_status) == ("CANCELLED", "it was cancelled", 1)
    again = hpclaunch("cancel", "train")
    assert (again.returncode, len(server.asked("DELETE"))) == (0, 1)
    assert "has ended already: CANCELLED" in again.stderr


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_cancel_over_a_lost_connection(server: ApiServer, job: Record, drop: str) -> None:
    server.faults.append(Fault("DELETE", "/mpijobs/train", drop=drop))
    lifecycle.cancel(job, pytest.fail)
    server.collect()
    assert lifecycle.ask([job], pytest.fail)[job.tag].state == "CANCELLED"


def test_cancel_leaves_a_newer_job_of_the_name_alone(
    server: ApiServer, job: Record, on_kubernetes: Make
) -> None:
    server.objects.clear()
    newer = submitted(on_kubernetes())
    lifecycle.cancel(job, pytest.fail)
    assert server.asked("DELETE") == []
    assert lifecycle.ask([newer, job], pytest.fail)[newer.tag].state == "PENDING"
    assert lifecycle.ask([newer, job], pytest.fail)[job.tag].state == "UNKNOWN"


def test_a_cancel_that_is_refused_changes_nothing(server: ApiServer, job: Record) -> None:
    server.forbidden.add(("delete", "mpijobs"))
    with pytest.raises(Refused, match="cannot delete"):
        lifecycle.cancel(job, pytest.fail)
    assert not job.state().cancelled


def test_cancelling_a_job_that_has_ended_frees_its_name(server: ApiServer, job: Record) -> None:
    condition(server, "Succeeded")
    done = hpclaunch("cancel", "train")
    assert done.stderr == "hpclaunch: job train has ended already: COMPLETED; its name is free again\n"
    server.collect()
    assert server.objects == {}
    assert lifecycle.ask([job], pytest.fail)[job.tag].state == "COMPLETED"


def test_list_asks_the_cluster_once_for_all_jobs(server: ApiServer, on_kubernetes: Make) -> None:
    for number in range(60):
        kind = JOB if number % 2 else MPIJOB
        submitted(on_kubernetes(kind.replace("train", f"train-{number}")))
    server.add("mpijobs", {"metadata": {"name": "foreign", "labels": {"hpclaunch/tag": "x"}}, "spec": {}})
    before = len(server.requests)
    listed = json.loads(hpclaunch("list", "--json").stdout)
    assert len(listed) == 60
    assert {one["state"] for one in listed} == {"PENDING"}
    asked = [one.path.rsplit("/", 1)[1] for one in server.requests[before:]]
    assert sorted(asked) == ["events", "jobs", "mpijobs", "pods"]


def test_long_lists_come_in_pages(
    server: ApiServer, on_kubernetes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_client, "PAGE", 2)
    records = [submitted(on_kubernetes(MPIJOB.replace("train", f"train-{i}"))) for i in range(5)]
    seen = lifecycle.refresh(records, pytest.fail)
    assert [seen[one.tag].state for one in records] == ["PENDING"] * 5
    assert len(server.asked("GET", "/mpijobs")) == 3


def test_list_says_which_cluster_is_away_and_shows_the_others(
    server: ApiServer, job: Record, local: Make
) -> None:
    lifecycle.wait(local("exit 3"), pytest.fail)
    server.token = "the login has expired"
    done = hpclaunch("list")
    assert done.returncode == 0
    assert "does not know who you are" in done.stderr
    assert "FAILED with exit code 3" in done.stdout
    assert "train" in done.stdout


def test_status_as_json_and_exit_3_where_the_cluster_is_away(server: ApiServer, job: Record) -> None:
    shown = json.loads(hpclaunch("status", "train", "--json").stdout)
    assert (shown["job_id"], shown["state"], shown["scheduler"]) == ("train", "PENDING", "kubernetes")
    server.faults += [Fault("GET", "", code=401, body={"message": "Unauthorized"})] * 9
    assert hpclaunch("status", "train").returncode == 3


def test_a_login_that_is_renewed_meanwhile_is_read_anew(
    server: ApiServer, job: Record, tmp_path: Path
) -> None:
    client = kubernetes_client.Client(job.intent.cluster)  # type: ignore[arg-type]
    assert client.version() == "Kubernetes v1.29.3"
    config = tmp_path / "kubeconfig"
    config.write_text(config.read_text().replace(str(server.token), "another"))
    server.token = "another"
    assert client.version() == "Kubernetes v1.29.3"
    server.token = "a third"
    with pytest.raises(SchedulerError, match="does not know who you are"):
        client.version()
