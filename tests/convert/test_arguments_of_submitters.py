"""--args where the operator calls a script that submits the job: the words are that script's."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_JOB = """\
#!/bin/bash
#SBATCH --ntasks-per-node=8 --gpus-per-node=8 -t 10
srun --mpi=pmix ./train "$1" "${2:-none}"
"""


def _converted(submitter: str, *arguments: str, job: str = _JOB) -> Conversion:
    files = {"submit.sh": f"#!/bin/bash\n{submitter}\n", "job.sbatch": job}
    return convert(classified(files), Options({}, arguments=arguments or None))


def _job(submitter: str, *arguments: str, job: str = _JOB) -> dict[str, Any]:
    found: dict[str, Any] = loaded(_converted(submitter, *arguments, job=job).job)
    return found


@pytest.mark.parametrize(
    ("submitter", "arguments", "nodes", "command"),
    [
        ('sbatch -N "$1" job.sbatch "$2"', ("2", "big"), "2", ["big", "none"]),
        ('sbatch -N "$1" job.sbatch', ("2", "big"), "2", ["", "none"]),
        ('sbatch -N "$1" job.sbatch "${@:2}"', ("4", "big", "fast"), "4", ["big", "fast"]),
        ('N=$1; shift; sbatch -N "$N" job.sbatch "$@"', ("4", "big", "fast"), "4", ["big", "fast"]),
        (
            'while getopts n: o; do N=$OPTARG; done; sbatch -N "$N" job.sbatch a',
            ("-n", "3"),
            "3",
            ["a", "none"],
        ),
        # A submitter that has its own words for the job has no use for others.
        ("sbatch -N 2 job.sbatch small", ("big", "fast"), "2", ["small", "none"]),
        ('export SIZE=small\nsbatch -N 2 job.sbatch "$SIZE"', ("big",), "2", ["small", "none"]),
        # One without any hands none on: they are the job's.
        ("sbatch -N 2 job.sbatch", ("big", "fast"), "2", ["big", "fast"]),
    ],
)
def test_the_words_are_those_of_the_script_that_has_a_use_for_them(
    submitter: str, arguments: tuple[str, ...], nodes: str, command: list[str]
) -> None:
    job = _job(submitter, *arguments)
    assert (job["nodes"], job["command"]) == (nodes, ["./train", *command])


def test_what_the_submitter_hands_on_is_said_to_be_the_jobs_arguments() -> None:
    found = _converted('sbatch -N "$1" job.sbatch "$2"', "2", "big")
    (said,) = (each for each in found.findings if each.what.startswith("sbatch"))
    assert said.why.endswith("whose arguments are: big")
    assert any("2 big" in each.what for each in found.findings if str(each.places[0]) == "--args")


def test_without_words_the_submitters_are_asked_for() -> None:
    found = _converted('sbatch -N "$1" job.sbatch "$2"')
    assert loaded(found.job)["nodes"] == ASK
    assert any("--args gives" in each.why for each in found.findings if each.key == "nodes")


@pytest.mark.parametrize(
    ("submitter", "why"),
    [
        ("sbatch job.sbatch x a\nsbatch job.sbatch x b", "gives it words of its own (a, b)"),
        ('for n in a b; do sbatch job.sbatch x "$n"; done', "gives it words of its own (${n})"),
        ('go() { sbatch job.sbatch x "$1"; }\ngo a\ngo b', "gives it words of its own (a, b)"),
        ("sbatch -N 1 job.sbatch x\nsbatch job.sbatch y", "nobody gave it"),
    ],
)
def test_a_default_is_not_said_to_count_where_each_submission_has_words_of_its_own(
    submitter: str, why: str
) -> None:
    found = _converted(submitter)
    (said,) = (each for each in found.findings if each.what == "$2, an argument of the script")
    assert why in said.why


_GOES_BY_FLAG = """#!/bin/bash
BIG=0 N=1
while [ $# -gt 0 ]; do
  case "$1" in
    --big) BIG=1; shift ;;
    --n) N="$2"; shift 2 ;;
  esac
done
FILE=small.sbatch
[ $BIG -eq 1 ] && FILE=job.sbatch
CMD=(sbatch -N "$N" "$FILE")
"${CMD[@]}"
"""


def test_they_are_for_a_submitter_that_without_them_submits_another_script() -> None:
    found = _converted(_GOES_BY_FLAG, "--n", "3", "--big", job=_JOB.replace(' "$1" "${2:-none}"', ""))
    job = loaded(found.job)
    assert (job["nodes"], job["command"]) == ("3", ["./train"])
    assert not [each for each in found.findings if each.what == "--args"]


def test_the_arguments_of_a_script_that_nothing_starts_stay_its_own() -> None:
    texts = {
        "conf.sh": '#!/bin/bash\n[ -n "$1" ] || return\nexport A=$1\n',
        "job.sh": "#!/bin/bash\n#SBATCH -N 1 -t 10\nsrun --mpi=none ./x $1\n",
    }
    found = convert(classified(texts), Options({}, arguments=("7",)))
    assert loaded(found.job)["command"] == ["./x", "7"]


@pytest.mark.parametrize("program", ["awk '{print $1}'", r'awk "{print \$1}"'])
def test_a_field_of_a_line_is_no_argument_of_the_script(program: str) -> None:
    job = (
        "#!/bin/bash\n#SBATCH -N 1 -t 10 --gpus-per-node=1\n[[ ${1:-} == --dry-run ]] && exit 0\n"
        f'LINE=$(head -n 1 list.txt)\nROW=$(echo "$LINE" | {program})\npython main.py --row "$ROW"\n'
    )
    questions = [
        each.why
        for each in convert(classified({"job.sbatch": job}), Options({})).findings
        if each.kind == "question"
    ]
    assert any("ROW" in each for each in questions)
    assert not any("arguments" in each for each in questions)
