"""Values on #SBATCH lines, as the real sbatch reads them back."""

import re
import subprocess

import pytest

from hpclaunch.plan.raw import directive_value

HOSTILE = (
    "plain",
    "two words",
    " blanks  around ",
    "a # hash",
    "#",
    "it's",
    'say "hi"',
    "back\\slash",
    "ends with \\",
    "a\\ b",
    "tab\there",
    "$HOME $(id) `id` \\$x",
    "a,b;c|d&e=f",
    "caf\u00e9 \u65e5\u672c",
    "hetjob",
)


@pytest.mark.sandbox
@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_arrives_as_it_was_written(text: str, nodes_560: dict[str, str]) -> None:
    lines = ("#!/bin/sh", "#SBATCH --hold", f"#SBATCH {directive_value(f'--comment={text}')}  # why", "true")
    submit = _run(nodes_560, "sbatch", "--parsable", input="\n".join(lines) + "\n")
    shown = _run(nodes_560, "scontrol", "show", "job", submit.strip())
    _run(nodes_560, "scancel", submit.strip())
    found = re.search(r"^   Comment=(.*) $", shown, re.MULTILINE)
    assert found, shown
    assert found[1] == text


def _run(env: dict[str, str], *argv: str, input: str = "") -> str:
    done = subprocess.run(argv, env=env, input=input, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
