"""What a script makes of the words behind its name: the walk gives commands the words that bash, run for
real, gives them; and who did not say what they were is asked for them."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from script_cases import loaded
from test_walk_bash import expected, run, walk

from hpclaunch.cli.convert import convert as command
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.choose import chosen
from hpclaunch.convert.shell.getopt import getopt, refuses
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

_CASE = """
  case $1 in
    --image) IMAGE=$2; shift 2 ;;
    --lr=*) LR=${1#*=}; shift ;;
    -n|--nodes) shift; N=$1; shift ;;
    --fast) FAST=1; shift ;;
    -h) usage; exit 0 ;;
    --) shift; break ;;
    *) REST+=("$1"); shift ;;
  esac
"""
_USAGE = 'usage() { cat <<EOF\nof $0\nEOF\necho "usage" >&2; }\n'
_NONE = "LR=1 IMAGE= N= FAST= REST=() I= F= L= X= o=\n"
_SHOW = '\nsrun "$IMAGE" "$LR" "$N" ${FAST:+--fast} "${REST[@]}" $# "$@" "${1:-none}" "${@:2}"'
_SHOW_OPTS = '\nsrun "$I" "$F" "$L" "$X" "$OPTIND" "${OPTARG-unset}" "$o" "$@"'
_OPTS = """
while getopts "%s" o; do
  case $o in
    i) I=$OPTARG ;;
    f) F+=1 ;;
    l) L="$L $OPTARG" ;;
    :) X="$X none of $OPTARG" ;;
    \\?) X="$X bad ${OPTARG-unset}" ;;
  esac
done
"""
_SCRIPTS = (
    f"{_USAGE}while [[ $# -gt 0 ]]; do{_CASE}done{_SHOW}",
    f'{_USAGE}while [ -n "$1" ]; do{_CASE}done{_SHOW}',
    f"{_USAGE}while (($#)); do{_CASE}done{_SHOW}",
    f"{_USAGE}until [ $# -eq 0 ]; do{_CASE}done{_SHOW}",
    f"{_USAGE}while :; do [ $# -gt 0 ] || break;{_CASE}done{_SHOW}",
    f'{_USAGE}for a in "$@"; do case $a in --lr=*) LR=${{a#*=}};; -h) usage;; *) REST+=("$a");; esac; done'
    f"{_SHOW}",
    f"{_USAGE}for a; do N=$N$a; shift; done{_SHOW}",
    f'{_USAGE}main() {{ while [ "$#" -ge 1 ]; do{_CASE}done; srun "$LR" "$@"; }}\nmain "$@"{_SHOW}',
    'while [ $# -gt 0 ]; do shift; [ "$1" = x ]; done && srun last\nsrun "$#"',
    'for a; do shift; [ "$a" = x ]; done && srun last\nsrun "$#"',
    f'shift 2 && LR=7; set -- x "$@"{_SHOW}',
    f"set -euo pipefail{_SHOW}",
    f"set +o noclobber -Eeuo pipefail +x; shift || :{_SHOW}",
    f"{_OPTS % 'i:fl:'}{_SHOW_OPTS}",
    f"{_OPTS % ':i:fl:'}shift $((OPTIND-1)){_SHOW_OPTS}",
    f'{_OPTS % "i:fl:"}shift "$((OPTIND - 1))"; OPTIND=1\n{_OPTS % "fl"}{_SHOW_OPTS}',
    f'parse() {{ local OPTIND=1 o{_OPTS % "i:f"} }}\nparse "$@"{_SHOW_OPTS}',
    f"{_OPTS.replace(':)', 'q) nowhere ;; :)') % 'i:f'}shift $((OPTIND-1)){_SHOW_OPTS}",
    f"while [ $# -gt 0 ]; do{_CASE.replace('-h)', '-q) nowhere ;; -h)').replace('usage', ':')}done{_SHOW}",
)
_ARGUMENTS = (
    [],
    ["--image", "a b.sqsh", "--lr=0.1", "x", "--fast", "-n", "4", "y z", ""],
    ["--", "--fast", "x"],
    ["x", "-h", "y"],
    ["--lr="],
    ["-i", "img", "-ffl", "3", "-l4", "rest", "-f"],
    ["-f", "-z", "-i"],
    ["-fz", "--", "-f"],
    ["-", "a"],
)

_GETOPT = (
    "-o i:l:f --long image:,lr:,fast --",
    "--options=i:fl:: --longoptions image:,lr::,fast -n me --",
    "-oi:f -l image:,fast,lr: --",
    "-o +i:fl: --long image: --long fast,lr: --",
    "-o -i:fl: --long image:,fast,lr: --",
    "-n me -- i:fl:",
    "-o i:fl:",  # the first word that is no option of its own is looked at
    "-n me -l image:,lr:,fast i:fl:",
)
_TO_GETOPT = (
    "x -i 'a b' y --lr=2 -f -- -z",
    '-fl3 -i a "it\'s" --image b',
    "--im a --fast x",
    "",
    "- -f --lr 1",
    "--nothing",
    "-i",
)


@pytest.mark.parametrize("own", _GETOPT)
def test_what_getopt_makes_of_arguments_is_what_it_writes(own: str) -> None:
    for arguments in _TO_GETOPT:
        words = shlex.split(f"{own} {arguments}")
        told = getopt(words)
        done = subprocess.run(["getopt", *words], capture_output=True, text=True, check=False, timeout=60)
        assert told == (done.stdout if done.returncode == 0 else None)
        assert refuses(words) == (done.returncode == 1)


_BY_GETOPT = """
O=$(getopt -o i:l:f --long image:,lr:,fast -- "$@") || exit 1
eval set -- "$O"
while true; do
  case "$1" in
    -i|--image) I=$2; shift 2 ;;
    -l|--lr) L=$2; shift 2 ;;
    -f|--fast) F=1; shift ;;
    --) shift; break ;;
  esac
