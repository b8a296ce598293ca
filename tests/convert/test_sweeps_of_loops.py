"""A loop around the run becomes a sweep whose points start what its rounds started, or is asked about."""

import os
import subprocess
from pathlib import Path

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.spec.read import parse_job
from hpclaunch.spec.variants import keys_of, variants
from hpclaunch.values.conversion import Conversion

HEAD = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4 --ntasks-per-node=4 -t 1:00\n"
RUN = "srun --mpi=pmix python train.py"
# srun without its options, and a program that says what it is given.
SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'
PYTHON = '#!/bin/bash\nprintf \'%s|\' "$@" "LR=${LR-}" "B=${B-}" >> "$SHOWN"\necho >> "$SHOWN"\n'
PYTHON += 'env -0 >> "$SHOWN.env"\n'
LOOPS = (
    f"for lr in 0.1 0.2; do\n  {RUN} --lr $lr > log_$lr\ndone",
    f'for lr in 0.1 "1e-3" .5; do echo "now $lr"; {RUN} "--lr=${{lr}}" --out "out $lr"; done',
    f"for lr in 0.1 0.2; do for b in 64 128; do {RUN} --lr $lr --batch $b; done; done",
    f"for LR in 0.1 0.2; do\n  export LR\n  {RUN}\ndone",
    f"for lr in 0.1 0.2; do\n  export LR=$lr\n  {RUN}\ndone",
    f"for lr in 0.1 0.2; do LR=x$lr B=1 {RUN}; done",
    f"for b in $(seq 64 64 192); do {RUN} --batch $((b * 2)); done",
    f"for b in $(seq 0.95 0.05 1.05) $(seq 3 -.5 2) $(seq 8 0.25 8.5); do {RUN} --lr $b; done",
    f"B0=100\nfor i in $(seq 0 4); do\n  S=$((B0+i))\n  {RUN} --seed $S\ndone",
    f"A=2 C=3\nfor b in 4 8; do {RUN} --batch $(( ${{A}}*b + $C )); done",
    f"for ((b = 8; b < 24; b += 8)); do {RUN} --batch $b; done",
    f"for LR in 0.1 0.2; do {RUN} --lr $LR; done",
    f"export LR=1\nfor LR in 0.1 0.2; do {RUN} --lr $LR; done",
    f"mkdir -p out\nfor lr in 0.1 0.2; do {RUN} --lr $lr; done\necho done",
    f"for lr in 0.1 0.2; do NAME=run_$lr; {RUN} --name $NAME |& tee $NAME.txt; done",
    f"for lr in 0.1 0.2; do took=$({RUN} --lr $lr); echo $lr $took >> table; done",
)
NO_SWEEPS = (
    f"last=none\nfor lr in 0.1 0.2; do {RUN} --lr $lr --from $last; last=$lr; done",
    f"for lr in 0.1 0.2; do {RUN} --lr $lr --from ${{last:-none}}; last=$lr; done",
    f"for lr in 0.1 0.2; do {RUN} --lr $lr & done\nwait",
    "for n in 1 2 4; do srun -N $n --mpi=pmix python train.py --nodes $n; done",
    f"for lr in 0.1 0.2; do python prepare.py; {RUN} --lr $lr; done",
    f"for lr in 0.1 0.2; do if [ -e go ]; then {RUN} --lr $lr; fi; done",
    f"for lr in 0.1 0.2; do [ -e stop ] && break; {RUN} --lr $lr; done",
    f"for lr in 0.1 0.2; do {RUN} --lr $lr --resume; done",
    f"for lr in $RATES; do {RUN} --lr $lr; done",
    f"for f in *.json; do {RUN} --config $f; done",
    f"rm -rf results\nmkdir results\nfor lr in 0.1 0.2; do {RUN} --lr $lr; done",
    f"for lr in 0.1 0.2; do {RUN} --lr $lr; done\nsrun --mpi=pmix python select.py --delete-losers",
    f"{RUN} --out base\nfor lr in 0.1 0.2; do {RUN} --from base --lr $lr; done",
    f"for s in base fine; do {RUN} --stage $s --load /data/model --save /data/model; done",
    f"for e in 10 20; do {RUN} --epochs $e --init model_$((e-10)).pt --save model_$e.pt; done",
    f"for lr in 0.1 0.2; do\n  {RUN} --lr $lr\n  export WARM=1\ndone",
    f"for lr in 0.1 0.2; do best=$({RUN} --lr $lr --from ${{best:-none}}); done",
    f"for n in a b; do hosts+=$(srun -N 1 -w $n hostname); done\n{RUN} --hosts $hosts",
)


