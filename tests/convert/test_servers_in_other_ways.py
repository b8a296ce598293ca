"""Servers in one way of an `if`, the run in another: they do not go on together; what decides is asked."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Finding

_HEAD = "#!/bin/bash\n#SBATCH -N 3 --gpus-per-node=4 -t 60\nhosts=($(scontrol show hostnames))\n"
_SERVER = "srun -N 1 -n 1 -w ${hosts[0]} python depot.py &\n"
_POOL = 'srun -N 1 -n 1 -w "${hosts[0]}" ray start --head --port=7001 --block &\npython shop.py\n'
_WIDE = "srun -N 3 --ntasks=12 --cpu-bind=none --mpi=none python forge.py\n"
_NARROW = "srun -N 1 -n 1 --mpi=none python shop.py\n"


def _questions(text: str) -> dict[str, Finding]:
    findings = convert(classified({"run.sub": _HEAD + text}), Options({})).findings
    return {each.key: each for each in findings if each.kind == "question" and each.key}


@pytest.mark.parametrize(
    "text",
    [
        f'if [ "$SHIFT" = day ]; then\n{_POOL}elif [ "$SHIFT" = night ]; then\n{_WIDE}fi\n',
        f'if [ "$SHIFT" = day ]; then\n{_SERVER}{_NARROW}else\n{_WIDE}fi\n',
        f'day() {{\n{_POOL}}}\nnight() {{\n{_WIDE}}}\nif [ "$SHIFT" = day ]; then day; else night; fi\n',
        f"case $SHIFT in\nday)\n{_POOL};;\n*)\n{_WIDE};;\nesac\n",
    ],
)
def test_a_server_in_another_way_does_not_go_on_beside_the_run(text: str) -> None:
    asked = _questions(text)
    assert set(asked) == {"command"}
    assert "SHIFT" in asked["command"].why
    assert "decides it, which is not told" in asked["command"].why
    assert "--env SHIFT=" in asked["command"].todo


def test_what_decides_is_told_too_where_servers_do_go_on_beside_the_run() -> None:
    asked = _questions(f'if [ "$SHIFT" = day ]; then\n{_SERVER}{_WIDE}else\n{_NARROW}fi\n')
    assert set(asked) == {"command", "nodes"}
    assert "runs at the same time as" in asked["command"].why
    assert '[ "$SHIFT" = day ] decides whether they do, which is not told' in asked["command"].why


def test_nothing_decides_where_the_run_has_one_way() -> None:
    asked = _questions(_SERVER + _WIDE)
    assert set(asked) == {"command", "nodes"}
    assert "decides" not in asked["command"].why


def test_a_program_whose_words_the_script_alone_knows_goes_on_beside_servers_too() -> None:
    text = "port=$(python -c 'import random; print(random.random())')\nsrun --mpi=none ./serve -p $port &\n"
    text += "mkdir -p out\npython -u ask.py out --port $port\n"
    asked = _questions(text)
    assert set(asked) >= {"command", "nodes"}
    assert "runs at the same time as python -u ask.py" in asked["command"].why
    found = convert(classified({"run.sub": _HEAD + text}), Options({}))
    assert not [each for each in found.findings if each.kind == "left" and "ask.py" in each.what]
