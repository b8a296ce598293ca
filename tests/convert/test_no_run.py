"""What is told of a script of which no command is known for the run."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_IN_IT = "#SBATCH --container-image lab/t:1 --container-mounts /a:/b --container-writable\n"


def test_the_container_and_the_ranks_of_sbatch_are_told() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node 1 --gpus-per-node 2 -t 9\n"
    found = convert(classified({"go.sh": f"{head}{_IN_IT}pip install x\nconda install -y y\n"}), Options({}))
    job = loaded(found.job)
    assert (job["image"], job["mounts"], job["ranks_per_node"]) == ("lab/t:1", ["/a:/b"], "1")
    assert (job["command"], job["container"]) == (ASK, {"writable": "true"})
    assert not [each for each in found.findings if "no srun" in each.why]


def test_ranks_that_no_line_asks_for_are_asked_about() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 9\nexport A=1\nsrun --container-image=lab/t:1 true\n"
    )
    job = loaded(convert(classified({"go.sh": text}), Options({})).job)
    assert (job["command"], job["ranks_per_node"], job["mpi"]) == (ASK, ASK, ASK)
    assert (job["image"], job["env"]) == ("lab/t:1", {"A": "1"})


def test_what_a_command_would_have_to_set_is_told_where_it_is_asked_for() -> None:
    """A value that only the ranks' own shell has is no part of env."""
    lines = "source env.sh\nexport WORK_DIR=$PWD/work\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\n#SBATCH -N 2 -n 8 -t 9\n{lines}make\n"}), Options({}))
    (told,) = (each for each in found.findings if each.what == "WORK_DIR")
    assert (told.kind, told.why) == ("left", "the command, which is asked for, has to do it")


@pytest.mark.parametrize("line", ["$MPIEXEC $FLAGS ./solve --mesh fine", "${LAUNCHER} -n 8 ./solve"])
def test_a_launcher_that_nothing_gives_is_asked_for_by_its_line(line: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 8\nmkdir -p out\n{line}\necho done\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "command" and each.kind == "question"]
    assert [each.line for each in asked.places] == [4]
    assert "nothing gives" in asked.why
    assert "--env" in asked.todo


def test_no_launcher_is_missing_where_a_variable_has_the_folder_of_a_program() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -n 8\n$BASE/bin/solve -f a.in\n$BASE/bin/plot -f a.out\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert not any("nothing gives" in each.why for each in found.findings if each.key == "command")


def test_what_a_line_that_may_be_the_run_uses_is_not_said_to_be_used_by_nothing() -> None:
    lines = "DIR=/scratch/case\nTOOL=$DIR/bin/solve\nCOLOUR=red\necho $COLOUR\n$TOOL in.txt\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\n#PBS -l walltime=1:00:00\n{lines}"}), Options({}))
    unused = [each.what for each in found.findings if each.why == "nothing that is launched uses it"]
    assert unused == ["COLOUR=red"]


def test_a_program_whose_output_is_kept_is_not_said_to_be_used_by_nothing() -> None:
    lines = "DAY=$(/bin/date)\nTOOK=$(THREADS=2 $DIR/bin/warm 20)\necho $TOOK >> times\n"
    for head, run in (("#PBS -l select=1", ""), ("#SBATCH -N 1", "srun ./t\n")):
        found = convert(classified({"go.sh": f"#!/bin/bash\n{head}\n{lines}{run}"}), Options({}))
        unused = [each.what for each in found.findings if each.why == "nothing that is launched uses it"]
        assert unused == ["DAY=$(/bin/date)"]
        assert any("keeps what that prints" in each.why and "warm" in each.what for each in found.findings)


@pytest.mark.parametrize("other", ["mpirun -np 8", "nice"])
def test_a_variable_that_may_be_a_launcher_is_not_said_to_start_nothing(other: str) -> None:
    text = f"#!/bin/bash\nBY=''\nif [ -f many ]; then\n  BY='{other}'\nfi\n$BY ./t\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert ("'mpirun -np 8'" in found.refused, "go.sh:6" in found.refused) == ((other != "nice",) * 2)


@pytest.mark.parametrize("shell", ["bash", "/bin/bash -l", "zsh", "bash --rcfile e.sh -i"])
def test_what_is_typed_into_a_shell_on_a_terminal_is_asked_for(shell: str) -> None:
    text = f"#!/bin/bash\nsrun -N 1 --gres=gpu:2 -t 60 --pty {shell}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    job = loaded(found.job)
    assert (job["command"], job["gpus_per_node"], job["time"]) == (ASK, "2", "01:00:00")
    (asked,) = [each for each in found.findings if each.key == "command"]
    assert f"typed into {shell}" in asked.why


@pytest.mark.parametrize(
    "command", ["bash run.sh", "bash -c './t'", "bash -lc 'a; ./t'", "python", "bash <<E\n./t\nE"]
)
def test_what_a_shell_on_a_terminal_is_given_is_the_command(command: str) -> None:
    text = f"#!/bin/bash\nsrun -N 1 --gres=gpu:2 -t 60 --pty {command}\n"
    assert loaded(convert(classified({"go.sh": text}), Options({})).job)["command"] != ASK