def converted(loop: str) -> Conversion:
    return convert(classified({"run.sub": f"{HEAD}{loop}\n"}), Options({}))


def shown(folder: Path, argv: list[str], environment: dict[str, str]) -> None:
    path = f"{folder}:{os.environ['PATH']}"
    whole = {"PATH": path, "SHOWN": str(folder / "shown"), **environment}
    subprocess.run(argv, env=whole, cwd=folder, check=True, timeout=60, capture_output=True)


def variables_of_ranks(folder: Path) -> set[str]:
    """The names of the variables that the program had since this was asked."""
    path = folder / "shown.env"
    found = {each.partition("=")[0] for each in path.read_text().split("\0")}
    path.unlink()
    return found


@pytest.mark.parametrize("loop", LOOPS)
def test_each_point_is_a_round(loop: str, tmp_path: Path) -> None:
    for name, text in (("srun", SRUN), ("python", PYTHON)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    shown(tmp_path, ["bash", "-c", HEAD + loop], {})
    rounds = (tmp_path / "shown").read_text()
    assert rounds.count("\n") > 1
    (tmp_path / "shown").unlink()
    before = variables_of_ranks(tmp_path)
    found = converted(loop)
    assert found.is_complete
    document = parse_job(found.job, "job.yaml", str(tmp_path))
    job = document.value
    assert (job.nodes, job.ranks_per_node, job.sweep and job.sweep.max_running) == (2, 4, 1)
    assumed = [each for each in found.findings if each.kind == "assumed"]
    assert any("each point is a job of its own" in each.why for each in assumed)
    (variant,) = variants(document)
    for point in variant.words(keys_of(job)):
        own = dict(word.split("=", 1) for word in point.environment)
        shown(tmp_path, [*variant.base, *point.arguments], {**job.env, **own})
    assert (tmp_path / "shown").read_text() == rounds
    more = {name for name in variables_of_ranks(tmp_path) - before if not name.startswith("HPCLAUNCH_")}
    told = [each.became for each in assumed if each.became.startswith("ranks have ")]
    assert told == ([f"ranks have {' and '.join(sorted(more, key=loop.find))}"] if more else [])


@pytest.mark.parametrize("loop", NO_SWEEPS)
def test_rounds_that_may_need_each_other_are_asked_about(loop: str) -> None:
    found = converted(loop)
    assert "\nsweep:" not in found.job
    assert not found.is_complete or any(
        each.kind in ("left", "unread") and each.places[0].line >= 3 for each in found.findings
    )


@pytest.mark.parametrize(
    ("loop", "is_side_by_side"),
    [
        ("for s in 1 2; do\n  {} &\n  wait\ndone", False),
        ("for s in 1 2; do\n  {} &\n  wait $!\ndone", False),
        ("for s in 1 2; do\n  {} &\ndone\nwait", True),
        ("for s in 1 2; do\n  {} &\n  if ((s % 2 == 0)); then wait; fi\ndone", True),
    ],
)
def test_rounds_that_each_wait_are_not_side_by_side(loop: str, is_side_by_side: bool) -> None:
    text = HEAD + loop.format(f"{RUN} --seed $s")
    found = convert(classified({"r.sh": text}), Options({}))
    assert any("side by side" in each.what for each in found.findings) == is_side_by_side
