"""`--set KEY=VALUE`: env literally, everything else as YAML, with errors that name the option."""

import pytest

from hpclaunch.spec.job import Bind, MountSpec, SiteHints
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

JOB = """\
name: a
command: [echo, one, two]
nodes: 2
bind: &bind {cpus: spread, smt: false}
env: {A: x}
mounts: ["/a:/a"]
sites:
  one: &site {account: x}
  two: *site
  three: {<<: *site, qos: low}
"""


def set_in(*sets: str):
    return parse_job(JOB, "job.yaml", "/", sets).value


@pytest.mark.parametrize(
    "text", ["", "null", "~", "[a", "1.10", "a=b", "*x", " two ", "# no", "'q'", "\t", "a\nb", "é"]
)
def test_env_is_literal(text):
    assert set_in(f"env.B={text}").env == {"A": "x", "B": text}


def test_other_values_are_yaml():
    job = set_in(
        "nodes=4",
        "time=1:30",
        "command=[./x, no]",
        "image=a:1 # comment",
        "bind.cpus=none",
        "container.env=[A]",
    )
    assert (job.nodes, job.time, job.command, job.image) == (4, 2, ("./x", "no"), "a:1")
    assert job.bind == Bind(cpus="none", smt=False)
    assert job.container.env == ("A",)


def test_a_map_replaces_the_whole_env():
    assert set_in("env={B: 1.10}").env == {"B": "1.10"}


def test_an_empty_value_unsets():
    assert set_in("time=30", "time=").time is None


def test_the_last_one_wins():
    assert set_in("nodes=4", "nodes=5").nodes == 5


def test_list_entries_by_number():
    assert set_in("command.1=three").command == ("echo", "three", "two")
    job = set_in("mounts.1.source=/b", "mounts.1.target=/c")
    assert job.mounts == ("/a:/a", MountSpec(source="/b", target="/c"))


def test_what_an_alias_shares_is_not_changed_elsewhere():
    job = set_in("sites.two.account=y", "sites.three.account=z")
    assert job.sites == {
        "one": SiteHints(account="x"),
        "two": SiteHints(account="y"),
        "three": SiteHints(account="z", qos="low"),
    }


def test_set_values_are_located_as_such():
    document = parse_job(JOB, "job.yaml", "/", ["env.A=y", "bind={cpus: [0-1]}"])
    assert document.locate(("env", "A")) == "--set env.A"
    assert document.locate(("bind", "cpus", 0)) == "--set bind.cpus.0"
    assert document.locate(("nodes",)) == "job.yaml:3:8"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("nodes", "--set", "is not KEY=VALUE"),
        ("=4", "--set", "is not KEY=VALUE"),
        ("env..A=4", "--set", "is not KEY=VALUE"),
        ("nodes=x", "--set nodes", "'x' is not a whole number"),
        ("nodes=0", "--set nodes", "must be from 1"),
        ("nods=4", "--set nods", "did you mean 'nodes'"),
        ("env.1A=x", "--set env.1A", "is not the name of a variable"),
        ("env.A=\ud800", "--set env.A", "not valid Unicode"),
        ("nodes.x=4", "--set nodes.x", "not a map or a list"),
        ("command.7=x", "--set command.7", "there is no entry 7"),
        ("command.-1=x", "--set command.-1", "there is no entry -1"),
        ("command.x=x", "--set command.x", "'x' is not a whole number"),
        ("bind={", "--set bind", ""),
        ("bind={cpu: x}", "--set bind.cpu", "did you mean 'cpus'"),
        ("name=a\n---\nb", "--set name", "more than one YAML document"),
        ("command=" + "[" * 1000, "--set command", "levels deep"),
    ],
)
def test_problems_name_the_option(text, place, said):
    with pytest.raises(InputError) as caught:
        set_in(text)
    (problem,) = caught.value.problems
    assert problem.where == place
    assert said in problem.message
