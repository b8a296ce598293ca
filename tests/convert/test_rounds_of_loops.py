"""A loop around the run becomes trials that are given what its rounds were given, or is asked about."""

import os
import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.shell import counters
from hpclaunch.spec.job import TrialsSpec
from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Conversion
from hpclaunch.values.names import TRIAL

HEAD = "#SBATCH -N 2 --gres=gpu:4 --ntasks-per-node=4 -t 1:00\n"
RUN = "srun --mpi=pmix ./train"
# srun without its options: it says what the run is given, and fails as often as it is told to.
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
exec "$@"
"""
TRAIN = """#!/bin/bash
printf '%s|' "$@" "S=${SEED-}" "L=${LR-}" >> "$SHOWN"
echo >> "$SHOWN"
exit "${STATUS:-0}"
"""
TRIALS = (
    f"for i in 1 2 3; do {RUN} --id $i; done",
    f"for i in $(seq 3); do {RUN} --save m_$i; done",
    f"for i in $(seq -w 1 3); do {RUN} --save m_$i; done",
    f"for i in $(seq --equal-width 01 3); do\n  export SEED=$((5 - 1 + 10#$i))\n  {RUN}\ndone",
    f"B=41\nfor i in $(seq -w 3); do\n  export SEED=$(( $B - 1 + 10#${{i}} ))\n  {RUN}\ndone",
    f"for ((i = 1; i <= 3; i++)); do {RUN} --id $i; done",
    f"for i in 1 2 3; do\n  export SEED=$i\n  {RUN}\ndone",
    f"for i in 1 2 3; do\n  export SEED=$((1000 + i))\n  {RUN}\ndone",
    f"for i in 1 2 3; do SEED=$((41+i)) {RUN} --id $i; done",
    f"export SEED=5\nfor i in 1 2 3; do (\n  SEED=$((SEED+i))\n  {RUN}\n); done",
    f"export LR=0.1\nfor i in 1 2 3; do\n  {RUN} --id $i\ndone\nexport LR=0.2",
    f"i=1\nwhile [ $i -le 3 ]; do\n  {RUN} --id $i\n  i=$((i+1))\ndone",
    f'N=3\ni=1\nwhile [[ "$i" -le $N ]]; do\n  {RUN} --id $i\n  ((i++))\ndone',
    f"i=1\nwhile ((i < 4)); do\n  {RUN} --id $i\n  let i++\ndone",
    f'i=1\nuntil [ $i -gt 3 ]; do\n  {RUN} --id $i\n  let "i += 1"\ndone',
    f"i=1\nwhile test ! $i -gt ${{N:-3}}; do\n  {RUN} --id $i\n  i=`expr $i + 1`\ndone",
    f"i=1\nwhile [ 4 -gt $i ]; do\n  SEED=$((41+i)) {RUN} --id $i\n  i=$((i + 1))\ndone",
    f"i=1\nwhile [ $i -ne 4 ]; do\n  {RUN} --id $i\n  : $((i+=1))\ndone",
    f"i=1\nwhile [ $i -le 3 ]; do\n  {RUN} --id $i\n  i=$(expr 1 + ${{i}})\ndone",
    f"i=1\nwhile [ $i -le 3 ]; do\n  {RUN} --id $i\n  i=$(( i - (1 - 2) ))\ndone",
    f"i=1\nwhile [ $i -le 3 ]; do\n  {RUN} --id $i\n  i=$[ $i + 1 ]\ndone",
    f"N=1\nfor ((i = N; i <= N + 2; i = i + N)); do {RUN} --id $i; done",
    f"for i in 1 2 3; do\n  export SEED=$((1000*i))\n  {RUN}\ndone",
    f"for i in 1 2 3; do\n  export SEED=$((1000-i))\n  {RUN}\ndone",
    f"for i in 1 2 3; do\n  SEED=$((100+10*i))\n  export SEED\n  {RUN}\ndone",
    f"for i in 1 2 3; do SEED=$((1000*i)) {RUN}; done",
    f"for i in 1 2 3; do {RUN} --id $((i * 7 - 1)); done",
)
ASKED = {
    f"export SEED=5\nfor i in 1 2 3; do\n  SEED=$((SEED*2))\n  {RUN}\ndone": "env.SEED",
    f"export SEED=5\nfor i in 1 2 3; do\n  SEED=$((SEED+i))\n  {RUN}\ndone": "env.SEED",
    f"SEED=5\nfor i in 1 2 3; do\n  SEED=$((SEED*2))\n  {RUN} --seed $SEED\ndone": "command",
    f"export LR=0.1\nfor i in 1 2 3; do\n  {RUN}\n  export LR=0.2\ndone": "env.LR",
    f"FLAG=--cold\nfor i in 1 2 3; do\n  {RUN} $FLAG\n  FLAG=--warm\ndone": "command",
    f"for ((i=0; i<NEXP; i++)); do {RUN} --id $i; done": "command",
    f"for i in $(seq 0 2 $NEXP); do {RUN} --id $i; done": "command",
    f"for i in $(seq $START $END); do {RUN} --id $i; done": "command",
    f"for i in $LIST; do {RUN} --id $i; done": "command",
    "for n in 1 2; do srun -N $n --mpi=pmix ./train; done": "nodes",
    f"for ((b=1; b<=8; b*=2)); do {RUN} --id $b; done": "command",
    f"i=1\nwhile [ $i -le 8 ]; do\n  {RUN} --id $i\n  i=$((i*2))\ndone": "command",
    f"i=1\nwhile [ $i -le 8 ]; do\n  {RUN} --id $i\n  ((i*=2))\ndone": "command",
    f"i=1\nwhile ((i < N)); do\n  {RUN} --id $i\n  ((i++))\ndone": "command",
    f"i=0\nwhile [ $i -lt 3 ]; do\n  test -f a && i=$((i+1))\n  {RUN} --id $i\ndone": "command",
    f"i=1\nwhile true; do\n  {RUN} --id $i\n  ((i++))\n  ((i > 3)) && break\ndone": "command",
    f"i=1\nwhile [ $i -le 8 ]; do\n  {RUN} --id $i\n  i=$((i+1))\n  test -f a || i=5\ndone": "command",
    f"for i in $(seq -w 1 10); do {RUN} --id $i; done": "command",
    f"for i in 1 2 3; do\n  [ $i -eq 2 ] && continue\n  {RUN}\ndone": "trials.count",
    f"for i in 1 2 3; do\n  {RUN}\n  test -f done && break\ndone": "trials.count",
    f"for i in 1 2 3; do\n  {RUN}\n  [ -e done ] && exit 0\ndone": "trials.count",
}
# What a script does when a run fails.
ENDS = (
    ("#!/bin/bash", f"for i in 1 2 3; do {RUN} $i; done"),
    ("#!/bin/bash\nset -e", f"for i in 1 2 3; do {RUN} $i; done"),
    ("#!/bin/bash\nset -euo pipefail", f"for i in 1 2 3; do {RUN} $i | tee log; done"),
    ("#!/bin/bash\nset -o errexit", f"for i in 1 2 3; do {RUN} $i; done"),
    ("#!/bin/bash -e", f"for i in 1 2 3; do {RUN} $i; done"),
    ("#!/bin/bash\nset -e\nset +e", f"for i in 1 2 3; do {RUN} $i; done"),
    ("#!/bin/bash\nset -e", f"for i in 1 2 3; do {RUN} $i || true; done"),
    ("#!/bin/bash", f"for i in 1 2 3; do {RUN} $i || exit 1; done"),
    ("#!/bin/bash", f"for i in 1 2 3; do {RUN} $i || break; done"),
    ("#!/bin/bash", f"for i in 1 2 3; do {RUN} $i || {{ echo failed; exit 1; }}; done"),
    ("#!/bin/bash", f"for i in 1 2 3; do if ! {RUN} $i; then exit 1; fi; done"),
    ("#!/bin/bash", f"for i in 1 2 3; do\n  {RUN} $i\n  if [ $? -ne 0 ]; then exit 1; fi\ndone"),
    ("#!/bin/bash", f"for i in 1 2 3; do\n  {RUN} $i\n  rc=$?\n  [ $rc -ne 0 ] && exit $rc\ndone"),
)


@pytest.fixture(autouse=True)
def programs(tmp_path: Path) -> None:
    for name, text in (("srun", SRUN), ("train", TRAIN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)


def converted(script: str) -> Conversion:
    return convert(classified({"run.sub": script}), Options({}))


def rounds_of(folder: Path, script: str, status: str = "0") -> list[str]:
    """What the run was given, each time that the script started it."""
    (folder / "run.sub").write_text(script)
    (folder / "run.sub").chmod(0o700)
    started(folder, [str(folder / "run.sub")], {"STATUS": status})
    return (folder / "shown").read_text().splitlines()


def started(folder: Path, argv: list[str], environment: dict[str, str]) -> int:
    path = f"{folder}:{os.environ['PATH']}"
    whole = {"PATH": path, "SHOWN": str(folder / "shown"), **environment}
    return subprocess.run(argv, env=whole, cwd=folder, timeout=60, capture_output=True).returncode


@pytest.mark.parametrize("loop", TRIALS)
def test_each_trial_is_a_round(loop: str, tmp_path: Path) -> None:
    script = f"#!/bin/bash\n{HEAD}{loop}\n"
    rounds = rounds_of(tmp_path, script)
    assert len(rounds) == 3
    (tmp_path / "shown").unlink()
    found = converted(script)
    assert found.is_complete
    job = parse_job(found.job, "job.yaml", str(tmp_path)).value
    assert isinstance(job.trials, TrialsSpec)
    argv = ["sh", "-c", job.command] if isinstance(job.command, str) else list(job.command)
    for number in range(1, job.trials.count + 1):
        own = {TRIAL: str(number)}
        if job.trials.seed and job.trials.first_seed is not None:
            own[job.trials.seed] = str(job.trials.first_seed + number - 1)
        assert started(tmp_path, argv, {**job.env, **own}) == 0
    assert (tmp_path / "shown").read_text().splitlines() == rounds


@pytest.mark.parametrize("loop", ASKED)
def test_what_no_trial_can_have_of_a_round_is_asked(loop: str) -> None:
    found = converted(f"#!/bin/bash\n{HEAD}{loop}\n")
    questions = {each.key for each in found.findings if each.kind == "question"}
    assert ASKED[loop] in questions
    assert "first_seed" not in found.job
    assert not any(each.kind == "carried" and each.key == ASKED[loop] for each in found.findings)


@pytest.mark.parametrize(
    "lines",
    [
        f"export SEED=$RANDOM\nfor i in 1 2 3; do {RUN}; done",
        f"S=$RANDOM\nfor i in 1 2 3; do SEED=$S {RUN}; done",
        f"S=$RANDOM\nARGS=(--seed $S)\nfor i in 1 2 3; do {RUN} ${{ARGS[@]}}; done",
        f"for i in 1 2 3; do\n  export SEED=$RANDOM\n  {RUN}\ndone",
        f"for i in 1 2 3; do SEED=$RANDOM {RUN}; done",
        f"export SEED=$RANDOM\nfor i in 1 2 3; do\n  {RUN}\n  export SEED=$RANDOM\ndone",
        f"export SEED=$RANDOM\nfor i in 1 2 3; do\n  (\n  {RUN}\n  export SEED=$RANDOM\n  )\ndone",
        f"B=$RANDOM\nfor i in 1 2 3; do SEED=$((B+i)) {RUN}; done",
        f"for i in 1 2 3; do\n  S=$RANDOM\n  {RUN} --seed $S\ndone",
    ],
)
def test_one_random_seed_for_all_rounds_is_told(lines: str, tmp_path: Path) -> None:
    script = f"#!/bin/bash\n{HEAD}{lines}\n"
    alike = len(set(rounds_of(tmp_path, script))) == 1
    found = converted(script)
    said = [each.kind for each in found.findings if "made once" in each.what]
    assert (said == ["question"]) is alike
    assert found.is_complete


def test_a_number_of_all_rounds_beside_one_of_each_is_told() -> None:
    lines = f"ID=$RANDOM\nfor i in 1 2 3; do {RUN} --id $ID --seed $RANDOM; done"
    found = converted(f"#!/bin/bash\n{HEAD}{lines}\n")
    assert [each.kind for each in found.findings if each.what.startswith("ID is made once")] == ["question"]


@pytest.mark.parametrize("count", ["let h++", "((h++))", "h=$((h+1))"])
@pytest.mark.parametrize(
    ("before", "asked"), [("for i in 1 2 3; do h=0", False), ("h=0; for i in 1 2 3; do", True)]
)
def test_a_number_of_the_host_that_each_round_counts_anew_is_no_question(
    before: str, asked: bool, count: str
) -> None:
    run = "srun -w $n --mpi=none --container-image=a torchrun --node_rank $h --master_addr $n t.py &"
    hosts = f"for n in $(scontrol show hostnames); do\n  {run}\n  {count}\ndone"
    found = converted(f"#!/bin/bash\n{HEAD}{before}\n{hosts}\nwait\ndone\n")
    assert ("command" in {each.key for each in found.findings if each.kind == "question"}) is asked


@pytest.mark.parametrize(("given", "first"), [({}, None), ({"FIRST_SEED": "7"}, 7)])
@pytest.mark.parametrize("name", ["SEED", "FIRST_SEED"])
def test_a_seed_that_rises_from_a_random_one_is_random(
    name: str, given: dict[str, str], first: int | None
) -> None:
    seed = f"  export {name}=$(($FIRST_SEED - 1 + 10#$i)) TAG=run-$i-$(date +%s)\n"
    loop = f"for i in $(seq -w 1 12); do (\n{seed}  {RUN}\n)\ndone"
    before = 'export TAG=none\n: "${FIRST_SEED:=$RANDOM}"\nsrun -N2 -n2 mkdir -p /tmp/x\n'
    script = f"#!/bin/bash\n{HEAD}{before}{loop}\n"
    found = convert(classified({"run.sub": script}), Options(given))
    assert {each.key for each in found.findings if each.kind == "question"} == {"env.TAG"}
    job = script_cases.loaded(found.job)
    told = None if first is None else str(first)
    assert (job["trials"]["count"], job["trials"]["seed"], job["trials"].get("first_seed")) == (
        "12",
        name,
        told,
    )
    assert [step["run"] for step in job["setup"]] == [["mkdir", "-p", "/tmp/x"]]


@pytest.mark.parametrize(("head", "loop"), ENDS)
def test_trials_go_on_after_one_that_fails_where_the_script_did(head: str, loop: str, tmp_path: Path) -> None:
    first, _, rest = head.partition("\n")
    script = f"{first}\n{HEAD}{rest}\n{loop}\n"
    rounds = rounds_of(tmp_path, script, status="1")
    found = converted(script)
    assert found.is_complete
    job = parse_job(found.job, "job.yaml", str(tmp_path)).value
    assert isinstance(job.trials, TrialsSpec)
    assert job.trials.keep_going == (len(rounds) == job.trials.count)


# An expression and what it adds to i, 0 where that depends on i.
STEPS = {
    "i++": 1,
    " -- i ": -1,
    "i += 2": 2,
    "i -= N - 1": -2,
    "i = i + 1": 1,
    "i = N + i": 3,
    "i = i - (2 - 1)": -1,
    "i = 2 * i": 0,
    "i = 1": 0,
    "i *= 2": 0,
    "j++": 0,
    "i = i + M": 0,
    "i = i + i": 0,
    "i == i + 1": 0,
    "i++, i++": 0,
    "i = (j = 1) + i": 0,
    "i = i + 1; rm x": 0,
}


@pytest.mark.parametrize("expression", STEPS)
def test_a_step_is_what_an_expression_adds_to_any_number(expression: str) -> None:
    told = {"N": "3"}
    assert counters.step(expression, "i", told.get) == STEPS[expression]


@pytest.mark.parametrize("expression", [each for each in STEPS if STEPS[each]])
def test_a_step_is_the_one_of_bash(expression: str) -> None:
    for start in (0, 7, -4):
        script = f"N=3 i={start}; (({expression})); echo $i"
        said = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout
        assert int(said) - start == STEPS[expression]


@pytest.mark.parametrize(
    ("start", "given"),
    [
        ("docker run --rm --gpus all -e X=$i a/b:1", "$i"),
        ("docker run --rm --gpus all -e X=run-$i a/b:1", "run-$i"),
        ("docker run --rm --gpus all -e X=$((i * 2)) a/b:1", "$((i * 2))"),
        ("docker exec -e X=$i c mpirun -np 8", "$i"),
        ("mpirun -np 8 -x X=r$i", "r$i"),
    ],
)
def test_what_hands_on_the_number_of_a_round_hands_on_that_of_the_trial(start: str, given: str) -> None:
    before = "docker run -d --name c a/b:1 sleep infinity\n" if "exec" in start else ""
    text = f"#!/bin/bash\n{HEAD}{before}for i in 1 2 3; do\n  {start} ./train\ndone\n"
    found = convert(classified({"run.sub": text}), Options({}))
    job = script_cases.loaded(found.job)
    assert job["trials"]["count"] == "3"
    shows = job["command"].replace("exec ./train", 'echo "$X"')
    said = [subprocess.check_output(["sh", "-c", shows], env={TRIAL: str(i)}, text=True) for i in (1, 2, 3)]
    rounds = ["bash", "-c", f"for i in 1 2 3; do echo {given}; done"]
    assert "".join(said) == subprocess.check_output(rounds, text=True)


@pytest.mark.parametrize(("words", "said"), [("-e A=1", ["docker exec -e A"]), ("", [])])
def test_a_variable_of_the_first_hosts_container_is_said_to_reach_all(words: str, said: list[str]) -> None:
    lines = (
        "for h in $(scontrol show hostnames); do\n"
        "  ssh $h docker run -d --name c -e B=1 a/b:1 sleep infinity\ndone\n"
        f"docker exec {words} -e C=1 c mpirun -np 8 -x C -H a:4,b:4 ./train\n"
    )
    found = convert(classified({"run.sub": f"#!/bin/bash\n{HEAD}{lines}"}), Options({}))
    assert [each.what for each in found.findings if "all ranks have" in each.became] == said


@pytest.mark.parametrize("over", ["$(seq 1 $NEXP)", '$(seq -w 1 "${NEXP}")', "$(seq 1 ${NEXP:-4})"])
def test_a_seed_that_rises_with_the_round_is_the_trials_whatever_their_number(over: str) -> None:
    lines = (
        f": ${{BASE:=$RANDOM}}\nfor i in {over}; do\n  SEED=$((BASE - 1 + 10#$i)) srun --mpi=none ./t\ndone\n"
    )
    job = script_cases.loaded(convert(classified({"run.sub": f"{HEAD}{lines}"}), Options({})).job)
    assert job["trials"]["seed"] == "SEED"
    assert "env" not in job
    assert str(job["trials"]["count"]) == ("4" if ":-4" in over else script_cases.ASK)


@pytest.mark.parametrize(
    ("loop", "key", "told"),
    [
        (f"while {RUN}; do sleep 5; done", "trials.count", "depends on how srun --mpi=pmix ./train ends"),
        (
            "for i in 1 2 3; do\nmkdir -p /r/$i\nsrun --mpi=none --container-image=a "
            "--container-mounts=/r/$i:/r ./t\ndone",
            "mounts.0",
            "i is another one in each round of the loop over 1 2 3",
        ),
    ],
)
def test_what_is_asked_of_a_loop_says_what_decides(loop: str, key: str, told: str) -> None:
    found = converted(f"#!/bin/bash\n{HEAD}{loop}\n")
    (asked,) = (each for each in found.findings if each.kind == "question" and each.key == key)
    assert told in asked.why


@pytest.mark.parametrize(
    ("lines", "is_left"),
    [
        (f"export ID=$RANDOM\nfor i in 1 2 3; do {RUN}; done", True),
        (f"export ID=$RANDOM\nfor i in 1 2 3; do SEED=$((ID+i)) {RUN}; done", True),
        (f"export ID=$RANDOM\nfor i in 1 2 3; do SEED=$RANDOM {RUN}; done", True),
        (f"for i in 1 2 3; do\nexport ID=$RANDOM\nSEED=$RANDOM {RUN}\ndone", False),
    ],
)
def test_a_random_number_of_all_rounds_is_not_the_seed_of_each(lines: str, is_left: bool) -> None:
    found = converted(f"#!/bin/bash\n{HEAD}{lines}\n")
    command = script_cases.loaded(found.job)["command"]
    assert command == (["./train"] if is_left else 'export ID="$SEED"; exec ./train')
    left = [each.what for each in found.findings if each.kind == "left"]
    assert left == ["ID=${RANDOM}"] * is_left


@pytest.mark.parametrize("words", ["b-32", '"${ALL[@]}"', "$ONE", "7"])
def test_a_loop_of_one_round_is_no_loop(words: str) -> None:
    lines = f"ALL=(b-32)\nONE=b-32\nfor m in {words}; do\n  export M=$m\n  {RUN} --model $m || break\ndone\n"
    job = script_cases.loaded(converted(f"{HEAD}{lines}").job)
    value = "7" if words == "7" else "b-32"
    assert (job["command"], job["env"]) == (["./train", "--model", value], {"M": value})
    assert not {"trials", "sweep"} & set(job)


def test_a_number_of_ranks_of_each_round_is_asked_as_that() -> None:
    lines = "sizes=(4 8)\nfor n in ${sizes[@]}; do srun -n $n --mpi=pmix ./t; done\n"
    found = convert(
        classified({"run.sub": f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4\n{lines}"}), Options({})
    )
    (asked,) = (each for each in found.findings if each.key == "ranks_per_node")
    assert "-n ${n} is another number in each round of the loop" in asked.why


@pytest.mark.parametrize("value", ["$HOW", '"$HOW"', "${HOW}"])
def test_a_round_that_exports_a_variable_as_it_is_changes_nothing(value: str) -> None:
    lines = (
        f": ${{HOW:=a}}\nif ((N == 1)); then HOW=b; fi\nfor i in 1 2 3; do\nexport HOW={value}\n{RUN}\ndone\n"
    )
    found = convert(classified({"run.sub": f"#!/bin/bash\n{HEAD}{lines}"}), Options({}))
    (asked,) = [each.why for each in found.findings if each.key == "env.HOW"]
    assert asked.startswith("HOW is 'a' or 'b', and which of them is not told")


@pytest.mark.parametrize(
    "over", ["((i = 0; i < SLURM_NNODES; i++))", "i in ${NODE_COUNTS[@]}", "i in $WORKERS"]
)
def test_a_loop_around_a_step_that_goes_to_no_host_by_name_is_one_of_rounds(over: str) -> None:
    """Slurm chooses the nodes of each step, whatever the loop counts."""
    text = f"#!/bin/bash\n#SBATCH -N 4 --gpus-per-node=8 -t 60\nNODE_COUNTS=(0 1 2 3)\nfor {over}; do\n"
    text += "srun --mpi=none -N 1 -n 1 ./t --part $i &\ndone\nwait\n"
    found = convert(classified({"run.sub": text}), Options({}))
    job = script_cases.loaded(found.job)
    assert job["command"] == script_cases.ASK
    assert "i" not in job.get("inherit", [])
    to_each = text.replace("-n 1", "-n 1 -w node$i")
    assert (
        script_cases.loaded(convert(classified({"run.sub": to_each}), Options({})).job).get("trials") is None
    )
