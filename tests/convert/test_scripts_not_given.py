"""Scripts that sbatch is given by name, and that are not among the files."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


def test_what_the_command_says_is_told_and_the_rest_is_asked() -> None:
    script = (
        "#!/bin/bash\nexport LR=0.1\nWD=3 sbatch --export=ALL,A=5 -N 2 --gpus-per-node=4 -t 60 train.sh\n"
    )
    job = loaded(convert(classified({"go.sh": script}), Options({})).job)
    assert (job["nodes"], job["gpus_per_node"], job["time"]) == ("2", "4", "01:00:00")
    assert job["env"] == {"LR": "0.1", "WD": "3", "A": "5"}
    assert [job[key] for key in ("command", "ranks_per_node", "mpi")] == [ASK] * 3


def test_what_such_a_script_may_say_is_not_told_as_none() -> None:
    script = "#!/bin/bash\nexport LR=0.1\nsbatch -N 2 --gpus-per-node=4 train.sh\n"
    found = convert(classified({"go.sh": script}), Options({}))
    told = {each.name: each.told for each in found.launch if each.state == "not determined"}
    assert told == {
        **dict.fromkeys(("image", "mounts", "binding"), "not determined: what train.sh says"),
        "environment": "LR; not determined: what train.sh sets",
    }
    assert {each.name for each in found.launch if each.state == "default"} == set()
    assert any(each.kind == "question" and each.what == "train.sh" for each in found.findings)


def test_a_value_of_each_round_is_told() -> None:
    script = "#!/bin/bash\nfor i in 1 2; do sbatch --export=ALL,A=$i train.sh; done\n"
    found = convert(classified({"go.sh": script}), Options({}))
    assert any(each.what == "A" and "${i}" in each.why for each in found.findings if each.kind == "left")
    job = loaded(found.job)
    assert [job[key] for key in ("nodes", "gpus_per_node", "ranks_per_node")] == [ASK] * 3


def test_what_the_same_line_submits_in_other_calls_is_told() -> None:
    function = "go() { sbatch <<EOF\n#!/bin/bash\n#SBATCH -N $1 -t 60\nsrun --mpi=none ./t --lr $2\nEOF\n}\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\n{function}go 1 0.1\ngo 2 0.2\n"}), Options({}))
    assert loaded(found.job)["nodes"] == "2"
    told = [each.what for each in found.findings if each.what.startswith("another job")]
    assert told == ["another job: #SBATCH -N 1 -t 60; srun --mpi=none ./t --lr 0.1"]
    once = convert(classified({"go.sh": f"#!/bin/bash\n{function}go 2 0.2\n"}), Options({}))
    assert not any(each.what.startswith("another job") for each in once.findings)


def test_lines_of_a_text_have_the_names_of_the_script_around_it() -> None:
    text = "#!/bin/bash\n#SBATCH -J x_$1 -N 1 -t $HRS:00:00\nsrun --mpi=none ./t\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\nsbatch <<EOF\n{text}EOF\n"}), Options({}))
    asked = {each.key: each.what for each in found.findings if each.kind == "question"}
    assert (asked["name"], asked["time"]) == ("-J x_${1}", "-t ${HRS}:00:00")


def test_behind_the_name_of_a_script_no_option_gives_a_shell_a_text() -> None:
    script = "#!/bin/bash\n#SBATCH -N 1 --gpus=4 -t 60\nbash steps/run.sh -a 1 -c $CONFIG\n"
    job = loaded(convert(classified({"go.sh": script}), Options({})).job)
    assert (job["nodes"], job["ranks_per_node"]) == ("1", "1")


def test_all_that_a_submitted_script_may_say_is_told_to_be_so() -> None:
    script = "#!/bin/bash\nexport A=1\nsed s/N/4/ head.txt > job.sh\nsbatch -N 2 job.sh\n"
    found = convert(classified({"go.sh": script}), Options({}))
    job = loaded(found.job)
    assert [job[key] for key in ("gpus_per_node", "ranks_per_node", "mpi", "time")] == [ASK] * 4
    assert not [each for each in found.findings if each.what == "no line gives a time limit"]
    told = {each.name: each.told for each in found.launch}
    assert told["nodes"] == "2"
    assert told["environment"] == "A; not determined: what job.sh sets"
    assert {told[each] for each in ("image", "mounts", "binding")} == {"not determined: what job.sh says"}


def test_a_time_limit_of_the_submission_is_the_job_s() -> None:
    found = convert(classified({"go.sh": "#!/bin/bash\nsbatch -N 2 -t 60 job.sh\n"}), Options({}))
    assert loaded(found.job)["time"] == "01:00:00"


def test_what_is_typed_into_the_shell_of_salloc_is_no_script() -> None:
    found = convert(classified({"go.sh": "#!/bin/bash\nsalloc -N 2 -t 60 -A x\n"}), Options({}))
    asked = {each.key: each.why for each in found.findings if each.kind == "question"}
    assert asked["command"] == "what each rank executes: it is typed into the shell that salloc opens"
    assert not any("among the files" in each.why + each.todo for each in found.findings)


@pytest.mark.parametrize("given", [False, True])
def test_a_script_in_an_image_that_nobody_gave_may_start_ranks(given: bool) -> None:
    keep = "docker run --rm --init --detach --gpus all --name=c a/b:1 sleep infinity"
    files = {"run.sh": f"#!/bin/bash\n{keep}\ndocker exec -it c ./go.sh\n"}
    files |= {"go.sh": "#!/bin/bash\npython train.py\n"} if given else {}
    found = convert(classified(files), Options({}))
    assert not found.job
    assert any("starts ranks itself" in each.what for each in found.findings) != given


@pytest.mark.parametrize(
    ("line", "name", "said"),
    [
        ("sbatch -N 2 jobs/fold_3.sub", "fold_3", "after its script where no line names it"),
        ("sbatch -N 2 -J folding jobs/fold_3.sub", "folding", ""),
        ("sbatch -N 2 $WHERE/$WHICH.sub", "go", "{WHICH}.sub, whose name is not told"),
    ],
)
def test_the_job_has_the_name_of_the_script_that_is_submitted(line: str, name: str, said: str) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{line}\n"}), Options({}))
    assert loaded(found.job)["name"] == name
    told = [each.why for each in found.findings if each.key == "name"]
    assert len(told) == 1
    assert said in told[0]


_OF_JOB = "#!/bin/bash\n#SBATCH -p tiny -t 10 --exclusive\n#SBATCH -N 4 --gres=gpu:3\n"


@pytest.mark.parametrize("lines", ["sbatch next.sh", "cd b\nmodule load x\nID=$(sbatch --parsable next.sh)"])
def test_what_a_job_asks_for_that_only_submits_it_is_not_its_own(lines: str) -> None:
    found = convert(classified({"go.sh": f"{_OF_JOB}{lines}\n"}), Options({}))
    job = loaded(found.job)
    assert [job[key] for key in ("command", "nodes", "gpus_per_node", "ranks_per_node", "time")] == [ASK] * 5
    assert "partition" not in found.hints
    (said,) = [each for each in found.findings if "the job that submits this one" in each.why]
    assert (said.kind, [each.line for each in said.places]) == ("left", [2, 3])


@pytest.mark.parametrize("own", ["./solve", "srun --mpi=pmix ./solve", "mpirun ./solve", "$SOLVER --big"])
def test_a_job_that_does_more_than_submit_it_keeps_what_it_asks_for(own: str) -> None:
    found = convert(classified({"go.sh": f"{_OF_JOB}{own}\nsbatch next.sh\n"}), Options({}))
    assert loaded(found.job)["time"] == "00:10:00"
    assert not [each for each in found.findings if "the job that submits this one" in each.why]


def test_sbatch_is_never_the_run() -> None:
    job = "#!/bin/bash\n#SBATCH -t 10\n#SBATCH --gres=gpu:1\nexport A=1\n$@\n"
    go = "#!/bin/bash\nfor r in a b; do\n  sbatch ./jobs/one.sh python t.py --kind ${r^}\ndone\n"
    found = convert(classified({"go.sh": go, "one.sh": job}), Options({}))
    told = loaded(found.job)
    assert [told[key] for key in ("command", "time", "gpus_per_node")] == [ASK, "00:10:00", "1"]
    assert not [each for each in found.findings if "the file is not given" in each.why]
