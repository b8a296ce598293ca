"""Odds of launchers that a job had wrong once, or of which a report said nothing."""

import subprocess
from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.report.conversion import markdown, text
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_RUN = "srun --mpi=pmix --container-image=r.io/x:1 ./t"


def _of(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        (f"{_RUN} || rvs=$((rvs+$?))", True),
        (f"{_RUN} || echo failed", True),
        (f"{_RUN} && echo good", True),
        (_RUN, False),
        (f"{_RUN} || exit 1", False),
        (f"{_RUN}; rvs=$((rvs+$?))", False),
    ],
)
def test_with_set_e_a_loop_goes_on_where_a_list_asks_for_the_status(line: str, goes_on: bool) -> None:
    job, _ = _of(f"{_HEAD}set -e\nrvs=0\nfor i in 1 2 3; do\n  {line}\ndone\nexit $rvs\n")
    assert job["trials"].get("keep_going", "false") == ("true" if goes_on else "false")


@pytest.mark.parametrize("start", ["docker run --rm", "srun -N 2 -n 2 docker run --rm"])
def test_caches_that_a_container_drops_are_dropped_by_a_step_on_the_host(start: str) -> None:
    drop = f'{start} --privileged r.io/x:1 bash -c "sync; echo 3 > /proc/sys/vm/drop_caches"'
    keep = "srun -N 2 -n 2 docker run -d --rm --name c r.io/x:1 sleep infinity"
    run = "docker exec c mpirun -np 16 -H a:8,b:8 ./t"
    job, _ = _of(f"#!/bin/bash\n#SBATCH -N 2 -t 10\n{keep}\nfor i in 1 2 3; do\n  {drop}\n  {run}\ndone\n")
    (step,) = job["before_each"]
    assert ("drop_caches" in step["run"], step["where"], step["per"]) == (True, "host", "node")


def test_the_job_files_own_word_for_a_trial_is_not_to_be_filled_in() -> None:
    job, found = _of(f"{_HEAD}for i in 1 2 3; do\n  {_RUN} |& tee log-$i.txt\ndone\n")
    assert job["trials"]["log"] == "log-{trial}.txt"
    assert not [each for each in found.findings if "fill in" in each.why]


@pytest.mark.parametrize("option", ["-port 9969", "--some-thing 12", "-some=5"])
def test_a_number_behind_an_option_that_nobody_knows_is_no_program(option: str) -> None:
    job, _ = _of(f"#!/bin/bash\nmpirun {option} -np 16 -H h0:8,h1:8 -bind-to none -x A=1 python t.py\n")
    assert (job["command"], job["nodes"], job["ranks_per_node"]) == (["python", "t.py"], "2", "8")
    assert (job["env"], job["bind"]["cpus"]) == ({"A": "1"}, "none")


@pytest.mark.parametrize("mount", ["/a:/__PATH__", "__CLAIM__:/data"])
def test_a_part_of_a_mount_that_nobody_filled_in_is_asked_for(mount: str) -> None:
    job, _ = _of(f"{_HEAD}{_RUN.replace(' ./t', '')} --container-mounts={mount} ./t\n")
    assert job["mounts"] == [ASK]


def test_a_limit_made_of_a_default_that_stands_behind_it_is_said_to_be() -> None:
    files = {
        "run.sub": f'{_HEAD.replace(" -t 60", "")}: "${{NEXP:=5}}"\nfor i in $(seq $NEXP); do {_RUN}; done\n',
        "config.sh": "export DGXNNODES=2 WALLTIME=$(( NEXP * 8 + 10 ))\n",
    }
    for given, said in (({}, ["5"]), ({"NEXP": "5"}, [])):
        found = convert(classified(files), Options(given))
        assert loaded(found.job)["time"] == "00:50:00"
        own = (each for each in found.findings if each.what == "NEXP" and "before the script" in each.why)
        assert [each.became for each in own] == said


def test_what_is_said_of_carried_values_stands_in_the_texts_too() -> None:
    _, found = _of(f"{_HEAD}export MASTER_ADDR=$(hostname)\nsrun --mpi=none ./t\n")
    (why,) = (each.why for each in found.findings if each.key == "rendezvous")
    assert " ".join(text(found).split()).count(why) == 1
    assert why in markdown(found).replace("\\", "")


