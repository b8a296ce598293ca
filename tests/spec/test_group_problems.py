"""What is wrong with the groups of a job, and what is not."""

import pytest

from hpclaunch.spec.dump import dump_job
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

GOOD = """\
name: a
groups:
  train: {nodes: 2, command: [x, 1.10], env: {A: 0o17, B: no}}
  evaluate: {nodes: 1, command: y}
"""

WRONG = [
    ("world: separate\ncommand: [x]", "world: it is about `groups`, and the job has none"),
    ("groups: {a: {nodes: 1, command: [x]}}", "one group is a job without groups"),
    ("nodes: 3\n" + GOOD[8:], "nodes: the groups say how many nodes there are: leave it out"),
    (
        "groups: {a: {nodes: 1}, b: {nodes: 1, command: [x]}}",
        "it has no command, and the job has none either",
    ),
    (
        "groups: {a: {nodes: 1, command: []}, b: {nodes: 1, command: [x]}}",
        "groups.a.command: the command is empty",
    ),
    ("groups: {a: {nodes: 0, command: x}, b: {nodes: 1, command: [x]}}", "0 must be from 1 to 100000"),
    ("groups: {a/b: {nodes: 1, command: x}, b: {nodes: 1, command: [x]}}", "'a/b' is not a name"),
    ("command: [x]\ngroups: {a: {nodes: 1, env: {1A: x}}, b: {nodes: 1}}", "1A"),
    (
        "command: [x]\nsecrets: [KEY]\ngroups: {a: {nodes: 1, env: {KEY: x}}, b: {nodes: 1}}",
        "it is in secrets too",
    ),
    (
        "command: [x]\ngroups: {a: {nodes: 1, env: {HPCLAUNCH_GROUP: x}}, b: {nodes: 1}}",
        "each rank has its own",
    ),
    ("env: {HPCLAUNCH_GROUPS: x}\n" + GOOD[8:], "each rank has its own, by its group"),
    (
        "sweep: {grid: {args: [[a], [b]]}}\ncommand: [x]\ngroups: {a: {nodes: 1}, b: {nodes: 1}}",
        "one for all groups",
    ),
    ("sweep: {grid: {env.A: ['1', '2']}}\n" + GOOD[8:], "sweep groups.train.env.A"),
    ("groups: {a: {nodes: 1, comand: x}, b: {nodes: 1, command: x}}", "did you mean 'command'"),
]


def test_texts_of_a_group_stay_as_they_are_and_a_record_has_the_same_job() -> None:
    job = parse_job(GOOD, "f", "/x").value
    assert job.groups["train"].env == {"A": "0o17", "B": "no"}
    assert job.groups["train"].command == ("x", "1.10")
    assert parse_job(dump_job(job), "g", "/x").value == job


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_job(f"name: a\n{text}\n" if not text.startswith("name") else text, "f", "/")
    assert message in str(caught.value)
    assert "f:" in str(caught.value)


def test_a_command_that_is_still_open_is_all_that_is_said_of_it() -> None:
    text = 'name: a\ncommand: "<ask: which>"\ngroups: {a: {nodes: 1}, b: {nodes: 1}}\n'
    with pytest.raises(InputError) as caught:
        parse_job(text, "f", "/")
    assert [problem.path for problem in caught.value.problems] == [("command",)]
