"""Lines that look as if sbatch read them, and that it takes for comments, by their mark or by their place."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SCRIPT = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1\n{line}\nsrun ./app\n"


def _said(line: str) -> list[tuple[str, int]]:
    found = convert(classified({"run.sub": _SCRIPT.format(line=line)}), Options({}))
    return [(each.what, each.places[0].line) for each in found.findings if "for a comment" in each.why]


@pytest.mark.parametrize("mark", ["BATCH", "SBTACH", "SBACH", "SSBATCH", "sbatch", "SBATCHS"])
def test_a_misspelt_mark_is_a_defect(mark: str) -> None:
    assert _said(f"#{mark} --time=1:00:00") == [(f"#{mark} --time=1:00:00", 3)]
    assert _said(f"#{mark} -N 2 -t 60  # an hour") == [(f"#{mark} -N 2 -t 60  # an hour", 3)]


@pytest.mark.parametrize(
    "line",
    [
        "#SBATCH --time=1:00:00",
        "##SBATCH --time=1:00:00",  # as people switch one off
        "# SBATCH --time=1:00:00",
        "#sbatch -p gpu --reservation=lab train.sbatch",  # how to submit it
        "#sbatch -N 2 ./train.sh big  # or small",
        "#PBS -l walltime=1:00:00",
        "#BATCH of inputs",
        "#PATCH - see below",
        "hostname\n#BATCH -N 2",  # sbatch would not read it here as it should be, either
    ],
)
def test_other_comments_are_none(line: str) -> None:
    assert _said(line) == []


@pytest.mark.parametrize("run", ["../bin/solve a b", "python t.py", "solve --all"])
@pytest.mark.parametrize("first", ['if [ -z "$X" ]; then\n  echo no\nfi', "module load a", "set -e"])
def test_a_script_whose_lines_all_come_too_late_is_one_for_sbatch(first: str, run: str) -> None:
    text = f"#!/bin/bash\n{first}\n\n#SBATCH -N 4\n#SBATCH --time=60 --gres=gpu:2\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"], job["gpus_per_node"]) == ("1", "1", ASK)
    assert "time" not in job
    assert run.split()[-1] in str(job["command"])
    assert len([each for each in found.findings if each.kind == "defect" and "#SBATCH" in each.what]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "cat > j.sh <<E\n#SBATCH -N 4\n./t\nE\n./go j.sh\n",
        "echo '\n#SBATCH -N 4\n' > j.sh\n./go j.sh\n",
        "f() {\n  cat <<E\n#SBATCH -N 4\nE\n}\nf > j.sh\n",
        "# SBATCH -N 4\n./go\n",
    ],
)
def test_such_lines_of_a_text_make_no_script_for_sbatch(text: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{text}"}), Options({}))
    assert not found.job


@pytest.mark.parametrize(
    "line", ["#PJM \u2013x CACHE=/v", "#SBATCH -N 2 \u2014t 10", "#BSUB -q long \u2212W 9"]
)
def test_an_option_with_a_dash_for_its_hyphen_is_said_to_be_none(line: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n#PJM -L node=2\n{line}\n./t\n"}), Options({}))
    (its,) = [each for each in found.findings if "hyphen" in each.why and each.what == line]
    assert (its.kind, its.places[0].line) == ("defect", 3)


def test_a_dash_elsewhere_is_no_option() -> None:
    text = "#!/bin/bash\n#PBS -N a\u2013b\n#PBS -l nodes=1 # 1 \u2013 2\n# \u2013x\nmpirun ./t \u2013x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert not any("hyphen" in each.why for each in found.findings)