def test_all_that_a_configuration_exports_is_handed_on_however_its_names_become_options() -> None:
    asks = "mapfile -t E < <(env -i bash -c '. config.sh && compgen -e' | grep -E -v '^(PWD|SHLVL)')"
    keep = "srun -N 2 -n 2 docker run -d --rm --name c r.io/x:1 sleep infinity"
    run = 'docker exec "${E[@]/#/--env=}" c mpirun -np 16 -H a:8,b:8 ./t'
    files = {
        "run.sub": f"#!/bin/bash\n#SBATCH -N 2 -t 10\nsource config.sh\n{asks}\n{keep}\n{run}\n",
        "config.sh": "export LR=1 BS=2\n",
    }
    found = convert(classified(files), Options({}))
    assert loaded(found.job)["env"] == {"LR": "1", "BS": "2"}
    assert not [each for each in found.findings if "never reached" in each.why]


def test_a_tilde_behind_a_colon_of_an_assignment_is_the_home_folder() -> None:
    given = "E=a:~/x F=~/y:~/z G='q:~/x' H=c:~:d"
    job, _ = _of(f"{_HEAD}export {given}\nI=x:~/i srun --mpi=none ./t\n")
    line = " ".join(f'{name}="${name}"' for name in "EFGH")
    said = subprocess.run(
        ["bash", "-c", f"{given}; echo {line}"],
        env={"HOME": "/H"},
        capture_output=True,
        text=True,
        check=True,
    )
    command = job["command"]
    script = command if isinstance(command, str) else command[-1]
    script = script.replace("exec ./t", f"echo {line} I=$I")
    env = {"HOME": "/H", "PATH": "/usr/bin:/bin", **job.get("env", {})}
    ran = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == said.stdout.rstrip("\n") + " I=x:/H/i\n"


@pytest.mark.parametrize("own", ["", "--container-mounts=/e:/e"])
def test_mounts_of_the_scripts_own_container_are_asked_for_where_srun_has_none(own: str) -> None:
    head = f"{_HEAD}#SBATCH --container-mounts=/d:/d\n#SBATCH --container-workdir=/d\n"
    job, found = _of(f"{head}srun --mpi=pmix --container-image=r.io/x:1 {own} ./t\n")
    assert job["mounts"] == (["/e:/e"] if own else [ASK])
    assert any(each.kind == "left" and "--container-workdir" in each.what for each in found.findings)


@pytest.mark.parametrize(
    ("run", "keeps"),
    [("torchrun --nproc_per_node=8 --nnodes=2 t.py", False), ("--ntasks=16 python t.py", True)],
)
def test_what_a_launcher_gives_each_process_is_not_what_the_script_exports(run: str, keeps: bool) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=8 -t 60\n"
    job, _ = _of(f"{head}export WORLD_SIZE=$SLURM_NNODES\nsrun --mpi=none {run}\n")
    assert ("WORLD_SIZE" in job.get("env", {})) == keeps


@pytest.mark.parametrize("given", [False, True])
def test_a_script_in_an_image_that_nobody_gave_may_start_ranks(given: bool) -> None:
    keep = "docker run --rm --init --detach --gpus all --name=c a/b:1 sleep infinity"
    files = {"run.sh": f"#!/bin/bash\n{keep}\ndocker exec -it c ./go.sh\n"}
    files |= {"go.sh": "#!/bin/bash\npython train.py\n"} if given else {}
    found = convert(classified(files), Options({}))
    assert not found.job
    assert any("starts ranks itself" in each.what for each in found.findings) != given


def test_a_world_of_a_pod_that_its_ranks_are_not_is_told_in_the_report() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: ubuntu, "
    pod += 'command: [python, t.py], env: [{name: WORLD_SIZE, value: "8"}]}]}\n'
    assert "(WORLD_SIZE was 8)" in text(convert(classified({"a.yaml": pod}), Options({})))


def test_what_a_script_makes_and_exports_without_a_known_run_is_left() -> None:
    _, found = _of(f"{_HEAD}export A=$(./made) B=1\n$RUN\n")
    assert any(each.kind == "left" and each.what.startswith("A") for each in found.findings)