done"""


@pytest.mark.parametrize("arguments", ["", "a -i 'b c' -f d", '--lr=2 --image "it\'s" -- -f'])
def test_what_a_script_makes_of_what_getopt_writes_is_what_bash_makes(arguments: str) -> None:
    script = f"{_NONE}set -- {arguments}\n{_BY_GETOPT}{_SHOW_OPTS}"
    assert walk(script, {}) == run(script, {})


def test_arguments_that_getopt_refuses_are_told() -> None:
    text = f"{_NUMBERED.split('LR=')[0]}{_BY_GETOPT}\nsrun -N 1 --mpi=none ./t $L\n"
    for arguments, refused in ((("--bogus",), True), (("-l",), True), (("-l", "3"), False)):
        found = convert(classified({"run.sub": text}), Options({}, arguments=arguments))
        assert any("getopt complains of the arguments" in each.why for each in found.findings) == refused


@pytest.mark.parametrize("script", _SCRIPTS)
def test_what_is_made_of_arguments_is_what_bash_makes(script: str) -> None:
    script = _NONE + script
    for arguments in _ARGUMENTS:
        reading = read([Source("run.sub", script)], {}, arguments=arguments)
        found = [expected(each) for each in reading.commands if each.program == "srun"]
        done = run(f"set -- {shlex.join(arguments)}\n{script}", {})
        assert found == done, arguments
        assert reading.asks


@pytest.mark.parametrize(
    "script",
    [
        'for i in 1 2; do for j in 1 2; do shift; [ $j = 1 ] && break 2; done; done; srun "$1" $#',
        'for i in 1 2; do for j in 1 2; do shift; [ $j = 1 ] && continue 2; done; done; srun "$1" $#',
        'for i in 1 2; do srun "$1" $#; shift; done; srun "$1" $#',
        'f() { for i in 1 2; do srun "$1" $#; shift; done; }; f a b c',
        'for i in 1 2; do shift; ./x; done; srun "$1" $#',
    ],
)
def test_what_rounds_take_away_is_known_neither_in_them_nor_behind_them(script: str) -> None:
    """A round that is walked for all is not the first one, and two loops are not left as one is."""
    reading = read([Source("run.sub", f"#SBATCH -N 1\n{script}")], {}, arguments=["a", "b", "c"])
    words = [word for each in reading.commands if each.program == "srun" for word in each.words[1:]]
    assert words
    assert {known(word) for word in words} == {None}


_LAUNCHER = (
    "#!/bin/bash\n#SBATCH -N 1 -t 60 --ntasks-per-node=8 --gpus-per-node=8\n"
    'while [ $# -gt 0 ]; do case $1 in -l) LR=$2; shift 2;; *) IMAGE="$1"; shift;; esac; done\n'
    "srun --mpi=none --container-image=$IMAGE ./t --lr $LR\n"
)
_NUMBERED = (
    "#!/bin/bash\n#SBATCH -t 60 --ntasks-per-node=8 --gpus-per-node=8\nLR=$2\n"
    "srun -N $1 --mpi=none --container-image=$3 ./t --lr $LR\n"
)


@pytest.mark.parametrize(("text", "words"), [(_LAUNCHER, "-l 0.1 b.sqsh"), (_NUMBERED, "1 0.1 b.sqsh")])
def test_a_question_that_arguments_answer_names_the_option_that_gives_them(text: str, words: str) -> None:
    asked = convert(classified({"run.sub": text}), Options({}))
    questions = {each.key: each for each in asked.findings if each.kind == "question" and each.key}
    assert {"image", "command"} <= questions.keys() <= {"image", "command", "nodes"}
    for each in questions.values():
        assert "which --args gives" in each.why
        assert "--args" in each.todo
        assert "--env" not in each.todo
    told = convert(classified({"run.sub": text}), Options({}, arguments=tuple(shlex.split(words))))
    job = loaded(told.job)
    assert told.is_complete
    assert (job["image"], job["command"], job["nodes"]) == ("b.sqsh", ["./t", "--lr", "0.1"], "1")


def test_a_word_of_a_question_is_no_variable_that_has_the_same_name() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 -t 60\n"
        'config="-c $1"\nnodes=$2\ntasks="$3"\nsrun ./train $config $nodes $tasks\n'
    )
    found = convert(classified({"run.sub": text}), Options({}))
    questions = {each.key: each for each in found.findings if each.kind == "question" and each.key}
    assert "which --args gives" in questions["command"].why
    for key in ("mpi", "gpus_per_node"):
        assert "--args" not in questions[key].why + questions[key].todo


@pytest.mark.parametrize(("word", "option"), [("$1", "--args"), ('"${2}"', "--args"), ("$MODE", "--env")])
def test_a_run_under_a_condition_says_what_decides_it(word: str, option: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
    lines = f"if [[ {word} == train ]]; then srun --mpi=none --container-image=a:b ./t; fi\n"
    found = convert(classified({"run.sub": f"{head}{lines}"}), Options({}))
    assert [each for each in found.findings if f"give what decides it with {option}" in each.todo]


def test_args_are_words_of_a_shell_and_said_where_nothing_uses_them(tmp_path: Path) -> None:
    script = tmp_path / "run.sub"
    script.write_text(_NUMBERED)

    def outcome(*words: str) -> Result:
        return CliRunner().invoke(command, [str(script), *words])

    done = outcome("--args", "2 '$(x) y' img.sqsh", "--json")
    assert loaded(json.loads(done.stdout)["job"])["command"] == ["./t", "--lr", "$(x)", "y"]
    assert outcome("--args", "'a").exception.args  # no closing quote
    assert "the script's arguments" in outcome("--args", "1 2 3").stderr
    none = outcome("--args", "").stderr
    assert "none" in none
    script.write_text("#!/bin/bash\n#SBATCH -N 1\nsrun ./t\n")
    assert "nothing in the files uses it" in outcome("--args", "a").stderr
    secret = "tok" + "Abc123xyz987"
    script.write_text("#!/bin/bash\n#SBATCH -N 1\nsrun ./t $@\n")
    hidden = outcome("--args", f"--api-key {secret}")
    assert secret not in hidden.stdout + hidden.stderr


_RUN = '#!/bin/bash\n#SBATCH -N 1\nsrun ./t "$#" "$1" ${2:-none} "${A-unset}" "${B:-none}" ${3:+c}\n'
# Scripts that start it, and whether all is told.
_STARTS = (
    ("sbatch run.sub a b", True),
    ("sbatch -N 4 -t 10 run.sub 'a b' \"c  d\" e", True),
    ("export A=1; B=2; sbatch ./run.sub", True),
    ("A=3 B='x y' sbatch run.sub a; B=4", True),
    ("C=z; nohup bash -x run.sub $C ${C}b & wait", True),
    ("env A=1 ./run.sub a", True),
    ("./run.sub a; ./run.sub a", True),
    ('if [ -n "$X" ]; then sbatch run.sub a; else sbatch run.sub a; fi', True),
    ('start() { sbatch run.sub "$1" "$B"; }; export B=5; start a', True),
    ("for i in 1 2; do sbatch run.sub $i; done", False),
    ("sbatch run.sub a; sbatch run.sub b", False),
    ("A=1 ./run.sub a; A=2 ./run.sub a", False),
    ('sbatch run.sub "$@"', False),
    ("sbatch run.sub $(date)", False),
)


@pytest.mark.parametrize(("text", "is_told"), _STARTS)
@pytest.mark.parametrize("name", ["submit.sh", "a.sh"])
def test_the_words_of_another_script_that_starts_it_are_its_arguments(
    text: str, is_told: bool, name: str, tmp_path: Path
) -> None:
    found = read([Source(name, text), Source("run.sub", _RUN)], {})
    assert found.script == "run.sub"
    (mine,) = [each for each in found.commands if each.program == "srun"]
    if not is_told:
        assert None in map(known, mine.words)
        return
    (tmp_path / "run.sub").write_text(_RUN)
    (tmp_path / "run.sub").chmod(0o755)
    (tmp_path / "sbatch").write_text('#!/bin/bash\nwhile [[ $1 = -* ]]; do shift 2; done\nexec bash "$@"\n')
    (tmp_path / "sbatch").chmod(0o755)
    folder = shlex.quote(str(tmp_path))
    done = run(f"cd {folder}; PATH={folder}:$PATH; {text}", {})
    assert {tuple(words) for words, _, _ in done} == {tuple(map(known, mine.words[1:]))}


def test_what_starts_the_script_is_no_step_of_its_job() -> None:
    files = {
        "submit.sh": "export LR=1\nsbatch run.sub a\nfor i in 1 2; do bash run.sub $i; done\n",
        "run.sub": _RUN,
    }
    found = convert(classified(files), Options({}))
    lines = {2, 3}
    of_starts = [
        each
        for each in found.findings
        if any(place.file == "submit.sh" and place.line in lines for place in each.places)
    ]
    assert {each.kind for each in of_starts} == {"carried"}
    (asked,) = [each for each in found.findings if each.key == "command" and each.kind == "question"]
    assert "submit.sh:2, submit.sh:3: other words each time" in asked.why


@pytest.mark.parametrize(
    "text",
    [
        "while [ $# -gt 0 ]; do shift; done; srun ./t",
        "for i in 1; do :; done; srun ./t ${#i}",
        "a=${#PATH}; srun ./t",
        "(cd x) #no comment but this\nsrun ./t",
    ],
)
def test_a_script_is_known_by_what_stands_behind_a_sign_that_begins_no_comment(text: str) -> None:
    assert (
        chosen([Source("config.sh", "# srun ./t\nssh host ls;# srun\n"), Source("job.sh", text)]) == "job.sh"
    )


@pytest.mark.parametrize("text", ['bash -c "$*"', 'bash -lc "$@"'])
def test_a_shell_without_the_text_that_the_operator_gives_is_no_command(text: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n#SBATCH -N 2\nsrun {text}\n"}), Options({}))
    assert any(each.kind == "question" and each.key == "command" for each in found.findings)
    given = convert(
        classified({"run.sh": f"#!/bin/bash\n#SBATCH -N 2\nsrun {text}\n"}), Options({}, arguments=("./a 1",))
    )
    assert not any(each.kind == "question" and each.key == "command" for each in given.findings)


_JOB = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gres=gpu:4\nmodule load a\n"


@pytest.mark.parametrize(
    "run",
    [
        '"$@"',
        "$*",
        'exec "$@"',
        "$1 --fast",
        "PROG=$1\n$PROG in.txt",
        'eval "$@"',
        "./hen/$1 egg",
        "bin/${2}_x",
    ],
)
def test_a_run_that_is_among_the_words_behind_the_name_is_asked_for_with_them(run: str) -> None:
    found = convert(classified({"r.sh": f"{_JOB}{run}\n"}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "command"]
    assert "stands behind the script's name" in asked.why
    assert "--args" in asked.todo
    left = [each.what for each in found.findings if "not part of what is launched" in each.why]
    assert not [each for each in left if "$" in each]


@pytest.mark.parametrize("value", ["$1", "r_${2}_b", "$*"])
def test_what_a_script_exports_of_the_words_behind_its_name_is_asked_for(value: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -t 10 --gres=gpu:4\nexport RATE={value}\nsrun --mpi=none ./t\n"
    found = convert(classified({"r.sh": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "env.RATE"]
    assert (asked.kind, "--args" in asked.todo) == ("question", True)
    given = convert(classified({"r.sh": text}), Options({}, arguments=("a", "c")))
    assert loaded(given.job)["env"] == {"RATE": {"$1": "a", "$*": "a c"}.get(value, "r_c_b")}


def test_where_each_submission_has_other_words_that_is_said_with_it() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -t 10 --gres=gpu:4\nexport RATE=$1\nsrun --mpi=none ./t\n"
    go = "#!/bin/bash\nfor r in 1 2; do sbatch r.sh $r; done\n"
    found = convert(classified({"go.sh": go, "r.sh": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "env.RATE"]
    assert "go.sh:2: other words each time" in asked.why


def test_a_question_about_another_part_of_the_command_names_the_argument() -> None:
    for tool, said in (("$(dirname $0)/a.out", "; ${1} comes from"), ("$1", "; it comes from")):
        found = convert(classified({"go.sh": f"mpirun -np 2 {tool} $1\n"}), Options({}))
        (asked,) = (each for each in found.findings if (each.kind, each.key) == ("question", "command"))
        assert f"{said} the script's arguments" in asked.why


@pytest.mark.parametrize(
    ("loop", "ranks", "words"),
    [
        ("case $o in n) ;; p) P=$OPTARG ;; *) nowhere ;; esac", "4", ["./t", "a"]),
        ("case $o in p) P=$OPTARG; nowhere ;; esac", "ASK", "ASK"),
        ("case $o in n) ;; p) P=$OPTARG; nowhere ;; esac", "ASK", "ASK"),
    ],
)
def test_what_a_loop_over_the_given_options_starts_takes_none_of_their_values_away(
    loop: str, ranks: str, words: str | list[str]
) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 5\nP=8\n"
    run = 'shift $((OPTIND-1)); R=("$@"); srun --mpi=none --ntasks-per-node=$P ./t "${R[@]}"\n'
    text = f"{head}while getopts n:p: o; do {loop}; done\n{run}"
    found = convert(classified({"run.sub": text}), Options({}, arguments=("-n", "2", "-p", "4", "a")))
    job = loaded(found.job or "")
    assert (job["ranks_per_node"], job["command"]) == (ranks, words)
    assert not any(each.kind == "assumed" and '"$@"' in each.what for each in found.findings)


@pytest.mark.parametrize("line", ['"$@"', 'exec "$@"', "$* 2>&1 | tee out.txt"])
def test_a_script_that_is_a_way_to_start_its_words_is_the_launch_that_they_are(line: str) -> None:
    texts = {"with.sh": f"#!/bin/bash\numask 2\ndate\n{line}\n"}
    found = convert(classified(texts), Options({}, arguments=("mpirun", "-np", "6", "./solve", "in.nml")))
    job = loaded(found.job)
    assert job["ranks_per_node"] == "6"
    assert "./solve in.nml" in " ".join(job["command"])
    refused = convert(classified(texts), Options({}))
    assert refused.job is None or not refused.job
    assert any("words behind the script's name" in each.why for each in refused.findings)
