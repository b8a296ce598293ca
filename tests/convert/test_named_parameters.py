"""A word of the run's command that no line tells is a variable that is asked for; the rest is carried."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"


def _converted(lines: str, **env: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options(env))


def _job(lines: str) -> dict[str, Any]:
    return loaded(_converted(lines).job)


@pytest.mark.parametrize(
    ("lines", "command", "asked"),
    [
        ("srun --mpi=none ./t --at x-$(date +%F) -b 1", "exec ./t --at x-$DATE_OUTPUT -b 1", ["DATE_OUTPUT"]),
        ('srun --mpi=none ./t "$(find /d | head -1)" x', 'exec ./t "$FIND_OUTPUT" x', ["FIND_OUTPUT"]),
        ("srun --mpi=none ./t /o/$(date +%F)_b $(id -u)0", "exec ./t /o/${DATE_OUTPUT}_b ${ID_OUTPUT}0",
         ["DATE_OUTPUT", "ID_OUTPUT"]),
        ("AT=`date +%s`\nsrun --mpi=none ./t --at $AT", "exec ./t --at $AT", ["AT"]),
        ("AT=$(date)\nsrun --mpi=none ./t \"$AT\" $AT", 'exec ./t "$AT" $AT', ["AT"]),
        ("AT=$(date)\nsrun --mpi=none ./t /o/$AT/$(arch)", "exec ./t /o/$AT/$ARCH_OUTPUT",
         ["AT", "ARCH_OUTPUT"]),
        ("DATE_OUTPUT=1\nsrun --mpi=none ./t $(date)", "exec ./t $DATE_OUTPUT_2", ["DATE_OUTPUT_2"]),
        ("N=$(wc -l < f)\nsrun --mpi=none ./t $((N/2))", "exec ./t $NUMBER", ["NUMBER"]),
        ("if [ -f x ]; then O='--from x'; else O=; fi\nsrun --mpi=none ./t $O", "exec ./t $O", ["O"]),
        ('H=$(head_of)\nsrun --mpi=none bash -c "./t $H \\$SLURM_PROCID"',
         "exec bash -c './t '\"$H\"' $SLURM_PROCID'", ["H"]),
        ("export H=$(head_of)\nsrun --mpi=none ./t $H", "exec ./t $H", ["H"]),
        ("mpirun -np 8 ./t $(date)", "exec ./t $DATE_OUTPUT", ["DATE_OUTPUT"]),
    ],
)  # fmt: skip
def test_only_the_word_that_is_not_told_is_asked_for(lines: str, command: str, asked: list[str]) -> None:
    found = _converted(lines)
    job = loaded(found.job)
    assert job["command"] == command
    assert job["env"] == dict.fromkeys(asked, ASK)
    assert "inherit" not in job
    assert not [each for each in found.findings if each.kind == "left"]
    assert [each.key for each in found.findings if each.kind == "question"] == [
        f"env.{name}" for name in asked
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "srun --mpi=none $(pick) x",
        "srun --mpi=none ./t --token $(cat t)",
        'srun --mpi=none bash -c "API_KEY=$(cat t) ./t"',
        "KEYS_TOKEN=$(cat t)\nsrun --mpi=none ./t $KEYS_TOKEN",
        'O=(a $(date))\nif [ -f x ]; then O=(b c); fi\nsrun --mpi=none ./t "${O[@]}"',
        "for i in 1 2; do srun --mpi=none ./t $(date); done",
    ],
)
def test_a_program_a_secret_and_what_is_another_in_each_round_leave_the_command_open(lines: str) -> None:
    assert _job(lines)["command"] == ASK


def test_ranks_get_the_word_that_the_script_made(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a  b\n")
    show = f"{sys.executable} -c 'import sys; print(sys.argv[1:])'"
    script = f'A=$(cat f)\nsrun --mpi=none {show} "$A" $A /o/"$(tail -1 f)"$A'
    own = {"A": "a  b", "TAIL_OUTPUT": "a  b"}
    shown = [
        subprocess.run(
            ["bash", "-c", text], env={**os.environ, **env}, cwd=tmp_path, capture_output=True
        ).stdout
        for text, env in ((script.replace("srun --mpi=none", ""), {}), (_job(script)["command"], own))
    ]
    assert shown[0] == shown[1] != b""


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("source $(conda info --base 2>/dev/null || echo $HOME/c)/etc/profile.d/conda.sh",
         'source "$(conda info --base 2>/dev/null || echo $HOME/c)"/etc/profile.d/conda.sh; exec ./t'),
        ("source $(conda info --base)/etc/profile.d/conda.sh\nconda activate e",
         'source "$(conda info --base)"/etc/profile.d/conda.sh; conda activate e; exec ./t'),
        ('source "$(dirname $(which conda))/../etc/profile.d/conda.sh"',
         'source "$(dirname $(which conda))"/../etc/profile.d/conda.sh; exec ./t'),
    ],
)  # fmt: skip
def test_the_shell_of_a_rank_finds_its_environments_itself(lines: str, text: str) -> None:
    assert _job(f"{lines}\nsrun --mpi=none ./t")["command"] == ["bash", "-lc", text]
    assert _job("source $(pick)/activate\nsrun --mpi=none ./t")["command"] == ASK


def test_a_seed_that_trials_set_is_not_asked_for() -> None:
    found = _converted("export SEED=$(date +%s)\nsrun --mpi=none ./t --seed $SEED")
    job = loaded(found.job)
    assert (job["command"], job["trials"]["seed"], "env" in job) == ("exec ./t --seed $SEED", "SEED", False)
    assert not [each for each in found.findings if each.kind == "question"]


@pytest.mark.parametrize("gives", ["MASTER_ADDR=$(./first-node)\n", ""])
def test_an_address_that_a_program_tells_is_asked_for_and_not_said_to_be_untold(gives: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
    found = convert(
        classified({"go.sh": f"{head}{gives}srun --mpi=none ./t --at $MASTER_ADDR\n"}), Options({})
    )
    asked = {each.key: each.todo for each in found.findings if each.kind == "question"}
    assumed = [each.why for each in found.findings if each.became == "rendezvous: torch"]
    assert ("env.MASTER_ADDR" in asked) == bool(gives)
    assert bool(assumed) == (not gives)
    assert not gives or "rendezvous: torch in its place" in asked["env.MASTER_ADDR"]
