"""Programs, functions and shells around what starts the ranks: the script, run by bash with a srun that notes
its words and its environment, and the job say the same of the ranks' command and environment."""

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_SRUN = """#!/bin/bash
[[ $1 != --mpi=* ]] || shift
{ printf '%s\\n' "A=${A-unset}" "B=${B-unset}" "$@"; } > "$SHOWN"
"""


def _job(lines: str, **env: str) -> dict[str, Any]:
    return script_cases.loaded(convert(classified({"run.sub": _HEAD + lines + "\n"}), Options(env)).job)


def _launched(folder: Path, lines: str) -> list[str]:
    Path(folder, "srun").write_text(_SRUN)
    Path(folder, "srun").chmod(stat.S_IRWXU)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "SHOWN": str(folder / "shown")}
    words = ["bash", "-c", _HEAD + lines]
    subprocess.run(words, env=environment, cwd=folder, check=True, timeout=60, stdin=subprocess.DEVNULL)
    return Path(folder, "shown").read_text().splitlines()


@pytest.mark.parametrize(
    "lines",
    [
        "srun() { command srun --mpi=none \"$@\"; }\nsrun ./t 'a b'",
        "srun() { command srun --mpi=pmix \"$@\"; }\nbash -c 'srun --mpi=none ./t'",
        "srun() { command srun --mpi=none -v \"$@\"; }\nexport -f srun\nbash -c 'srun ./t'",
        "env A=1 bash -c 'srun --mpi=none ./t $A'",
        "export A=1 B=2\nenv -u A bash -c 'srun --mpi=none ./t $B'",
        "A=1 env B=2 timeout 1h bash -c 'srun --mpi=none ./t $A $B'",
        "env -S 'A=1 srun --mpi=none ./t \"b c\"'",
        "setsid -w srun --mpi=none ./t",
        "ionice -c 2 -n 0 nice -n 5 srun --mpi=none ./t",
        "exec env A=1 stdbuf -oL nohup srun --mpi=none ./t",
        "time srun --mpi=none ./t",
        'run() { "$@"; }\nrun env A=2 srun --mpi=none ./t',
        "command -p true\nbuiltin echo > /dev/null\ncommand srun --mpi=none ./t",
    ],
)
def test_ranks_are_started_with_these_words_and_variables(lines: str, tmp_path: Path) -> None:
    job = _job(lines)
    words = [word for word in _launched(tmp_path, lines) if word != "-v"]
    assert job["command"] == words[2:]
    given = {**dict.fromkeys("AB", "unset"), **job.get("env", {})}
    assert [f"{name}={given[name]}" for name in "AB"] == words[:2]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cd $DATA && ./t --lr=${LR:-3} $SLURM_PROCID $HOME", ["DATA"]),
        ("for i in a b; do X=1; ./t $DATA/$i $X ${LR:?}; done", ["DATA", "LR"]),
        ("export N=$RANK; ./t $N $MASTER_ADDR $CUDA_VISIBLE_DEVICES \\$NO", []),
        ("./t $GIVEN $KEPT", []),
        ("./t $MY_TOKEN", []),
    ],
)
def test_what_a_text_for_the_ranks_shell_takes_from_who_submits(text: str, names: list[str]) -> None:
    job = _job(f"export GIVEN=1\nKEPT=2\nsrun --mpi=none bash -c '{text}'")
    assert job.get("inherit", []) == names
    assert job.get("secrets", []) == (["MY_TOKEN"] if "TOKEN" in text else [])
    assert "inherit" not in _job(f"srun --mpi=none --export=NONE bash -c '{text}'")
    assert "inherit" not in _job(f"srun --mpi=none --container-image=a/b:c bash -c '{text}'")


def test_a_short_word_after_an_option_of_a_vocabulary_is_no_secret() -> None:
    found = convert(classified({"run.sub": _HEAD + "srun --mpi=none ./t --image-token name\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t", "--image-token", "name"]
    assert not [each for each in found.findings if each.kind == "defect"]


@pytest.mark.parametrize(
    "lines",
    [
        'work() { ./t; }\nsrun --mpi=none bash -c "$(declare -f work); work"',
        'X=1\nsrun --mpi=none ./t "$(declare -p X; echo x)"',
    ],
)
def test_what_is_of_the_scripts_own_shell_is_asked_for(lines: str) -> None:
    assert _job(lines)["command"] == script_cases.ASK


@pytest.mark.parametrize("program", ["whoami", "id -un", "id -u -n", "logname"])
def test_the_name_of_who_submits_is_told_by_a_variable(program: str) -> None:
    job = _job(f'D=/scratch/$({program})\nsrun --mpi=none ./t "$D/x"')
    assert (job["command"], job["inherit"]) == ('exec ./t /scratch/"$USER"/x', ["USER"])


@pytest.mark.parametrize("program", ["ulimit", "umask"])
def test_a_word_that_is_of_the_scripts_own_shell_is_asked_for(program: str) -> None:
    job = _job(f'srun --mpi=none ./t "$({program})"')
    name = f"{program.upper()}_OUTPUT"
    assert (job["command"], job["env"]) == (f'exec ./t "${name}"', {name: script_cases.ASK})


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("$(which python) t.py", ["python", "t.py"]),
        ('"$(command -v python)" t.py', ["python", "t.py"]),
        ("`which python` t.py", ["python", "t.py"]),
        ("--cpus-per-task=2 $(which python) t.py", ["python", "t.py"]),
        ('./t "$(type -p python)"', 'exec ./t "$(command -v python)"'),
    ],
)
def test_a_program_that_is_found_on_the_path_is_known_by_its_name(word: str, command: Any) -> None:
    assert _job(f"srun --mpi=none {word}")["command"] == command


