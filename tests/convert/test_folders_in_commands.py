"""The folder of submission in what ranks execute, from the folder in which they start: what bash finds there,
run for real."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_NAMES = ("$PWD", "$(pwd)", "$SLURM_SUBMIT_DIR")


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "lines",
    [
        "show $D/x",
        "cd run\nshow $D/x",
        "cd run\ncd deep.er\nshow $D $PWD/x",
        "cd run/deep.er; cd ..\nshow $D",
        "cd run\ncd ..\nshow $D",
        "cd run; export E=$PWD/src\nshow $D",
        "cd $SLURM_SUBMIT_DIR\nshow $D/x $PWD/y",
        "cd run; cd ${SLURM_SUBMIT_DIR:-.} || exit 1\nshow $D $PWD/y",
        'cd "$SLURM_SUBMIT_DIR"/run\nshow $D/x $PWD',
    ],
)
def test_ranks_find_what_the_script_named(name: str, lines: str, tmp_path: Path) -> None:
    Path(tmp_path, "run/deep.er").mkdir(parents=True)
    Path(tmp_path, "show").write_text('#!/bin/sh\necho "$@" "$E"\n')
    Path(tmp_path, "show").chmod(stat.S_IRWXU)
    before, _, words = lines.rpartition("show ")
    set_before = f"D={name}/d\nexport E={name}/e:$F\n{before}"
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {"PATH": path, "SLURM_SUBMIT_DIR": str(tmp_path), "PWD": str(tmp_path), "F": "f"}
    wanted = subprocess.run(
        ["bash", "-c", f"{set_before}show {words}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    script = f"{_HEAD}{set_before}srun --mpi=none show {words}\n"
    job = script_cases.loaded(convert(classified({"run.sub": script}), Options({})).job)
    start = Path(tmp_path, job.get("workdir", "."))
    of_rank = {**environment, "SLURM_SUBMIT_DIR": "/", "PWD": str(start)}
    shown = subprocess.run(
        ["sh", "-c", job["command"]],
        cwd=start,
        env=of_rank,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert shown.stdout == wanted.stdout


@pytest.mark.parametrize("name", _NAMES)
def test_from_a_folder_of_which_only_the_path_is_told_it_is_asked_for(name: str) -> None:
    script = f"{_HEAD}D={name}\ncd /scratch\nsrun --mpi=none $D/app\n"
    found = convert(classified({"run.sub": script}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ASK
    assert any("--env PWD=/FOLDER" in each.todo for each in found.findings)
    found = convert(classified({"run.sub": script}), Options({"PWD": "/home/me"}))
    assert script_cases.loaded(found.job)["command"] == ["/home/me/app"]


@pytest.mark.parametrize(
    "lines", ["umask 027", "umask 077; umask -S; umask 027", "umask u=rwx,g=rx,o=; cd $SLURM_SUBMIT_DIR"]
)
def test_ranks_make_files_as_the_script_had_it(lines: str, tmp_path: Path) -> None:
    Path(tmp_path, "app").write_text("#!/bin/sh\n: > made\n")
    Path(tmp_path, "app").chmod(stat.S_IRWXU)
    script = f"{_HEAD}{lines}\nsrun --mpi=none ./app\n"
    job = script_cases.loaded(convert(classified({"run.sub": script}), Options({})).job)
    subprocess.run(job["command"], cwd=tmp_path, umask=0, check=True, timeout=60)
    assert stat.S_IMODE(Path(tmp_path, "made").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ("#SBATCH -D /pond/duck\n./feed.sh\nsrun --mpi=none ./swim\n", "carried"),
        ("#SBATCH -D /pond/duck\ncd /pond/nest\nsrun --mpi=none ./swim\n", "replaced"),
        ("#SBATCH -D duck\nsrun --mpi=none ./swim\n", "assumed"),
        (
            "#SBATCH -D /pond\nsrun --mpi=none --container-image=a:b --container-mounts=eggs:/e ./swim\n",
            "assumed",
        ),
    ],
)
def test_the_job_file_is_taken_to_be_in_the_folder_of_sbatch_where_something_starts_from_it(
    lines: str, kind: str
) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 2 --gres=gpu:2 -t 7\n"
    found = convert(classified({"run.sub": head + lines}), Options({}))
    its = {each.kind: each.became for each in found.findings if each.what.startswith("-D ")}
    assert list(its) == [kind]
    assert ("the job file is in" in its[kind]) == (kind == "assumed")
