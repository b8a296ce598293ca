"""Copies to the nodes before the run: those that stage_in makes, and those that stay steps in their order."""

import shlex

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_S = "srun --mpi=pmix --container-image=a/b:c"
_P = "srun --ntasks-per-node=1"


def _of(*lines):
    found = convert(classified({"run.sub": _HEAD + "\n".join(lines) + "\n"}), Options({}))
    return script_cases.loaded(found.job), found


def _runs(job, key):
    runs = [each["run"] for each in job.get(key, ())]
    return [run if isinstance(run, str) else shlex.join(run) for run in runs]


@pytest.mark.parametrize(
    "copy",
    [
        "rsync -a /fs/d/ /raid/d",
        "rsync -avP --info=progress2 /fs/d/. /raid/d/",
        "cp -r /fs/d/. /raid/d",
        "cp -aT /fs/d /raid/d",
        "rsync -a /fs/d/ /raid/d > /dev/null",
    ],
)
def test_a_plain_copy_of_a_folder_is_staged_and_what_makes_or_shows_its_folder_goes(copy):
    folder = (f"{_P} mkdir -p /raid /raid/d", f"{_P} ls -l /raid/d")
    job, _ = _of(folder[0], f"{_P} nvidia-smi", f"{_P} {copy}", folder[1], f"{_S} ./train")
    assert job["stage_in"] == ["/fs/d:/raid/d"]
    assert _runs(job, "setup") == ["nvidia-smi"]
    after, _ = _of(f"{_S} ./train", f"{_P} {copy}")
    assert "stage_in" not in after
    assert len(_runs(after, "after")) == 1


@pytest.mark.parametrize(
    "copy",
    [
        "cp -r /fs/d /raid/d",  # to /raid/d/d where there is a folder /raid/d
        "cp -r /fs/d /raid/",
        "rsync -a /fs/d /raid",
        "cp /fs/a.tar /raid/",
        "rsync -a --exclude=raw /fs/d/ /raid/d",
        "rsync -a --delete /fs/d/ /raid/d",
        "rsync -r /fs/d/ /raid/d",
        "cp -ru /fs/d/. /raid/d",
        "rsync -a host:/fs/d/ /raid/d",
        "rsync -a /fs/d/ /fs/e/ /raid/d",
        "rsync -a /raid/d/e/ /raid/d",
        "./copy-data.sh /fs/d /raid/d",
        "bash -c 'mkdir -p /raid/d && rsync -a /fs/d/ /raid/d && ls /raid/d'",
        "sudo rsync -a /fs/d/ /raid/d",
    ],
)
def test_a_copy_that_does_something_else_is_a_step_in_its_place(copy):
    job, found = _of(f"{_P} mkdir -p /raid/d", f"{_P} {copy}", f"{_S} ./train")
    assert "stage_in" not in job
    assert _runs(job, "setup") == ["mkdir -p /raid/d", copy]
    assert "left" not in {each.kind for each in found.findings}


@pytest.mark.parametrize(
    "step",
    [
        f"{_P} rm -rf /raid/d",
        f"{_P} rm -rf /raid/*",
        f"{_P} bash -c 'cd /raid && rm -rf *'",
        f"{_P} bash -c 'nvidia-smi > /raid/d/gpus'",
        f"{_P} ./prepare.sh",
        f"{_P} cp -r /fs/more /raid/d",
        f"{_P} touch /fs/d/used",
        f"{_P} rsync -a --delete /fs/e/ /raid/d",
        f"{_P} mkdir /raid/d",
        f"{_S} python make_data.py",
        "rm -rf /fs/d/part",
    ],
)
def test_a_copy_behind_a_step_that_may_change_either_side_is_a_step_behind_it(step):
    job, _ = _of(step, f"{_P} rsync -a /fs/d/ /raid/d", f"{_S} ./train")
    assert "stage_in" not in job
    assert _runs(job, "setup")[-1] == "rsync -a /fs/d/ /raid/d"


@pytest.mark.parametrize(
    ("step", "is_staged"),
    [
        ("rm -rf /raid/d", True),
        ("rm -rf /raid/*", True),
        ("ls /raid/d/index", True),
        ("du -s /raid", True),
        ("mkdir -p /raid/d/a /raid/other", True),
        ("cp -r /raid/d/best /fs/out", True),
        ("./prepare.sh", True),
        ("rm -rf /raid/d/*", False),  # what tells that it was copied stays there
        ("rm -rf /raid/d/part", False),
        ("bash -c 'cd / && rm -rf /raid/d/*'", False),
        ("find /raid/d -delete", False),
        ("mv /raid/d/x /raid/y", False),
        ("tar xf /fs/more.tar -C /raid/d", False),
        ("rsync -a --delete /fs/e/ /raid/d", False),
        ("python shuffle.py /raid/d", False),
    ],
)
def test_a_copy_to_a_folder_that_is_changed_later_is_made_by_each_job(step, is_staged):
    copy = f"{_P} rsync -a /fs/d/ /raid/d"
    for lines in ((copy, f"{_P} {step}", f"{_S} ./t /raid/d"), (copy, f"{_S} ./t /raid/d", f"{_P} {step}")):
        job, _ = _of(*lines)
        assert job.get("stage_in") == (["/fs/d:/raid/d"] if is_staged else None)
        assert ("rsync -a /fs/d/ /raid/d" in _runs(job, "setup")) is not is_staged
    steps = [*_runs(job, "setup"), *_runs(job, "after")]
    assert "*" in step or step in steps


def test_a_copy_in_each_trial_is_made_in_each_trial():
    lines = ("for i in 1 2 3; do", f"{_P} rsync -a /fs/d/ /raid/d", f"{_S} ./train", "done")
    job, _ = _of(*lines)
    assert "stage_in" not in job
    assert _runs(job, "before_each") == ["rsync -a /fs/d/ /raid/d"]


def test_what_rsync_would_copy_again_is_said():
    said = "a copy of stage_in that ended is not made again"
    _, by_rsync = _of(f"{_P} rsync -a /fs/d/ /raid/d", f"{_S} ./train")
    (found,) = [each for each in by_rsync.findings if said in each.why]
    assert (found.kind, found.became, found.places[0].line) == ("assumed", "stage_in.0: once", 3)
    _, by_cp = _of(f"{_P} cp -r /fs/d/. /raid/d", f"{_S} ./train")
    assert not [each for each in by_cp.findings if said in each.why]
