"""Text that is not YAML, or YAML that no job file needs, is refused with its place and quickly."""

import pytest

from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

CORPUS = [
    ("name: a\n\tcommand: x\n", "2:1", "a tab in the indentation"),
    ("name: a\nenv:\n\tA: x\n", "3:1", "a tab in the indentation"),
    ("name: a\ncommand: echo a: b\n", "2:16", 'put the value in "quotes"'),
    ("name: a\ncommand: *.sh\n", "2:11", "takes *NAME for an alias"),
    ("name: a\ncommand: *all\n", "2:10", "takes *NAME for an alias"),
    ("name: a\ncommand: @x\n", "2:10", 'put it in "quotes"'),
    ("name: a\ncommand: `x`\n", "2:10", 'put it in "quotes"'),
    ("name: a\ncommand: [a, b\n", "3:1", "not closed"),
    ("name: a\ncommand: 'a\n", "3:1", "a quote that was opened is not closed"),
    ("name: a\ncommand\nnodes: 2\n", "3:1", 'not "key: value"'),
    ("name: a\n command: x\n", "2:9", "no key can stand"),
    ("name: a\ncommand: x\n  nodes: 2\n", "3:8", "no key can stand"),
    ("name: a\n---\nname: b\n", "2:1", "more than one YAML document"),
    ("name: a\ncommand: !x!y z\n", "2:10", "takes !NAME for a tag"),
    ("name: a\ncommand: [&x a, &x b]\n", "2:17", "an anchor (&NAME) stands twice"),
    ('name: a\nenv: {A: "x\x1b[0m"}\n', "2:12", 'U+001B: write it as "\\u001b"'),
    ("name: a\nenv: {A: x\u2028y}\n", "2:11", 'U+2028: write it as "\\u2028"'),
    ("name: a\nenv: {A: x\x85y}\n", "2:11", 'U+0085: write it as "\\u0085"'),
]


def problem_of(text: str) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        parse_job(text, "f", "/")
    (problem,) = caught.value.problems
    return problem.where, problem.message


@pytest.mark.parametrize(("text", "place", "said"), CORPUS, ids=[ascii(case[0])[:40] for case in CORPUS])
def test_syntax(text, place, said):
    where, message = problem_of(text)
    assert where == f"f:{place}"
    assert said in message


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n"])
def test_an_empty_file(text):
    with pytest.raises(InputError, match=r"f.*: (the file is empty; )?a job is a map of keys"):
        parse_job(text, "f", "/")


DEEP = "nested more than 24 levels deep"
MANY = "more than 100,000 values"
MERGES = "merges (<<) expand to more than 100,000 keys"
BOMBS = {
    "lists": ("[" * 200_000, DEEP),
    "dashes": ("- " * 200_000, DEEP),
    "maps": ("{a: " * 100_000, DEEP),
    "complex keys": ("? " * 200_000, DEEP),
    "anchors": ("".join(f"&a{number} [" for number in range(50_000)), DEEP),
    "laughs in lists": (
        "command: &a0 [x, x]\nmounts:\n"
        + "".join(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)),
        "mounts[28] must be text",
    ),
    "laughs in a field": (
        "command: [x]\nname: a\nsites:\n  a: &a {sbatch: &l ["
        + "-x, " * 5000
        + "]}\n"
        + "".join(f"  b{n}: *a\n" for n in range(1000)),
        "aliases (*NAME) expand to more than 100,000 values",
    ),
    "laughs in merges": (
        "sites:\n  a0: &a0 {account: x}\n"
        + "".join(f"  a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 20)}]}}\n" for n in range(1, 9)),
        MERGES,
    ),
    "laughs in empty merges": (
        "sites:\n  a0: &a0 {}\n"
        + "".join(f"  a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 50)}]}}\n" for n in range(1, 9)),
        MERGES,
    ),
    "values": ("command: [" + "x, " * 300_000 + "]", MANY),
    "wide": ("".join(f"k{number}: 1\n" for number in range(60_000)), MANY),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name):
    text, reason = BOMBS[name]
    with pytest.raises(InputError) as caught:
        parse_job(text, "f", "/")
    assert reason in "\n".join(map(str, caught.value.problems))


def test_a_list_in_itself_is_refused():
    where, message = problem_of("name: a\ncommand: &a [echo, *a]\n")
    assert where == "f:2:10"
    assert "must be text, not a list" in message
