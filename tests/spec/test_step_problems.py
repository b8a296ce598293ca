"""What is wrong with steps, trials, stage_in and a shared image is said at its line and column."""

import pytest

from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

LEAST = "name: a\ncommand: [echo]\n"

# The text under the two required lines (so its first line is line 3), the place, and what the message says.
CORPUS = [
    ("image: {ref: a, import: here}", "3:25", ["'here'", "write shared, or a folder"]),
    ("image: {import: shared}", "3:8", ["ref"]),
    ("stage_in: [a]", "3:12", ["stage_in[0]: 'a': write SRC:DST"]),
    ("stage_in: ['a:/b:ro']", "3:12", ["write SRC:DST"]),
    ("stage_in: [':/b']", "3:12", ["write SRC:DST"]),
    ("stage_in: [~/a:/b]", "3:12", ["~ is not expanded in '~/a'"]),
    ("stage_in: [a:b/c]", "3:12", ["the target 'b/c'", "begin it with /"]),
    ("stage_in: [{source: a, target: ''}]", "3:12", ["the target is empty"]),
    ('stage_in: ["a:/b\\n"]', "3:12", ["line break"]),
    ("setup: [{run: ''}]", "3:15", ["setup[0].run: the command is empty"]),
    ("setup: [{run: []}]", "3:15", ["setup[0].run: the command is empty"]),
    ("setup: [{run: ['', a]}]", "3:15", ["the command is empty"]),
    ("setup: [{where: host}]", "3:9", ["run"]),
    ("setup: [{run: a, where: pod}]", "3:25", ["'pod' is not one of container, host"]),
    ("setup: [{run: a, per: nodes}]", "3:23", ["did you mean 'node'"]),
    ("after: [{run: a}, {run: b, name: ''}]", "3:34", ["after[1].name: the text is empty"]),
    ('before_each: [{run: a, name: "x\\ny"}]', "3:30", ["line break"]),
    ('setup: [{run: a, name: "x\\x9b\\u202e"}]', "3:24", ["cannot be printed"]),
    (f"after: [{{run: a, name: {'x' * 101}}}]", "3:24", ["101 characters"]),
    ("trials: 0", "3:9", ["trials: 0 must be from 1 to 100"]),
    ("trials: {count: 101}", "3:17", ["trials.count: 101 must be from 1 to 100"]),
    ("trials: {seed: A}", "3:9", ["count"]),
    ("trials: {count: 2, seed: 1A}", "3:26", ["not the name of a variable"]),
    ("trials: {count: 2, seed: HPCLAUNCH_TRIAL}", "3:26", ["take another name"]),
    ("trials: {count: 2, seed: LD_PRELOAD}", "3:26", ["take another name"]),
    ("trials: {count: 2, seed: CUDA_VISIBLE_DEVICES}", "3:26", ["take another name"]),
    ("trials: {count: 2, seed: NCCL_IB_HCA}", "3:26", ["take another name"]),
    ("trials: {count: 2, seed: null, first_seed: 3}", "3:44", ["no variable has it"]),
    ("trials: {count: 2, first_seed: -1}", "3:32", ["the seeds -1 to 0 must be from 0"]),
    ("trials: {count: 2, first_seed: 2147483647}", "3:32", ["2147483648 must be from 0 to 2147483647"]),
    ("trials: {count: 2, log: x.log}", "3:25", ["no {trial} in it"]),
    ("trials: {count: 2, log: 'x/{trial}/'}", "3:25", ["is a folder"]),
    ("trials: {count: 2, log: ''}", "3:25", ["the text is empty"]),
    ("trials: {count: 2, log: '{trial}/..'}", "3:25", ["is a folder"]),
    ("trials: {count: 1, log: .}", "3:25", ["is a folder"]),
    ("trials: {count: 2, log: '{trial}/../x'}", "3:25", ["no {trial} in it"]),
    ("trials: {count: 2, log: '~/{trial}'}", "3:25", ["~ is not expanded"]),
    ("env: {SEED: 1}\ntrials: 2", "3:13", ["env.SEED: trials.seed sets it", "first_seed", "`seed: null`"]),
    ("inherit: [A, SEED]\ntrials: 2", "3:14", ["inherit[1]: SEED: trials.seed sets it"]),
    ("secrets: [S]\ntrials: {count: 1, seed: S}", "3:11", ["secrets[0]: S: trials.seed sets it"]),
    ("env: {HPCLAUNCH_TRIAL: 1}\ntrials: {count: 1, seed: null}", "3:24", ["the number of the trial"]),
]


@pytest.mark.parametrize(("text", "place", "said"), CORPUS)
def test_a_problem_is_said_at_its_place(text: str, place: str, said: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_job(LEAST + text + "\n", "f", "/")
    (problem,) = caught.value.problems
    assert problem.where == f"f:{place}"
    for words in said:
        assert words in problem.message


SOUND = [
    "image: {ref: a, import: shared}",
    "image: {ref: a, import: /folder}",
    "stage_in: [a:/b, ./a:c, {source: 'x:y', target: /z}]",
    "setup: [{run: a}, {run: [a, '']}]",
    "env: {SEED: 1}\ntrials: {count: 2, seed: null}",
    "trials: {count: 1, log: x.log}",
    "trials: {count: 100, first_seed: 2147483548}",
]


@pytest.mark.parametrize("text", SOUND)
def test_what_is_right_is_taken(text: str) -> None:
    assert parse_job(LEAST + text + "\n", "f", "/").value.beside_ranks
