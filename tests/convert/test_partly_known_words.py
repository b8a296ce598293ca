"""Words that are known in part become a text for a shell that gives the rank what bash gave it."""

import json
import shlex
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.convert.mapping.words.texts import line, path, split
from hpclaunch.readback.shell.values import Unknown, join, shown

_SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"
_ENV = {"A": "a  b", "B": "*'\"$A", "SEED": "7", "HPCLAUNCH_TRIAL": "2", "PATH": "/usr/bin:/bin"}
_PARTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)), max_size=12),
    st.sampled_from([Unknown("variable", "A"), Unknown("variable", "B"), Unknown("variable", "RANDOM")]),
    st.just(Unknown("either", "i")),
)
_WORDS = st.lists(st.lists(_PARTS, max_size=4).map(join), min_size=1, max_size=5)
_STAND_INS = {"RANDOM": "SEED", "i": "HPCLAUNCH_TRIAL"}


def _executed(argv):
    done = subprocess.run(argv, env=_ENV, capture_output=True, check=True)
    return json.loads(done.stdout)


def _meant(value):
    names = {"RANDOM": _ENV["SEED"], "i": _ENV["HPCLAUNCH_TRIAL"]}
    return "".join(
        part if isinstance(part, str) else names.get(part.name, _ENV.get(part.name)) for part in value
    )


@settings(max_examples=60, deadline=None)
@given(_WORDS)
def test_a_rank_gets_the_words_that_bash_would_have_made(words):
    made = line([(sys.executable,), ("-c",), (_SHOW,), *words], _STAND_INS)
    assert made.doubt == ""
    argv = ["/bin/sh", "-c", made.value] if isinstance(made.value, str) else list(made.value)
    assert _executed(argv) == [_meant(word) for word in words]
    assert isinstance(made.value, tuple) == all(isinstance(part, str) for word in words for part in word)


@settings(max_examples=30, deadline=None)
@given(_WORDS)
def test_variables_that_only_the_rank_knows_are_exported_to_its_command(words):
    exports = [(f"X{index}", word) for index, word in enumerate(words)]
    show = f"import json, os; print(json.dumps([os.environ[f'X{{n}}'] for n in range({len(words)})]))"
    made = line([(sys.executable,), ("-c",), (show,)], _STAND_INS, exports)
    assert _executed(["/bin/sh", "-c", made.value]) == [_meant(word) for word in words]


@given(st.lists(_PARTS, max_size=6).map(join))
def test_a_value_that_is_cut_has_all_its_parts(value):
    assert ",".join(map(shown, split(value, ","))) == shown(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((Unknown("variable", "PWD"), "/bind.sh"), "./bind.sh"),
        ((Unknown("output", "$(pwd)"),), "."),
        ((Unknown("variable", "SLURM_SUBMIT_DIR"), "x"), None),
        ((Unknown("variable", "HOME"), "/x"), None),
        (("~/x",), None),
        (("/a/b",), "/a/b"),
    ],
)
def test_a_path_is_relative_to_where_the_job_was_submitted(value, expected):
    assert path(value) == expected


def test_what_no_text_can_stand_for_is_named():
    made = line([("run",), (Unknown("output", "$(date +%s)"),)])
    assert made.doubt == "$(date +%s)"


def test_a_login_shell_of_bash_does_what_came_before():
    made = line([("printf",), ("%s",), (Unknown("variable", "A"),)], before=[[("true",), ("it's",)]])
    assert made.value[:2] == ("bash", "-lc")
    done = subprocess.run(list(made.value), env=_ENV, capture_output=True, text=True, check=True)
    assert done.stdout == _ENV["A"]
    assert shlex.split(made.value[2])[:2] == ["true", "it's;"]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pwd", "./data"),
        ("pwd -P", "./data"),
        ('dirname "$0"', "./data"),
        ("dirname ${BASH_SOURCE[0]}", "./data"),
        ('cd "$(dirname "$0")" && pwd', "./data"),
        ('cd "$( dirname "${BASH_SOURCE[0]}" )" >/dev/null 2>&1 && pwd', "./data"),
        ('cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P', "./data"),
        ('cd "$(dirname "$0")/.." && pwd', None),
        ('cd "$(dirname "$0")"/sub && pwd', None),
        ('cd "$(dirname "$CONFIG")" && pwd', None),
        ('dirname "$(dirname "$0")"', None),
        ('dirname "$0"/..', None),
        ('dirname "$PWD"', None),
    ],
)
def test_the_folder_of_the_script_is_here_and_no_other_is(command, found):
    assert path((Unknown("output", f"$({command})"), "/data")) == found
