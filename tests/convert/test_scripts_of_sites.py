"""What people of computing centres write around their ranks, construct by construct."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -c 8 -t 60\n"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


def _job(found: Conversion) -> dict[str, Any]:
    return loaded(found.job)


@pytest.mark.parametrize("name", ["select_gpu", "./wrap.sh", "gpus_$SLURM_JOB_ID"])
@pytest.mark.parametrize(
    ("value", "is_asked"), [("\\$SLURM_LOCALID", False), ("\\$((3-SLURM_LOCALID))", True), ("0", True)]
)
def test_a_script_that_the_launcher_writes_for_its_ranks_is_written_by_the_job(
    name: str, value: str, is_asked: bool, tmp_path: Path
) -> None:
    text = f"#!/bin/bash\nexport ROCR_VISIBLE_DEVICES={value}\nexec \\$*\n"
    write = f"cat << EOF > {name}\n{text}EOF\n"
    found = _converted(f"{write}chmod +x {name}\nsrun --mpi=none ./{name} ./t")
    job = _job(found)
    run = [each["run"] for each in job["setup"] if each["per"] == "job"]
    environment = {"SLURM_JOB_ID": "7", "PATH": "/usr/bin:/bin"}
    for each, shell in ((write, "bash"), (run[0], "sh")):
        where = tmp_path / shell
        where.mkdir()
        subprocess.run([shell, "-c", each], cwd=where, env=environment, check=True)
    written = {each.name: each.read_text() for each in (tmp_path / "bash").iterdir()}
    assert written == {each.name: each.read_text() for each in (tmp_path / "sh").iterdir()}
    assert len(written) == 1
    asked = [each for each in found.findings if each.kind == "question" and "VISIBLE" in each.what]
    assert bool(asked) == is_asked


def test_addresses_that_no_line_tells_are_those_of_the_job() -> None:
    found = _converted('srun --mpi=none bash -c "./t $MASTER_ADDR:6000"')
    assert _job(found)["rendezvous"] == "torch"
    assert [each.what for each in found.findings if each.kind == "assumed"] == ["MASTER_ADDR in the command"]
    assert "rendezvous" not in _job(_converted("srun --mpi=none ./t"))


@pytest.mark.parametrize(
    ("words", "bind"),
    [
        (
            "--cpu-bind list:0-7:8-15:16-23:24-31",
            {"cpus": ["0-7", "8-15", "16-23", "24-31"], "memory": "none"},
        ),
        ("--cpu-bind=none", {"cpus": "none", "memory": "none"}),
        # The word that makes it print what it binds.
        ("--cpu-bind v,list:0:1:2:3", {"cpus": ["0", "1", "2", "3"], "memory": "none"}),
        ("--cpu-bind=verbose,none", {"cpus": "none", "memory": "none"}),
        ("--cpu-bind depth", {}),
        ("--cpu-bind list:0:1", {"cpus": ASK}),
    ],
)
def test_mpiexec_of_pals(words: str, bind: dict[str, object]) -> None:
    job = _job(_converted(f"mpiexec -n 8 --ppn 4 --depth=8 {words} --env A=1 ./t"))
    assert (job["command"], job["ranks_per_node"], job.get("bind", {})) == (["./t"], "4", bind)
    assert job["env"] == {"A": "1"}


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH --environment=x.toml\nsrun",
        "srun --environment=/x.toml",
        "#SBATCH --container /b/x\nsrun",
        "srun --container=/b/x",
    ],
)
def test_an_image_that_a_file_of_the_site_names_is_asked_for(lines: str) -> None:
    assert _job(_converted(f"{lines} --mpi=none ./t"))["image"] == ASK


@pytest.mark.parametrize(
    ("directive", "option"), [("#SBATCH --environment=e\n", ""), ("", "--environment=/e.toml")]
)
def test_options_of_the_container_beside_a_file_of_the_site_are_carried(directive: str, option: str) -> None:
    words = "--container-mounts=/a:/b,$DATA:/d --container-workdir=/w --no-container-mount-home"
    job = _job(_converted(f"{directive}cd /host\nsrun {option} --mpi=none {words} ./t"))
    assert (job["mounts"], job["workdir"]) == (["/a:/b", ASK], "/w")
    assert job["container"] == {"mount_home": "false"}


def test_of_a_refused_launcher_each_option_of_slurm_is_told_once() -> None:
    found = _converted("srun shifter --image=a/b:1 ./t")
    assert found.refused
    its = [(each.kind, each.became) for each in found.findings if each.what in ("-t 60", "-N 2")]
    assert its == [("carried", "nodes: 2"), ("carried", "time: 01:00:00")]
    assert not [each for each in found.findings if each.why == "an option of Slurm"]


_SHIFTER = "#SBATCH --image=docker:a/b:1\n#SBATCH --volume=/d:/data;/x:/y\n#SBATCH --module=gpu\n"


@pytest.mark.parametrize(
    ("lines", "became"),
    [
        (f"{_SHIFTER}srun shifter ./t", ["image: a/b:1", "mounts.0: /d:/data", "mounts.1: /x:/y"]),
        ("cd /w\nsrun apptainer exec -B data:/data,/x:/y a.sif ./t",
         ["mounts.0: /w/data:/data", "mounts.1: /x:/y"]),
        ("srun apptainer exec --workdir /s -B data:/d:ro,../x:/x a.sif ./t",
         ["mounts.0: ./data:/d:ro", "mounts.1: ../x:/x"]),
        ("singularity exec --nv -B /d:/d,/e:/f:ro a.sif mpirun -np 16 ./t",
         ["mounts.0: /d:/d", "mounts.1: /e:/f:ro"]),
    ],
)  # fmt: skip
def test_of_a_refused_container_the_image_and_the_mounts_are_told(lines: str, became: list[str]) -> None:
    found = _converted(lines)
    assert found.refused
    told = [each.became for each in found.findings if each.key.startswith(("image", "mounts", "workdir"))]
    assert told == became
    assert not [each for each in found.findings if each.kind == "unread"]


def test_an_option_of_shifters_is_known_where_nothing_is_started_by_it() -> None:
    found = _converted(f"{_SHIFTER}srun --mpi=none ./t")
    assert "image" not in _job(found)
    its = [each for each in found.findings if "Shifter" in each.why]
    assert [(each.kind, each.what.partition("=")[0]) for each in its] == [
        ("left", "--image"),
        ("left", "--volume"),
        ("left", "--module"),
    ]


def test_what_sbatch_sets_itself_is_no_variable_of_the_script() -> None:
    found = _converted("srun --mpi=none ./t -n $SLURM_CPUS_PER_TASK")
    assert _job(found)["command"] == ["./t", "-n", "8"]
    assert not [each for each in found.findings if each.what == "SLURM_CPUS_PER_TASK"]


def test_a_variable_that_the_command_exports_is_not_asked_for_beside() -> None:
    found = _converted("export LD_LIBRARY_PATH=/opt/x:$LD_LIBRARY_PATH\nmpirun -np 8 -x LD_LIBRARY_PATH ./t")
    job = _job(found)
    assert job["command"] == 'export LD_LIBRARY_PATH=/opt/x:"$LD_LIBRARY_PATH"; exec ./t'
    assert "env" not in job
    assert found.is_complete


def _of(*lines: str) -> Conversion:
    text = "\n".join(("#!/bin/bash", "#SBATCH -t 5", "#SBATCH --gpus-per-node=8", *lines, ""))
    return convert(classified({"run.sh": text}), Options({}))


@pytest.mark.parametrize(
    ("before", "sizes", "ranks"),
    [
        ("", "-N $SLURM_JOB_NUM_NODES -n $((SLURM_JOB_NUM_NODES * 4))", "4"),
        ("", "-n $((SLURM_NNODES * 4))", "4"),
        ("", "-N $NODES -n $((4 * NODES))", "4"),
        ("N=$SLURM_NNODES; ALL=$((N * 4))", "-N $N -n $ALL", "4"),
        ("", "-n $((SLURM_NNODES * 4 + 1))", ASK),
        ("", "-N $NODES -n $((4 * OTHERS))", ASK),
    ],
)
def test_ranks_of_so_many_nodes_as_there_are_are_told_on_each_of_them(before, sizes, ranks):
    found = _of(before, f"srun --mpi=none --container-image=a/b:1 {sizes} ./t")
    job = _job(found)
    assert (job["nodes"], job["ranks_per_node"]) == (ASK, ranks)


def test_a_file_of_the_container_engine_is_told_where_the_image_is_asked_of_an_option():
    found = _of("srun -N2 --mpi=none --environment=/e/x.toml --container-image=$IMAGE ./t")
    asked = [each.what for each in found.findings if (each.kind, each.key) == ("question", "image")]
    assert asked == ["IMAGE"]
    assert "--environment=/e/x.toml" in [each.what for each in found.findings if each.kind == "left"]


def test_a_mount_that_ends_in_key_hides_no_variable():
    found = _of("srun -N2 --mpi=none --container-image=a/b:1 --container-mounts=$FOLDER/.api-key ./t")
    assert "FOLDER is not told" in found.job


def test_no_gpus_for_a_task_are_not_all_of_them():
    found = _of("srun -N2 --mpi=none --container-image=a/b:1 --gpus-per-task=0 ./t")
    whys = [each.why for each in found.findings if each.what == "--gpus-per-task=0"]
    assert whys
    assert not any("visible" in why for why in whys)


_IN_A_CONTAINER = (
    "#SBATCH --container-image=reg.example.org/team/tool:1 --container-mounts=/sc:/sc",
    "#SBATCH --container-writable",
    "mkdir -p /sc/out",
    "cd /sc/tool",
    "which poetry",
)


def test_all_of_a_script_that_sbatch_puts_into_a_container_is_there():
    found = _of(*_IN_A_CONTAINER, "python get.py > got", "python fit.py --in got")
    job = _job(found)
    assert job["image"] == "reg.example.org/team/tool:1"
    assert job["setup"][0] == {"run": ["mkdir", "-p", "/sc/out"], "per": "job"}
    assert all("where" not in each for each in job["setup"])
    assert "get.py" in str(job["setup"])


def test_the_one_command_of_such_a_script_is_its_run():
    job = _job(_of(*_IN_A_CONTAINER, "poetry run fit"))
    assert "poetry run fit" in str(job["command"])
    assert (job["mounts"], job["container"]) == (["/sc:/sc"], {"writable": "true"})


def test_such_a_script_with_several_commands_keeps_its_container_and_is_asked_for_its_run():
    found = _of(*_IN_A_CONTAINER, "gmx convert -o b", "gmx run -i b")
    job = _job(found)
    assert (job["command"], job["image"]) == (ASK, "reg.example.org/team/tool:1")
    assert job["mounts"] == ["/sc:/sc"]
    why = next(each.why for each in found.findings if each.key == "command")
    assert "gmx convert -o b; gmx run -i b" in why


@pytest.mark.parametrize(
    "before",
    [
        'TOKEN="${TOKEN:-}"\nif [ -z "$TOKEN" ]; then echo none; exit 1; fi',
        'TOKEN="${TOKEN:-${OTHER:-}}"\n[ -n "$TOKEN" ] || exit 1',
        "NAME=${TOKEN:-}\n[[ -z $NAME ]] && { echo none; exit 2; }",
    ],
)
def test_who_ends_where_nobody_gave_a_variable_was_given_it(before):
    found = _of("MODE=${MODE:-}", before, 'srun -N2 --mpi=none ./t ${NAME:-$TOKEN} "$MODE"')
    job = _job(found)
    assert job["secrets"] == ["TOKEN"]
    assert "./t" in job["command"]
    assert [each.what for each in found.findings if each.kind == "assumed"].count("MODE") == 1


def test_what_goes_before_the_images_variables_is_told_where_it_is_not_known():
    found = _of(
        "NAMES=$(sed s/x/y/ names)", "srun -N2 --mpi=none --container-image=a/b:1 --container-env=$NAMES ./t"
    )
    told = [each.kind for each in found.findings if "--container-env" in each.what]
    assert told == ["question"]


def test_the_order_of_nodes_that_a_file_has_is_left_and_not_said_to_be_in_the_job():
    found = _of("export SLURM_HOSTFILE=/var/tmp/sorted", "srun -N2 --mpi=none ./t")
    (told,) = [each for each in found.findings if "SLURM_HOSTFILE" in each.what]
    assert told.kind == "left"
    assert "as many" in told.why
    assert "ranks_per_node" in told.todo


def test_one_gpu_of_a_job_is_on_one_node():
    job = _job(
        convert(
            classified({"r.sh": "#!/bin/bash\n#SBATCH --gpus=1 -t 5\nsrun --mpi=none ./t\n"}), Options({})
        )
    )
    assert job["gpus_per_node"] == "1"
    assert (job["nodes"], job["ranks_per_node"]) == ("1", "1")
    job = _job(
        convert(
            classified({"r.sh": "#!/bin/bash\n#SBATCH --gpus=2 -t 5\nsrun --mpi=none ./t\n"}), Options({})
        )
    )
    assert job["gpus_per_node"] == ASK
    assert job["nodes"] == ASK


def test_gpus_that_are_asked_for_twice_are_told_once_and_the_other_line_is_no_loss():
    found = _of("#SBATCH --gres=gpu:8", "srun -N2 --mpi=none ./t")
    assert _job(found)["gpus_per_node"] == "8"
    kinds = {
        each.what: each.kind for each in found.findings if "gpu:8" in each.what or "per-node=8" in each.what
    }
    assert kinds == {"--gres=gpu:8": "carried", "--gpus-per-node=8": "replaced"}


@pytest.mark.parametrize("option", ["--environment /x/my.toml", "--environment=/x/my.toml", "--uenv a/b:c"])
def test_an_option_of_a_sites_plugin_is_not_the_program(option: str) -> None:
    job = _job(_converted(f"srun --mpi=none {option} --export=ALL,A=1 ./t"))
    assert (job["command"], job["env"], job["ranks_per_node"]) == (["./t"], {"A": "1"}, "4")
