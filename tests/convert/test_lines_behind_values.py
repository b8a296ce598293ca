"""The lines behind a value: with another number on one of them, and on no other, the value is another one."""

from typing import Any

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SLURM = """\
#!/bin/bash
#SBATCH -J same -t 10
NODES=4
RANKS=4
GPUS="4"
PER_RANK=4
OTHER=4
BY_WAY="$RANKS"
srun -N$NODES --ntasks-per-node="$BY_WAY" --gpus-per-node ${GPUS} --cpus-per-task=$PER_RANK --mpi=none \\
  --container-image=a/b:1 ./train $OTHER
"""
_DOCKER = """\
#!/bin/bash
#SBATCH -J same -N 2 -t 10
GPUS=14
RATE=14
SIZE=14
PARTS=(-e "LR=$RATE" -e "SIZE=$SIZE")
docker run --gpus all "${PARTS[@]}" a/b:1 mpirun -np $GPUS ./train
"""
_CASES = {
    "srun's options": (_SLURM, range(3, 8), ("nodes", "ranks_per_node", "gpus_per_node", "command")),
    "docker's variables": (_DOCKER, range(3, 6), ("env.SIZE",)),
}


def _facts(text: str) -> dict[str, tuple[str, set[int]]]:
    """What became of each key, and the lines behind it."""
    found = convert(classified({"run.sub": text}), Options({})).findings
    told: dict[str, Any] = {}
    for each in found:
        if each.kind == "carried" and each.key:
            told[each.key] = (each.became, {place.line for place in each.places})
    return told


@pytest.mark.parametrize("name", _CASES)
def test_the_lines_behind_a_value_are_those_that_change_it(name: str) -> None:
    text, lines, keys = _CASES[name]
    before = _facts(text)
    for number in lines:
        changed = text.splitlines()
        changed[number - 1] = changed[number - 1].replace("4", "6")
        after = _facts("\n".join(changed) + "\n")
        for key in keys:
            value, places = before[key]
            assert (number in places) == (after[key][0] != value), (number, key)


def test_a_value_of_the_only_round_of_a_loop_has_the_lines_of_the_list() -> None:
    text = 'IMAGES=(lab/t:1)\nOTHERS=(x)\nfor each in "${IMAGES[@]}"; do\n  docker run $each\ndone\n'
    found = convert(classified({"go.sh": text}), Options({}))
    image = next(each for each in found.launch if each.name == "image")
    assert (image.told, {each.line for each in image.places}) == ("lab/t:1", {1, 3, 4})
    unused = [each.what for each in found.findings if each.why == "nothing that is launched uses it"]
    assert unused == ["OTHERS=(x)"]
