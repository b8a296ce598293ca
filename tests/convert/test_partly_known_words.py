"""Words that are known in part become a text for a shell that gives the rank what bash gave it."""

import json
import shlex
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.mapping.words.texts import line, path, split
from hpclaunch.convert.options import Options
from hpclaunch.convert.shell.names import with_names
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


_TEXTS = st.lists(
    st.sampled_from(
        [
            *("echo ", "'", '"', " # don't\n", "\n", "$'\\''", "\\'", "cat <<E\nit's ", "\nE\n", "; ", "a b"),
            *(Unknown("variable", name) for name in ("FIRST", "SECOND")),
            Unknown("output", "$(made)"),
        ]
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(_TEXTS)
@example(["echo 'it is ", Unknown("variable", "FIRST"), "' \"", Unknown("output", "$(made)"), '"\n'])
@example(
    ["# don't\necho '", Unknown("variable", "FIRST"), "'\ncat <<E\nit's ", Unknown("variable", "SECOND")]
)
def test_a_shell_that_is_given_a_text_has_what_was_put_in_between_single_quotes_too(parts):
    values = {"FIRST": "one", "SECOND": "two", "$(made)": "three"}
    meant = "".join(part if isinstance(part, str) else values[part.name] for part in parts)
    text, unknown = with_names(join(list(parts)))
    environment = {name: values[part.name] for name, part in unknown.items()}
    means = subprocess.run(["bash", "-c", meant], env={"PATH": "/usr/bin:/bin"}, capture_output=True)
    has = subprocess.run(
        ["bash", "-c", text], env={"PATH": "/usr/bin:/bin", **values, **environment}, capture_output=True
    )
    if means.returncode == 0 and not means.stderr:
        assert has.stdout == means.stdout


@pytest.mark.parametrize(
    "word",
    ["${A/HOST/$Q}", "${A//HOST/$Q-1}", "${B/#HOST/$Q}", "${B//HOST/k}", "${B/HOST/$Q}", "${C/x/$Q}"],
)
def test_a_text_in_which_something_is_put_in_for_a_word_is_known_around_it(word):
    lines = f'A="x_HOST_HOST.y"\nB="HOST/$Z/HOST"\nC=ab\nsrun --mpi=none ./t "{word}"'
    found = convert(
        classified({"run.sub": f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1\n{lines}\n"}), Options({})
    )
    command = loaded(found.job)["command"]
    text = shlex.join(command) if isinstance(command, list) else command
    environment = {"Q": "q", "Z": "z", "PATH": "/usr/bin:/bin"}
    has, means = (
        subprocess.run(["bash", "-c", each], env=environment, capture_output=True, check=True).stdout
        for each in (
            text.replace("exec ./t", "./t").replace("./t", "printf %s"),
            lines.replace("srun --mpi=none ./t", "printf %s"),
        )
    )
    assert has == means


def test_what_is_not_known_may_have_the_word_itself() -> None:
    lines = "for r in 0.1 0.2; do srun --mpi=none ./t run_${r/./_}; done"
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1\n{lines}\n"
    assert loaded(convert(classified({"run.sub": text}), Options({})).job)["command"] == ASK


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        ("--to out in/part*.dat", True),
        ("../cases/?/a.xyz 3", True),
        ("none-*.zip", True),  # which a shell leaves as it is where no file fits
        ("--all=* x", True),
        ("[ab]*.dat", False),
        ("in/**", False),
    ],
)
def test_on_the_host_a_rank_finds_the_files_that_a_pattern_of_the_script_found(words, is_told, tmp_path):
    run = f"srun --mpi=none {shlex.quote(sys.executable)} -c {shlex.quote(_SHOW)} {words}"
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1 -t 5\n{run}\n"
    command = loaded(convert(classified({"run.sub": text}), Options({})).job)["command"]
    assert (command != ASK) is is_told
    if is_told:
        for name in ("part1.dat", "part 2.dat"):
            (tmp_path / "here" / "in").mkdir(parents=True, exist_ok=True)
            (tmp_path / "here" / "in" / name).touch()
        (tmp_path / "cases" / "x").mkdir(parents=True)
        (tmp_path / "cases" / "x" / "a.xyz").touch()
        its = command if isinstance(command, str) else shlex.join(command)
        shown = [
            subprocess.run([shell, "-c", each], cwd=tmp_path / "here", capture_output=True, check=True).stdout
            for shell, each in (("bash", run.removeprefix("srun --mpi=none ")), ("sh", its))
        ]
        assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("before", "run"),
    [
        ("shopt -s nullglob\n", "srun --mpi=none ./t"),
        ("", "srun --mpi=none --container-image=a/b:1 ./t"),
        ("", "srun --mpi=none --chdir=/w ./t"),
        ("", "mpirun -wdir /w ./t"),
    ],
)
def test_a_pattern_that_a_rank_may_take_otherwise_is_asked_for(before, run):
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1 -t 5\n{before}{run} in/*.dat\n"
    assert loaded(convert(classified({"run.sub": text}), Options({})).job)["command"] == ASK
