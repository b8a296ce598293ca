"""A loop that starts the run again until it ends well: the job starts it once, and that is said."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_WHOLE = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_IN_IMAGE = "srun --mpi=pmix --container-image=r.io/x:1 ./t"

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
_RUN = "srun --mpi=none ./t"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize(
    "lines",
    [
        f"until {_RUN}; do sleep 5; done",
        f"while ! {_RUN}; do sleep 5; done",
        f"while true; do\n{_RUN}\n[ $? -eq 0 ] && break\nsleep 5\ndone",
        f"while true; do\n{_RUN}\nrc=$?\nif [[ $rc == 0 ]]; then break; fi\ndone",
        f"while :; do\n{_RUN} && break\nsleep 5\ndone",
        f"while true; do\nif {_RUN}; then break; else sleep 5; fi\ndone",
        f"while true; do\n{_RUN}\nif [ $? -ne 0 ]; then sleep 5; else break; fi\ndone",
        f"while true; do\n{_RUN} || continue\nbreak\ndone",
        f"rc=1\nwhile [ $rc -ne 0 ]; do\n{_RUN}\nrc=$?\ndone",
        f"rc=1\nuntil [ $rc -eq 0 ]; do\n{_RUN}\nrc=$?\ndone",
        f"for i in 1 2 3; do {_RUN} && break; sleep $i; done",
        f"for i in 1 2 3; do {_RUN} && exit 0; done\nexit 1",
        f"n=0\nuntil {_RUN}; do\nn=$((n+1))\nif [ $n -ge 5 ]; then exit 1; fi\ndone",
    ],
)
def test_a_run_that_is_tried_again_is_started_once(lines: str) -> None:
    found = _converted(lines)
    job = loaded(found.job)
    assert job["command"] == ["./t"]
    assert "trials" not in job
    (left,) = (each for each in found.findings if each.kind == "left")
    assert "again" in left.what
    assert "requeue" in left.todo
    assert ASK not in job.values()


@pytest.mark.parametrize(
    "lines",
    [
        f"while {_RUN}; do sleep 5; done",
        f"while true; do\n{_RUN}\n[ -f stop ] && break\ndone",
        f"while true; do\n[ -f done ] && break\n{_RUN} && break\ndone",
        f"i=0\nwhile true; do\n{_RUN} --try $i && break\ni=$((i+1))\ndone",
        f"for i in 1 2 3; do {_RUN} --try $i && break; done",
        f"for i in 1 2 3; do\n{_RUN}\n[ $? -ne 0 ] && break\ndone",
        f"for i in 1 2 3; do {_RUN}; done",
    ],
)
def test_a_loop_that_goes_on_after_a_run_that_did_well_is_no_retry(lines: str) -> None:
    assert not [each for each in _converted(lines).findings if "again until it ends well" in each.what]


def test_a_loop_that_only_a_good_run_ends_has_no_status_that_is_lost() -> None:
    lost = "its exit status is that of this command"
    endless = _converted(f"while true; do\n{_RUN} && break\nsleep 5\ndone").findings
    few = _converted(f"for i in 1 2 3; do\n{_RUN} && break\nsleep 5\ndone").findings
    assert [any(lost in each.why for each in found) for found in (endless, few)] == [False, True]


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        (f"{_IN_IMAGE} || rvs=$((rvs+$?))", True),
        (f"{_IN_IMAGE} || echo failed", True),
        (f"{_IN_IMAGE} && echo good", True),
        (_IN_IMAGE, False),
        (f"{_IN_IMAGE} || exit 1", False),
        (f"{_IN_IMAGE}; rvs=$((rvs+$?))", False),
    ],
)
def test_with_set_e_a_loop_goes_on_where_a_list_asks_for_the_status(line: str, goes_on: bool) -> None:
    job, _ = _of_run(f"{_WHOLE}set -e\nrvs=0\nfor i in 1 2 3; do\n  {line}\ndone\nexit $rvs\n")
    assert job["trials"].get("keep_going", "false") == ("true" if goes_on else "false")
