"""The JSON Schema accepts what the reader accepts, and refuses what an editor can see to be wrong."""

import json

import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from hpclaunch.cli.schema import schema
from hpclaunch.spec.read import parse_job


def validator(name: str) -> Draft202012Validator:
    done = CliRunner().invoke(schema, [name])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


LEAST = "name: a\ncommand: [echo]\n"
GOOD = [
    "name: 1.10\ncommand: [echo, 1, no]\n",
    LEAST + "time: 30\nenv: {A: 1.10, B: no}\n",
    LEAST + "time: 00:30:00\n",
    LEAST + "env:\nbind:\nmounts:\nimage: ~\n",
    LEAST + 'bind: {cpus: ["0-3"], smt: "no"}\n',
    LEAST + "mounts: ['a:/b', {source: /a, target: /b, read_only: on}]\n",
    LEAST + "sites: {a: {account: 7}}\n",
    LEAST + "requeue: yes\nsignal: {name: USR1, before: 90s}\n",
    LEAST + "signal: {name: TERM, before: 2}\n",
    LEAST + "directory: /x\n",
]
BAD = [
    "command: x\n",
    LEAST + "nods: 2\n",
    LEAST + "nodes: 0\n",
    LEAST + "env: {1A: x}\n",
    LEAST + "env: {UID: x}\n",
    LEAST + "env: {hl_rank: x}\n",
    LEAST + "env: {A: null}\n",
    LEAST + "mpi: openmpi\n",
    LEAST + "bind: {cpus: remote}\n",
    LEAST + "mounts: [{source: /a}]\n",
    LEAST + "signal: {name: KILL, before: 90s}\n",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_reads_is_valid(text):
    if '"no"' not in text:  # in YAML 1.2, which editors speak, an unquoted no is this text
        parse_job(text, "f", "/")
    validator("job").validate(yaml.safe_load(text))


@pytest.mark.parametrize("text", BAD)
def test_what_does_not_read_is_not_valid(text):
    assert not validator("job").is_valid(yaml.safe_load(text))


def test_a_site_that_extends_needs_only_its_name():
    site = validator("site")
    assert site.is_valid({"name": "a", "extends": "b"})
    assert not site.is_valid({"name": "a"})
    assert not site.is_valid({"extends": "b"})
    assert site.is_valid({"name": "a", "scheduler": "local", "node_types": [{"type": "local"}]})


def test_the_shipped_node_types_are_valid():
    import hpclaunch.topology.catalogue as catalogue

    check = validator("node-type")
    assert catalogue.names()
    for name in catalogue.names():
        with open(catalogue.load(name).file, encoding="utf-8") as stream:
            check.validate(yaml.safe_load(stream))