@pytest.mark.parametrize(
    "text", ["shopt -s nullglob; echo x", "umask 022; echo x", "export A=1; echo x", "hash -r; echo x"]
)
def test_what_the_shells_own_commands_do_not_write_is_not_in_their_output(text: str) -> None:
    assert _job(f'srun --mpi=none ./t "$({text})"')["command"] == ["./t", "x"]


@pytest.mark.parametrize("text", ["export $(grep -v '^#' .env | xargs)", 'declare -x "$NAME=1"'])
def test_variables_of_which_nothing_is_told_are_said_to_be_left(text: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{text}\nsrun --mpi=none ./t\n"}), Options({}))
    assert [each.kind for each in found.findings if each.places[0].line == 3] == ["left"]


@pytest.mark.parametrize(
    "shell", ["/bin/tcsh", "/usr/bin/env csh", " /bin/csh -f", "/usr/bin/env -S A=1 fish", "/usr/bin/fish"]
)
def test_a_script_for_a_shell_with_another_grammar_is_refused(shell: str) -> None:
    text = f"#!{shell}\n#SBATCH -N 2\nset B = 2\nsrun ./t $B\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert not found.job
    assert shell.split()[-1].rpartition("/")[2].replace("-f", "csh") in found.refused


@pytest.mark.parametrize(
    "line", ["/home/fish/bin/bash", "/opt/csh/env bash", "/bin/bash # no zsh", "/bin/sh -e"]
)
def test_a_folder_or_an_option_is_no_shell(line: str) -> None:
    found = convert(classified({"run.sub": f"#!{line}\n#SBATCH -N 2\nsrun --mpi=none ./t\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t"]
    assert not [each for each in found.findings if each.places[0].line == 1]


@pytest.mark.parametrize(("shell", "kinds"), [("zsh", ["assumed"]), ("bash", []), ("sh", [])])
def test_a_script_for_a_shell_like_bash_is_read_and_said(shell: str, kinds: list[str]) -> None:
    text = _HEAD.replace("bash", shell) + "srun --mpi=none ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t"]
    assert [each.kind for each in found.findings if each.places[0].line == 1] == kinds


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("srun --mpi=none --container-image=a/b:1 mpirun -np 8 ./t", True),
        ("srun --mpi=none -N 1 -n 1 bash -c 'mpirun -np 8 ./t'", True),
        ("srun --mpi=pmix --container-image=a/b:1 ./t mpirun", False),
        ("mpirun -np 8 ./t", False),
    ],
)
def test_ranks_that_a_mpirun_behind_srun_starts_are_said_to_be_no_ranks_of_the_job(
    run: str, told: bool
) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{run}\n"}), Options({}))
    asked = [each for each in found.findings if each.kind == "question" and each.what == "mpirun -np 8"]
    assert len(asked) == told
    assert script_cases.loaded(found.job).get("mpi") != script_cases.ASK


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("pip list; torchrun --nnodes 4 --nproc_per_node 8 --rdzv_id $RANDOM t.py", True),
        ("mkdir w && python -m torch.distributed.run --nnodes=4 t.py", True),
        ("pip list; exec accelerate launch --num_machines 4 t.py", True),
        ("echo torchrun --nnodes 4; ./t", False),
    ],
)
def test_ranks_that_a_text_for_a_shell_starts_by_torchrun_are_said_to_be_no_ranks_of_the_job(
    text: str, starts: bool
) -> None:
    run = f'srun --mpi=none -n 2 --ntasks-per-node=1 --container-image=a/b:1 bash -c "{text}"'
    found = convert(classified({"run.sub": f"{_HEAD}{run}\n"}), Options({}))
    asked = [each.why for each in found.findings if each.kind == "question"]
    assert script_cases.loaded(found.job)["ranks_per_node"] == "1"
    assert any("starts ranks of its own" in why for why in asked) == starts
    assert any("says another number than where it is started, 2" in why for why in asked) == starts
    trial = [each for each in found.findings if each.key == "trials.count"]
    assert [("$RANDOM" in each.why) for each in trial] == [True] * ("$RANDOM" in text)


@pytest.mark.parametrize("front", ["logsave run.log", "/sbin/logsave -a run.log", "time logsave -sv run.log"])
def test_what_logsave_starts_is_the_run(front: str) -> None:
    job = _job(f"export STEPS=16\n{front} mpirun -np $STEPS ./t 5")
    assert (job["nodes"], job["ranks_per_node"], job["command"]) == ("2", "8", ["./t", "5"])
