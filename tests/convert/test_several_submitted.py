"""A script that submits several others: what it asks for one of them is nothing of the others."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_MAIN = "#!/bin/bash\n#SBATCH -N 4 --ntasks-per-node=8 --gpus-per-node=8\nsrun --mpi=pmix ./solve $1\n"
_POST = "#!/bin/bash\n#SBATCH -n 1\n./collect\n"
_SUBMIT = """#!/bin/bash
main=$(sbatch --parsable -t 600 -J big --export=ALL,A=1 main.sh fast)
sbatch -N 1 -t 1 -J post --export=ALL,A=2 --dependency=afterany:$main post.sh slow
"""


def _converted() -> Conversion:
    return convert(classified({"all.sh": _SUBMIT, "main.sh": _MAIN, "post.sh": _POST}), Options({}))


def test_the_job_has_what_its_own_submission_asks() -> None:
    job = loaded(_converted().job)
    assert (job["name"], job["nodes"], job["time"], job["env"]) == ("big", "4", "10:00:00", {"A": "1"})
    assert job["command"] == ["./solve", "fast"]


def test_which_of_them_it_is_is_told() -> None:
    said = [each.why for each in _converted().findings if each.what == "2 lines submit jobs"]
    assert len(said) == 1
    assert "this file is that of sbatch --parsable -t 600 -J big" in said[0]


_WRITTEN = """#!/bin/sh
cat > wells.sub <<E
#!/bin/sh
#SBATCH -N 3 -t 90
export DEPTH=7
srun --mpi=none ./dig
E
"""


def _became(text: str) -> str:
    found = convert(classified({"all.sh": text}), Options({}))
    return next((each.why for each in found.findings if each.what.startswith("cat > ")), "")


def test_a_script_that_is_written_for_another_job_is_not_said_to_be_the_jobs() -> None:
    last = 'sbatch -t 1 --gres=gpu:1 --dependency=afterany:$a --wrap="echo done"\n'
    assert "the script of another job" in _became(f"{_WRITTEN}a=$(sbatch --parsable wells.sub)\n{last}")
    assert not _became(f"{_WRITTEN}sbatch wells.sub\n")
    own = _WRITTEN.replace("#!/bin/sh\n", "#!/bin/sh\n#SBATCH -N 1 -n 1 -t 5\n", 1)
    assert "the script of another job" in _became(f"{own}sbatch wells.sub\nsrun --mpi=none ./near\n")


def test_a_script_that_only_starts_others_is_the_one_that_is_submitted() -> None:
    texts = {
        "go.sh": "#!/bin/sh\nsbatch -N 1 --gres=gpu:4 -t 10 ./job.sh a b\n",
        "job.sh": "#!/bin/sh\nbash train.sh $2 $1\n",
        "train.sh": "#!/bin/bash\ntorchrun --standalone --nproc_per_node 4 train.py --x $1\n",
    }
    found = convert(classified(texts), Options({}))
    assert loaded(found.job)["command"] == ["bash", "train.sh", "b", "a"]
    assert not [each for each in found.findings if "not among the files" in each.why]


def test_what_stands_behind_the_script_that_is_submitted_is_its_argument() -> None:
    texts = {"go.sh": "#!/bin/sh\nsbatch -N 1 -t 10 job.sh common.sh\n", "common.sh": "A=1\nB=2\n"}
    found = convert(classified(texts), Options({}))
    assert any("job.sh is not among the files" in each.why for each in found.findings)


_SECOND = "#!/bin/bash\n#SBATCH -n 1\nmodule load second\nexport B=2\npython after.py $B\n"
_BOTH = "#!/bin/bash\na=$(sbatch --parsable main.sh fast)\nsbatch --dependency=afterok:$a second.sh\n"


def test_nothing_of_a_script_of_another_job_is_taken_for_a_configuration() -> None:
    found = convert(classified({"all.sh": _BOTH, "main.sh": _MAIN, "second.sh": _SECOND}), Options({}))
    job = loaded(found.job)
    assert (job["command"], job.get("env")) == (["./solve", "fast"], None)
    its = {each.why for each in found.findings for place in each.places if place.file == "second.sh"}
    assert its == {"it is of the script of another job, which is submitted beside this one"}


@pytest.mark.parametrize("over", ["$(seq 0 $((N - 1)))", "$(ls parts)"])
def test_what_each_job_gets_from_the_loop_that_submits_it_is_asked_and_not_the_submitters(over: str) -> None:
    outer = f"#!/bin/sh\nN=4\nfor PART in {over}; do\n  sbatch --export=ALL,PART=$PART work.sh\ndone\n"
    inner = "#!/bin/sh\n#SBATCH -N 1 --gres=gpu:1 -t 9\npython work.py --part ${PART}\n"
    found = convert(classified({"all.sh": outer, "work.sh": inner}), Options({}))
    job = loaded(found.job)
    assert "PART" not in job.get("inherit", ())
    (asked,) = (each for each in found.findings if each.key == "env.PART")
    assert "another one for each job" in asked.why
