"""What is wrong with `requeue`, `signal` and `notify` is said at its line and column."""

import pytest

from hpclaunch.spec.dump import dump_job
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

LEAST = "name: a\ncommand: [echo]\n"

# The text under the two required lines (so its first line is line 3), the place, and what the message says.
CORPUS = [
    ("signal: {name: SIGUSR1, before: 2m}", "3:16", ["'SIGUSR1' is not one of", "USR1"]),
    ("signal: {name: KILL, before: 2m}", "3:16", ["is not one of", "USR1"]),
    ("signal: {name: 10, before: 2m}", "3:16", ["is not one of"]),
    ("signal: {name: USR1}", "3:9", ["before"]),
    ("signal: USR1", "3:9", ["map"]),
    ("signal: {name: USR1, before: 2x}", "3:30", ["is not a span of time", "90s"]),
    ("signal: {name: USR1, before: UNLIMITED}", "3:30", ["is not a span of time"]),
    ("signal: {name: USR1, before: 0s}", "3:30", ["0 s must be from 1"]),
    ("signal: {name: USR1, before: 18h13m}", "3:30", ["65580 s must be from 1 to 65535 s"]),
    ("signal: {name: USR1, before: -1}", "3:30", ["is not a span of time"]),
    ("time: 2m\nsignal: {name: USR1, before: 2m}", "4:30", ["120 s is all of the time", "(120 s)"]),
    ("time: UNLIMITED\nsignal: {name: USR1, before: 2m}", "4:9", ["without limit"]),
    ("requeue: often", "3:10", ["neither true nor false"]),
    ("requeue: true\nenv: {HPCLAUNCH_RESTARTS: 3}", "4:27", ["how often the job was started again"]),
    ("requeue: true\ninherit: [HPCLAUNCH_RESTARTS]", "4:11", ["how often the job was started again"]),
    ("chain: 1", "3:8", ["1 must be from 2 to 1000"]),
    ("chain: 1001", "3:8", ["1001 must be from 2 to 1000"]),
    ("chain: 3\nsweep: {grid: {env.A: [a, b]}}", "3:8", ["either a sweep or a chain"]),
    ("chain: 3\nenv: {HPCLAUNCH_LINK: a}", "4:23", ["the number of the link"]),
    ("notify: {}", "3:9", ["either `command` or `webhook`"]),
    ("notify: {start: true}", "3:9", ["either `command` or `webhook`"]),
    ("notify: {command: a, webhook: 'https://h/'}", "3:9", ["either `command` or `webhook`"]),
    ("notify: {command: []}", "3:19", ["the command is empty"]),
    ("notify: {command: ' '}", "3:19", ["the command is empty"]),
    ("notify: {webhook: HOOK}", "3:19", ["'HOOK' is neither http(s)://HOST/... nor a name in `secrets`"]),
    ("notify: {webhook: 'ftp://h/'}", "3:19", ["neither http(s)"]),
    ("notify: {webhook: 'https:///'}", "3:19", ["neither http(s)"]),
    ('notify: {webhook: "https://h/a b"}', "3:19", ["neither http(s)"]),
    ('notify: {webhook: "https://h/\\nurl = x"}', "3:19", ["line break"]),
    ("notify: {webhook: 'https://u:p@h/'}", "3:19", ["has a password in it: put the URL in a secret"]),
    ("notify: {webhook: 'https://h/', token: abc}", "3:40", ["'abc' is no name in `secrets`"]),
    ("secrets: [T]\nnotify: {command: a, token: T}", "4:29", ["goes with a `webhook`"]),
]


@pytest.mark.parametrize(("text", "place", "said"), CORPUS)
def test_a_problem_is_said_at_its_place(text: str, place: str, said: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_job(LEAST + text + "\n", "f", "/")
    (problem,) = caught.value.problems
    assert problem.where == f"f:{place}", problem.message
    for words in said:
        assert words in problem.message


@pytest.mark.parametrize(
    ("before", "seconds"),
    [("90s", 90), ("2m", 120), ("2", 120), ("00:01:30", 90), ("1:30", 90), ("18h12m15s", 65535)],
)
def test_a_span_has_the_forms_of_a_time_and_is_not_rounded(before: str, seconds: int) -> None:
    job = parse_job(f"{LEAST}signal: {{name: USR1, before: {before}}}\n", "f", "/").value
    assert job.signal
    assert job.signal.before == seconds
    again = parse_job(dump_job(job), "record", "/").value
    assert again == job


def test_time_of_a_partition_says_nothing_of_the_span() -> None:
    assert parse_job(LEAST + "signal: {name: TERM, before: 10h}\n", "f", "/").value.long_run
    assert not parse_job(LEAST, "f", "/").value.long_run
