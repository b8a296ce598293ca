"""`hpclaunch shell` on Kubernetes: its manifest is run here as a pod, from a terminal to the pod's end."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from api_schemas import CORE_VERSIONS, validate
from apiserver import ApiServer, Fault
from command import hpclaunch
from onepod import Node, node
from person import Person
from waiting import until

SITE = """\
version: 1
name: here
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 4}]
kubernetes: {namespace: adas, mpi_operator: "0.8.0"}
"""
STRANGE = "a $b `c`\n'\"\\ é $(d) $$x"
JOB = {
    "name": "train",
    "image": "registry.example/x:1",
    "command": ["./run.sh"],
    "nodes": 2,
    "ranks_per_node": 4,
    "time": "30m",
    "env": {"STRANGE": STRANGE},
    "secrets": ["TOKEN"],
    "setup": [{"run": "exit 1"}],
}


class Shell:
    """The command, for a job and a cluster that are there."""

    def __init__(self, folder: Path, server: ApiServer, node: Node):
        self.server, self.node = server, node
        (folder / "site.yaml").write_text(SITE)
        (folder / "job.yaml").write_text(yaml.safe_dump({**JOB, "workdir": str(folder)}))
        self.words = ["shell", str(folder / "job.yaml"), "--site", str(folder / "site.yaml")]
        self.env = {**os.environ, "TOKEN": "geheim", "TERM": "xterm"}

    def person(self, *more: str) -> Person:
        return Person([sys.executable, "-m", "hpclaunch", *self.words, *more], self.env, 30, 100)

    def all_gone(self) -> None:
        """Nothing of it is left in the cluster; its pod ended by itself when it was told to."""
        until(lambda: not any(self.server.of(kind) for kind in ("jobs", "pods", "secrets")))
        assert [*self.node.codes.values()] == [0]


@pytest.fixture
def shell(tmp_path: Path, home: Path, server: ApiServer) -> Iterator[Shell]:
    with node(server) as made:
        yield Shell(tmp_path, server, made)


def test_a_terminal_in_the_jobs_container_and_environment(shell: Shell, tmp_path: Path) -> None:
    shell.node.takes.clear()
    with shell.person() as person:
        person.sees("too little nvidia.com/gpu free")  # why it waits
        shell.node.takes.set()
        person.types("echo is-$((40 + 2)) ${#TOKEN} $$; stty size; pwd; printf '%s|' \"$STRANGE\"\r")
        person.sees("is-42 6 ")
        shown = STRANGE.replace("\n", "\r\n")
        person.sees(f"\r\n30 100\r\n{tmp_path}\r\n{shown}|")
        (job,) = shell.server.of("jobs")
        name = job["metadata"]["name"]
        listed = json.loads(hpclaunch("list", "--json").stdout)
        assert [(each["job_id"], each["state"]) for each in listed] == [(name, "RUNNING")]
        beside = hpclaunch("exec", name, "--", "printenv", "TOKEN", "STRANGE")
        assert beside.stdout == f"geheim\n{STRANGE}\n", beside.stderr
        person.resizes(50, 132)
        person.types("until stty size | grep -x '50 132'; do sleep 0.1; done; ")
        person.types("sh -c 'echo up-$((40 + 3)); exec sleep 300'\r")
        person.sees("50 132\r\n")
        person.sees("up-43")
        person.types("\x03")
        person.sees("^C")
        person.types("echo status-$?; exit 9\r")
        person.sees("status-130")
        assert person.end() == 9, person.seen
    shell.all_gone()
    assert "geheim" not in json.dumps(job)
    (listed,) = json.loads(hpclaunch("list", "--json").stdout)
    assert (listed["state"], listed["reason"]) == ("COMPLETED", "its shell has ended")


def test_a_command_has_its_streams_and_status(shell: Shell) -> None:
    words = ["a b", "$c", "it's\n", "", ":", "é"]
    script = 'cat; test -t 0 || echo "no terminal"; printf "%s|" "$@"; exit 7'
    done = hpclaunch(*shell.words, "--", "sh", "-c", script, "x", *words, env=shell.env, input="in\n")
    assert (done.returncode, done.stdout) == (7, f"in\nno terminal\n{'|'.join(words)}|"), done.stderr
    shell.all_gone()


@pytest.mark.parametrize("how", ["its window goes", "it is told to end"])
def test_no_pod_outlives_its_shell(shell: Shell, how: str) -> None:
    with shell.person() as person:
        person.types("echo is-$((40 + 2)); sleep 300\r")
        person.sees("is-42")
        if how == "its window goes":
            person.goes()
        else:
            person.kill(signal.SIGTERM)
            assert person.end() == 128 + signal.SIGTERM
        shell.all_gone()


@pytest.mark.parametrize(
    "sent",
    [
        *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGALRM, signal.SIGXCPU, signal.SIGABRT, signal.SIGRTMIN, signal.SIGRTMAX),
    ],
)
def test_who_gives_up_waiting_leaves_nothing(shell: Shell, sent: signal.Signals) -> None:
    shell.node.takes.clear()
    with shell.person() as person:
        person.sees("waits: ")
        person.kill(sent)
        assert person.end() == 128 + sent
    until(lambda: not any(shell.server.of(kind) for kind in ("jobs", "pods", "secrets")))


def test_ctrl_backslash_while_it_waits_leaves_nothing(shell: Shell) -> None:
    shell.node.takes.clear()
    with shell.person() as person:
        person.sees("waits: ")
        person.types("\x1c")
        assert person.end() == 128 + signal.SIGQUIT
    until(lambda: not any(shell.server.of(kind) for kind in ("jobs", "pods", "secrets")))


def test_a_signal_while_it_is_submitted_leaves_nothing(shell: Shell) -> None:
    """The answer comes late: by then there is a job."""
    shell.server.faults.append(Fault("POST", "/jobs$", pause_s=2.0))
    with shell.person() as person:
        until(lambda: shell.server.asked("POST", "/jobs"))
        person.kill(signal.SIGTERM)
        assert person.end() == 143, person.seen
    assert not shell.server.of("jobs") or shell.server.asked("DELETE", "/jobs")
    until(lambda: not any(shell.server.of(kind) for kind in ("jobs", "pods", "secrets")))


def test_its_time_is_over(shell: Shell) -> None:
    with shell.person("--", "sh", "-c", "echo is-$((40 + 2)); sleep 300") as person:
        person.sees("is-42")
        (job,) = shell.server.of("jobs")
        assert job["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 1800
        late = "Job was active longer than specified deadline"
        shell.node.fails(job["metadata"]["name"], "DeadlineExceeded", late)
        person.sees("TIMEOUT: it reached its time limit")
        assert person.end() == 3
    until(lambda: not any(shell.server.of(kind) for kind in ("jobs", "pods", "secrets")))
    (listed,) = json.loads(hpclaunch("list", "--json").stdout)
    assert listed["state"] == "TIMEOUT"


def test_what_the_cluster_refuses_leaves_nothing(shell: Shell) -> None:
    shell.server.forbidden.add(("create", "jobs"))
    done = hpclaunch(*shell.words, env=shell.env)
    assert done.returncode == 3
    assert "does not allow you" in done.stderr
    assert not shell.server.of("secrets")
    shell.server.forbidden = {("get", "pods/exec")}
    done = hpclaunch(*shell.words, env=shell.env)
    assert done.returncode == 3
    assert "Role hpclaunch-exec" in done.stderr
    shell.all_gone()


def test_a_pod_that_cannot_be_given_back_is_named(shell: Shell) -> None:
    shell.server.forbidden.add(("delete", "jobs"))
    done = hpclaunch(*shell.words, "--", "true", env=shell.env)
    assert done.returncode == 3
    (job,) = shell.server.of("jobs")
    assert f"`hpclaunch cancel here/{job['metadata']['name']}` ends it" in done.stderr
    shell.server.forbidden.clear()
    assert hpclaunch("cancel", f"here/{job['metadata']['name']}").returncode == 0
    shell.all_gone()


def test_a_dry_run_prints_what_would_be_made(shell: Shell, tmp_path: Path) -> None:
    done = hpclaunch(*shell.words, "--dry-run", env=shell.env)
    assert done.returncode == 0, done.stderr
    assert "the cluster would take it" in done.stderr
    assert not shell.server.of("jobs")
    manifest = yaml.safe_load(done.stdout)
    for version in CORE_VERSIONS:
        validate(manifest, version)
    rendered = hpclaunch(
        "render", tmp_path / "job.yaml", "--site", tmp_path / "site.yaml", "--set", "nodes=1", env=shell.env
    )
    pod, usual = (
        manifest["spec"]["template"]["spec"],
        yaml.safe_load(rendered.stdout)["spec"]["template"]["spec"],
    )
    (own,), (rank,) = pod.pop("containers"), usual.pop("containers")
    assert pod == usual
    for each in (own, rank):
        del each["command"], each["args"]
        each["env"] = [one for one in each["env"] if "valueFrom" not in one]
    assert own == rank


def test_without_a_time_limit_it_is_bounded(shell: Shell) -> None:
    done = hpclaunch(*shell.words, "--set", "time=UNLIMITED", "--dry-run", env=shell.env)
    assert "goes after 8 hours" in done.stderr
    assert yaml.safe_load(done.stdout)["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 8 * 3600


def test_of_groups_it_is_a_pod_of_the_one_that_is_named(shell: Shell) -> None:
    sets = ("--set", "groups={a: {nodes: 1}, b: {nodes: 1, command: [./b], env: {LR: 'of b'}}}")
    words = (*shell.words, *sets, "--set", "nodes=1", "--set", "setup=[]", "--dry-run")
    done = hpclaunch(*words, "--group", "b", env=shell.env)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["kind"] == "Job"
    assert "LR=of b" in done.stdout
    for more, message in (
        ((), "say with --group on whose nodes the shell is: a, b"),
        (("--group", "c"), "no group 'c'; it has: a, b"),
        (("--group", ""), "no group ''; it has: a, b"),
        (("--group", "b", "--set", "groups.b.gpus_per_node=9"), "--set groups.b.gpus_per_node: "),
        (("--group", "b", "--set", "gpus_per_node=9"), "--set gpus_per_node: "),
    ):
        refused = hpclaunch(*words, *more, env=shell.env)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr
    refused = hpclaunch(*shell.words, "--dry-run", "--group", "a", env=shell.env)
    assert (refused.returncode, "the job has no groups" in refused.stderr) == (2, True)
    file = Path(shell.words[1])
    many = {key: value for key, value in JOB.items() if key not in ("nodes", "setup")}
    groups = "groups:\n  a: {nodes: 1}\n  b:\n    nodes: 1\n    gpus_per_node: 9\n"
    file.write_text(yaml.safe_dump(many) + groups)
    line = file.read_text().count("\n")
    refused = hpclaunch(*shell.words, "--dry-run", "--group", "b", env=shell.env)
    assert (refused.returncode, refused.stderr.startswith(f"{file}:{line}:20: ")) == (2, True), refused.stderr


def test_a_shell_is_not_submitted_as_a_job(shell: Shell) -> None:
    assert hpclaunch(*shell.words, "--", "true", env=shell.env).returncode == 0
    shell.all_gone()
    (listed,) = json.loads(hpclaunch("list", "--json").stdout)
    done = hpclaunch("rerun", listed["job_id"], env=shell.env)
    assert (done.returncode, done.stdout) == (2, "")
    assert "was a shell" in done.stderr
    assert not shell.server.of("jobs")
    assert hpclaunch("submit", *shell.words[1:], "--set", "nodes=1", env=shell.env).returncode == 0
    (job,) = shell.server.of("jobs")
    again = ("rerun", job["metadata"]["name"], "--set", "name=again", "--dry-run")
    assert hpclaunch(*again, env=shell.env).returncode == 0