@pytest.mark.parametrize("line", ["module load a/1", "ml b", "conda activate e"])
def test_what_the_shell_sets_up_for_a_run_that_is_not_known_is_the_commands_to_do(line: str) -> None:
    text = f'#!/bin/bash\n#SBATCH -N 2 -t 9\n{line}\n"$@"\n'
    found = convert(classified({"go.sh": text}), Options({}))
    (said,) = [each for each in found.findings if each.what == line]
    assert (said.kind, said.why) == ("left", "the command, which is asked for, has to do it")


def test_a_srun_without_a_command_is_said_to_start_nothing() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -t 9\n"
    found = convert(classified({"go.sh": f"{head}srun --export=ALL -n 4\n"}), Options({}))
    (why,) = (each.why for each in found.findings if each.key == "command")
    assert "but srun --export=ALL -n 4, which has no command behind its options" in why
    found = convert(classified({"go.sh": f"{head}srun -n 4\nsrun --mpi=none -n 2 ./t\n"}), Options({}))
    (said,) = (each for each in found.findings if each.what == "srun -n 4")
    assert said.why == "it has no command behind its options, and starts nothing"


@pytest.mark.parametrize("image", ["", "--container-image=lab/t:1 "])
def test_what_a_preparation_asks_srun_for_is_not_said_to_be_asked_for_by_no_line(image: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -t 9\nsrun {image}-n 1 --gpus-per-task=2 pip install -r needs.txt\n"
    asked = {each.key: each.why for each in convert(classified({"go.sh": text}), Options({})).findings}
    assert "--gpus-per-task=2 of the srun in line 3" in asked["gpus_per_node"]
    assert "-n 1 of the srun in line 3" in asked["ranks_per_node"]
    assert not [each for each in asked.values() if "no line asks Slurm" in each]


def test_a_name_that_a_script_without_a_known_run_has_from_who_submits_is_said_once() -> None:
    lines = (
        'if [ "${CASE_DIR-none}" = none ]; then exit; fi\ncd $CASE_DIR\nOUT=$CASE_DIR/out\n'
        "ls *.in | xargs -P 4 -n 1 $CASE_DIR/bin/solve -o $OUT\n"
    )
    found = convert(classified({"go.sh": f"#!/bin/bash\n#SBATCH -N 1 -n 1 -t 9\n{lines}"}), Options({}))
    said = [each for each in found.findings if "the shell of who submits" in each.why]
    assert [(each.kind, each.what) for each in said] == [("left", "CASE_DIR")]
    assert "--env" in said[0].todo


def test_of_many_names_that_a_script_has_from_who_submits_the_first_are_listed() -> None:
    lines = "".join(f"echo $NAME_{number} | xargs ./t\n" for number in range(40))
    found = convert(classified({"go.sh": f"#!/bin/bash\n#SBATCH -N 1 -n 1 -t 9\n{lines}"}), Options({}))
    (said,) = [each for each in found.findings if "the shell of who submits" in each.why]
    assert said.what.endswith("NAME_11 and 28 more")


@pytest.mark.parametrize("line", ["A=b\necho $A $HOME $SLURM_JOB_ID", "echo ${TOOL:-x}", "$LAUNCHER ./t"])
def test_what_a_script_gives_or_asks_for_is_not_said_to_be_of_who_submits(line: str) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n#SBATCH -N 1 -n 1 -t 9\n{line}\n"}), Options({}))
    assert [each.key for each in found.findings if each.key == "command"]
    assert not [each for each in found.findings if "the shell of who submits" in each.why]


@pytest.mark.parametrize("asks", ["python --version", "python3 -V", "./solve --help", "julia --version"])
def test_a_program_that_only_tells_of_itself_is_not_the_run(asks: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=1 -t 9\n"
    alone = loaded(convert(classified({"go.sh": f"{head}{asks}\nnotebook serve &\nwait\n"}), Options({})).job)
    assert alone["command"] == ASK
    behind = loaded(convert(classified({"go.sh": f"{head}python3 t.py -V\n{asks}\n"}), Options({})).job)
    assert behind["command"] == ["python3", "t.py", "-V"]


def test_what_env_has_and_a_command_that_is_asked_for_sets_again_is_said_to_be_in_both() -> None:
    lines = "source /opt/lab/profile\nexport OMP_NUM_THREADS=3\npython fit.py $1\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\n#SBATCH -N 1 -t 9\n{lines}"}), Options({}))
    assert loaded(found.job)["env"] == {"OMP_NUM_THREADS": "3"}
    (said,) = (each for each in found.findings if each.what == "OMP_NUM_THREADS=3")
    assert said.why.startswith("env has it, and the command, which is asked for, has to do it again: what")


def test_a_variable_of_a_command_that_is_left_is_not_said_to_be_used_by_nothing() -> None:
    lines = "HERE=/home/me/a/\nNOTE=4\nFILE=eval.m\ncd $HERE\nmath -script ../$FILE\ngit add .\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\n#SBATCH -N 4 -t 9\n{lines}"}), Options({}))
    assert loaded(found.job)["command"] == ASK
    unused = [each.what for each in found.findings if each.why == "nothing that is launched uses it"]
    assert unused == ["NOTE=4"]
