"""What is wrong with a job file is said at its line and column, with what would be right."""

import pytest

from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

LEAST = "name: a\ncommand: [echo]\n"


def problems_of(text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        parse_job(text, "f", "/")
    return [(problem.where, problem.message) for problem in caught.value.problems]


# The text under the two required lines (so its first line is line 3), the place, and what the message says.
CORPUS = [
    ("nods: 2", "3:1", ["unknown key 'nods'", "did you mean 'nodes'", "allowed: name, command, version"]),
    (
        "bind: {cpu: local}",
        "3:8",
        ["unknown key 'cpu' in bind", "'cpus'", "allowed: cpus, smt, memory, hcas"],
    ),
    ('directory: "/x\\0/y"', "3:12", ["directory: a NUL character"]),
    ("version: 2", "3:10", ["version: '2' is not 1"]),
    ("nodes: eight", "3:8", ["'eight' is not a whole number"]),
    ("nodes: 8.0", "3:8", ["'8.0' is not a whole number in decimal"]),
    ("nodes: 0x10", "3:8", ["'0x10' is not a whole number in decimal"]),
    ("nodes: 1_000", "3:8", ["'1_000' is not a whole number in decimal"]),
    ("nodes: 1:30", "3:8", ["'1:30' is not a whole number in decimal"]),
    ("nodes: 010", "3:8", ["octal", "write 10"]),
    ('nodes: "2"', "3:8", ["nodes must be a whole number, not the quoted text '2'"]),
    ("nodes: 99999999999999999999", "3:8", ["too large"]),
    ("nodes: 0", "3:8", ["0 must be from 1 to 100000"]),
    ("nodes: -1", "3:8", ["-1 must be from 1"]),
    ("nodes: 100001", "3:8", ["must be from 1 to 100000"]),
    ("nodes:", "3:7", ["nodes has no value: write a whole number"]),
    ("nodes: [2]", "3:8", ["nodes must be a whole number, not a list"]),
    ("ranks_per_node: 0", "3:17", ["from 1 to 4096"]),
    ("ranks_per_node: 4097", "3:17", ["from 1 to 4096"]),
    ("gpus_per_node: -1", "3:16", ["-1 must be from 0"]),
    ("mpi: PMIX", "3:6", ["'PMIX' is not one of pmix, pmi2, none", "did you mean 'pmix'"]),
    ("mpi: null", "3:6", ["mpi has no value: write one of pmix, pmi2, none"]),
    ("rendezvous: {torch: 1}", "3:13", ["rendezvous must be one of none, torch, not a map"]),
    ("time: soon", "3:7", ["'soon' is not a time limit", "HH:MM:SS"]),
    ("time: 0", "3:7", ["no time to run", "UNLIMITED"]),
    ("time: [1]", "3:7", ["time must be a time such as", "not a list"]),
    ("bind: {smt: maybe}", "3:13", ["'maybe' is neither true nor false"]),
    ("bind: {smt: 'yes'}", "3:13", ["must be true or false, not the quoted text 'yes'"]),
    ("bind: {cpus: remote}", "3:14", ["'remote' is not one of local, spread, none or a list"]),
    ("bind: {cpus: [0-3, 3-1]}", "3:20", ["bind.cpus[1]: the range 3-1 runs backwards"]),
    ("bind: {memory: ['']}", "3:17", ["bind.memory[0]: the list is empty"]),
    ("bind: {hcas: ['']}", "3:15", ["bind.hcas[0]: the text is empty"]),
    ("bind: {cpus: []}", "3:14", ["bind.cpus: 0 entries, not one for each local rank"]),
    (
        "ranks_per_node: 2\nbind: {cpus: [0-3, 4-7,8]}",
        "4:14",
        ["3 entries, not 2 (ranks_per_node)", "quotes"],
    ),
    ("image: none", "3:8", ["leave the key out"]),
    ("image: a b", "3:8", ["has a space"]),
    ("image: ''", "3:8", ["image: the text is empty"]),
    ('image: "a\\nb"', "3:8", ["line break"]),
    ("env: [A=1]", "3:6", ["env must be a map (KEY: value), not a list"]),
    ("env: {A: }", "3:10", ['env.A has no value: write "" for an empty value']),
    ("env: {A: null}", "3:10", ['write "" for an empty value']),
    ("env: {A: [1]}", "3:10", ["env.A must be text, not a list"]),
    ("env: {A: {B: 1}}", "3:10", ["env.A must be text, not a map"]),
    ("env: {1A: x}", "3:7", ["env: '1A' is not the name of a variable"]),
    ("env: {A-B: x}", "3:7", ["'A-B' is not the name of a variable"]),
    ("env: {É: x}", "3:7", ["'É' is not the name of a variable"]),
    ("env: {'': x}", "3:7", ["'' is not the name of a variable"]),
    ("env: {UID: x}", "3:7", ["UID belongs to the shell"]),
    ('env: {A: "a\\0b"}', "3:10", ["env.A: a NUL character"]),
    ("inherit: HTTPS_PROXY", "3:10", ["inherit must be a list, not the text 'HTTPS_PROXY'"]),
    ("inherit: [A, A=B]", "3:14", ["inherit[1]: 'A=B' is not the name of a variable"]),
    ("inherit: [A, A]", "3:14", ["A stands twice"]),
    ("inherit: [SHLVL]", "3:11", ["belongs to the shell"]),
    ("env: {A: x}\nsecrets: [B, A]", "4:14", ["A is in env too"]),
    ("inherit: [A]\nsecrets: [A]", "4:11", ["A is in inherit too"]),
    ("mounts: [imagenet]", "3:10", ["mounts[0]: 'imagenet'", "write SRC:DST"]),
    ("mounts: ['a:/b:rx']", "3:10", ["write SRC:DST or SRC:DST:ro"]),
    ("mounts: ['/a:/b:/c:ro']", "3:10", ["a path with a ':'", "{source: ..., target: ...}"]),
    ("mounts: [':/b']", "3:10", ["write SRC:DST"]),
    ("mounts: ['a:b']", "3:10", ["the target 'b'", "must begin with /"]),
    ("mounts: ['~/a:/b']", "3:10", ["~ is not expanded"]),
    ("mounts: [{target: /b}]", "3:10", ["either a volume or a source"]),
    ("mounts: [{source: /a, volume: v, target: /b}]", "3:10", ["either a volume or a source"]),
    ("mounts: [{source: /a}]", "3:10", ["the key 'target' is missing (in mounts[0])"]),
    ("mounts: [[a]]", "3:10", ["mounts[0] must be text or a map with the keys target", "not a list"]),
    ("mounts: [{source: /a, target: /b, readonly: true}]", "3:35", ["'readonly'", "'read_only'"]),
    ("container: {env: [1A]}", "3:19", ["container.env[0]: '1A' is not the name"]),
    ("container: {save: ''}", "3:19", ["container.save: the text is empty"]),
    ("sites: {a/b: {}}", "3:14", ["'a/b' is not a name"]),
    ("sites: {a: {account: 'x\ty'}}", "3:22", ["control character"]),
    ("sites: {a: {sbatch: --x}}", "3:21", ["must be a list, not the text '--x'"]),
    ("sites: {a: {sbatch: [x]}}", "3:22", ["'x' is not an option"]),
    ('sites: {a: {sbatch: ["-a\\nb"]}}', "3:22", ["line break"]),
    ("env: {A: !!python/name:os.system x}", "3:10", ["the YAML tag", "leave it out"]),
    ("env: !foo {A: 1}", "3:6", ["the YAML tag '!foo'"]),
    ("env: {!foo A: 1}", "3:7", ["a key must be plain text"]),
    ("env: {[a]: 1}", "3:7", ["a key must be plain text"]),
    ("env:\n  ?\n  : 1", "4:4", ["a key has no name"]),
    ("env: {<<: 1}", "3:11", ["<< takes a map"]),
    ("env: &a {<<: *a}", "3:6", ["<< takes a map", "not itself"]),
    ("nodes: 1\nmpi: none\nnodes: 2", "5:1", ["the key 'nodes' stands twice, first at f:3:1"]),
]


@pytest.mark.parametrize(("text", "place", "said"), CORPUS, ids=[case[0][:40] for case in CORPUS])
def test_one_problem_at_its_place(text, place, said):
    found = problems_of(LEAST + text + "\n")
    assert [where for where, _ in found] == [f"f:{place}"]
    for words in said:
        assert words in found[0][1]


HEADS = [
    ("command: [echo]", "1:1", "the key 'name' is missing"),
    ("name: a", "1:1", "the key 'command' is missing"),
    ("name: a b\ncommand: x", "1:7", "'a b' is not a name"),
    ("name: -a\ncommand: x", "1:7", "is not a name"),
    (f"name: {'a' * 129}\ncommand: x", "1:7", "at most 128"),
    ("name:\ncommand: x", "1:6", "name has no value"),
    ("name: a\ncommand: []", "2:10", "the command is empty"),
    ("name: a\ncommand: ' '", "2:10", "the command is empty"),
    ("name: a\ncommand: ['', x]", "2:11", "the first word is empty"),
    ("name: a\ncommand: [echo, ~]", "2:17", 'command[1] has no value: write ""'),
    ("name: a\ncommand: [echo, [x]]", "2:17", "command[1] must be text, not a list"),
    ("name: a\ncommand: {a: b}", "2:10", "command must be text or a list, not a map"),
    ("- name: a", "1:1", "a job is a map of keys (name: ...), not a list"),
    ("just text", "1:1", "a job is a map of keys (name: ...), not one text"),
]


@pytest.mark.parametrize(("text", "place", "said"), HEADS, ids=[case[0][:40] for case in HEADS])
def test_one_problem_in_the_head(text, place, said):
    found = problems_of(text)
    assert [where for where, _ in found] == [f"f:{place}"]
    assert said in found[0][1]


def test_all_problems_of_a_file_come_at_once_and_in_its_order():
    text = "name: a b\nnods: 2\nmpi: openmpi\nenv: {A: , UID: 1}\nmounts: [x]\ntime: never\n"
    assert [where for where, _ in problems_of(text)] == [
        "f:1:1",  # no command
        "f:1:7",
        "f:2:1",
        "f:3:6",
        "f:4:10",
        "f:4:12",
        "f:5:10",
        "f:6:7",
    ]


def test_thousands_of_problems_are_cut_short():
    found = problems_of(LEAST + "".join(f"key{number}: 1\n" for number in range(5000)))
    assert 10 < len(found) < 100
    assert "more problems" in found[-1][1]


def test_a_long_wrong_value_is_cut_in_the_message():
    ((_, message),) = problems_of(LEAST + f"nodes: {'x' * 5000}\n")
    assert len(message) < 200
