"""Constructs of MLPerf's launchers that no script of tests/convert/scripts has, one by one: what of the job
each one becomes. Written for the tests, with the constructs alone."""

from typing import Any

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion, Finding, Place

_PYXIS = """\
#!/bin/bash
#SBATCH --job-name game --nodes=2 --time=30
set -euo pipefail
{before}
srun --ntasks=2 --container-image=img/x:1 --container-name=c true
{between}
srun --mpi={mpi} --ntasks="$(( SLURM_JOB_NUM_NODES * RANKS ))" --ntasks-per-node="$RANKS" \\
  --container-name=c {command}
{after}
"""


def pyxis(
    before: str = "", between: str = "", after: str = "", command: str = "./run.sh", mpi: str = "pmix"
) -> str:
    return _PYXIS.format(before=before, between=between, after=after, command=command, mpi=mpi)


def _converted(script: str, config: str = "export DGXNGPU=8\nexport RANKS=8\n", **env: str) -> Conversion:
    return convert(classified({"run.sub": script, "config.sh": config}), Options(env))


def _job(found: Conversion) -> dict[str, Any]:
    return script_cases.loaded(found.job)


def _said(found: Conversion, line: int, file: str = "run.sub") -> list[Finding]:
    """The findings about a line."""

    def has_it(place: Place) -> bool:
        return place.file == file and place.line <= line <= max(place.last, place.line)

    return [each for each in found.findings if any(map(has_it, each.places))]


def _one(found: Conversion, line: int, file: str = "run.sub") -> Finding:
    """The one finding about a line."""
    (finding,) = _said(found, line, file)
    return finding


def test_ranks_that_are_counted_33_on_a_node() -> None:
    config = "export DGXNGPU=8\nexport PROCS_PER_GPU=4\n"
    before = "RANKS=$(( DGXNGPU * PROCS_PER_GPU + 1 ))"
    job = _job(_converted(pyxis(before), config))
    assert (job["nodes"], job["ranks_per_node"], job["gpus_per_node"]) == ("2", "33", "8")


@pytest.mark.parametrize("mpi", ["pmix", "none", "pmi2"])
def test_the_family_of_mpi(mpi: str) -> None:
    assert _job(_converted(pyxis(mpi=mpi)))["mpi"] == mpi


def test_a_plugin_of_pmix_by_version_is_pmix() -> None:
    assert _job(_converted(pyxis(mpi="pmix_v3")))["mpi"] == "pmix"


@pytest.mark.parametrize(("given", "mpi"), [({}, "pmix"), ({"SLURM_MPI_TYPE": "pmi2"}, "pmi2")])
def test_the_family_of_mpi_that_the_operator_may_tell_srun(given: dict[str, str], mpi: str) -> None:
    assert _job(_converted(pyxis(mpi='"${SLURM_MPI_TYPE:-pmix}"'), **given))["mpi"] == mpi


def test_no_mpi_is_asked_for() -> None:
    script = pyxis().replace("--mpi=pmix ", "")
    assert _job(_converted(script))["mpi"] == ASK


def test_a_test_of_nccl_runs_as_the_ranks_do() -> None:
    step = "srun --mpi=pmix --ntasks=16 --ntasks-per-node=8 --container-name=c "
    step += "all_reduce_perf_mpi -b 128K -e 64M -f 2 -d half"
    (setup,) = _job(_converted(pyxis(between=step)))["setup"]
    assert setup["run"] == ["all_reduce_perf_mpi", "-b", "128K", "-e", "64M", "-f", "2", "-d", "half"]
    assert setup["per"] == "rank"
    assert setup.get("where", "container") == "container"


def test_a_test_of_nccl_is_the_job_where_all_else_looks_at_the_nodes() -> None:
    """A check in a shell is no program that is known to prepare, nor one that trains."""
    check = "bash -c 'nvidia-smi -L | wc -l | grep -q 8 || exit 1'"
    between = f"srun --ntasks=2 --ntasks-per-node=1 {check}\nsrun --ntasks-per-node=1 dcgmi diag -r 1"
    script = pyxis(between=between).replace("./run.sh", "./all_reduce_perf -g 1")
    job = _job(_converted(script))
    assert job["command"][-3:] == ["./all_reduce_perf", "-g", "1"]
    assert [step["run"][0] for step in job["setup"]] == ["bash", "dcgmi"]


def test_a_test_of_nccl_that_is_switched_off_is_none() -> None:
    step = "if [[ ${RUN_NCCL_TEST:-0} -eq 1 ]]; then srun --container-name=c all_reduce_perf_mpi; fi"
    assert "setup" not in _job(_converted(pyxis(between=step)))


def test_a_copy_of_the_data_is_staged_where_it_is_asked_for() -> None:
    before = (
        'if [ ! -z "${COPY_DATASET:-}" ]; then\n'
        "  srun --ntasks-per-node=1 mkdir -p /raid/data\n"
        '  srun --ntasks-per-node=1 rsync -a "$COPY_DATASET/" /raid/data\n'
        "fi"
    )
    without = _job(_converted(pyxis(before)))
    assert "setup" not in without
    assert "stage_in" not in without
    found = _converted(pyxis(before), COPY_DATASET="/lustre/set")
    job = _job(found)
    assert job["stage_in"] == ["/lustre/set:/raid/data"]
    assert "setup" not in job
    assert [each.kind for each in _said(found, 5)] == ["replaced"]
    assert [(each.kind, each.key) for each in _said(found, 6)] == [
        ("carried", "stage_in.0"),
        ("assumed", ""),  # rsync would copy again what has changed
    ]


def test_what_the_host_says_of_itself_is_left_and_said() -> None:
    before = (
        "MLPERF_HOST_OS=$(srun -N1 -n1 bash <<EOF\n"
        "source /etc/os-release\necho $PRETTY_NAME\nEOF\n)\nexport MLPERF_HOST_OS"
    )
    found = _converted(pyxis(before))
    assert "MLPERF_HOST_OS" not in _job(found).get("env", {})
    said = _said(found, 4)
    assert {each.kind for each in said} == {"left"}
    assert any(each.todo == "write env.MLPERF_HOST_OS in the job file if the ranks need it" for each in said)


@pytest.mark.parametrize(
    ("option", "kind", "words"),
    [
        ("--threads-per-core=2", "replaced", "node type"),
        ("--cores-per-socket=20", "replaced", "node type"),
        ("--overcommit", "replaced", "node type"),
        ("--mail-type=FAIL", "left", "names nobody"),
    ],
)
def test_what_becomes_of_an_option_of_the_batch(option: str, kind: str, words: str) -> None:
    script = pyxis().replace("set -euo", f"#SBATCH {option}\nset -euo")
    found = _converted(script)
    said = _one(found, 3)
    assert (said.kind, said.what) == (kind, option)
    assert words in said.why
    assert _job(found) == _job(_converted(pyxis()))


@pytest.mark.parametrize(
    ("types", "kind", "words"),
    [
        ("END,FAIL", "replaced", "asks for END and FAIL"),
        ("fail", "replaced", "not for FAIL alone"),
        ("ALL", "left", "ALL is more"),
        ("BEGIN,END,FAIL", "left", "BEGIN is more"),
        ("NONE", "left", "asks for END and FAIL"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_what_mail_is_about_is_told_in_any_order(types: str, kind: str, words: str, turned: bool) -> None:
    lines = ["#SBATCH --mail-user=a@b.example", f"#SBATCH --mail-type={types}"]
    script = pyxis().replace("set -euo", "\n".join([*(reversed(lines) if turned else lines), "set -euo"]))
    said = [each for each in _converted(script).findings if "mail-type" in each.what]
    assert [each.kind for each in said] == [kind]
    assert words in said[0].why


def test_mail_for_somebody_who_is_to_be_filled_in_is_not_for_who_submits() -> None:
    lines = ("#SBATCH --mail-type=END,FAIL", "#SBATCH --mail-user=<LOGIN>@a.example")
    script = pyxis().replace("set -euo", "\n".join([*lines, "set -euo"]))
    said = [each for each in _converted(script).findings if each.what.startswith("--mail")]
    assert sorted((each.kind, each.what[:11]) for each in said) == [
        ("question", "--mail-user"),
        ("replaced", "--mail-type"),
    ]


def test_each_line_about_mail_counts() -> None:
    lines = ("#SBATCH --mail-type=BEGIN", "#SBATCH --mail-user=a@b.example", "#SBATCH --mail-type=END")
    script = pyxis().replace("set -euo", "\n".join([*lines, "set -euo"]))
    said = {each.what: each.kind for each in _converted(script).findings if "mail-type" in each.what}
    assert said == {"--mail-type=BEGIN": "left", "--mail-type=END": "replaced"}


@pytest.mark.parametrize("limit", ["00:70:00", "70", "1:10:00", "0-1:10"])
def test_each_form_of_the_time_is_the_same_limit(limit: str) -> None:
    from hpclaunch.spec.read import parse_job

    script = pyxis().replace("--time=30", f"--time={limit}")
    assert parse_job(_converted(script).job, "job.yaml", "/").value.time == 70


@pytest.mark.parametrize(
    ("of_job", "of_run", "kind", "time"),
    [
        ("", "30", "question", ASK),
        ("", "$STEP_LIMIT", "question", ASK),
        ("--time=20", "30", "replaced", "00:20:00"),
        ("--time=20", "UNLIMITED", "replaced", "00:20:00"),
        ("--time=60", "0:30:00", "left", "01:00:00"),
        ("--time=60", "$STEP_LIMIT", "left", "01:00:00"),
        ("--time=UNLIMITED", "30", "left", "UNLIMITED"),
    ],
)
def test_the_limit_of_one_run_is_not_taken_for_the_jobs(
    of_job: str, of_run: str, kind: str, time: str
) -> None:
    script = pyxis().replace("--time=30", of_job).replace("--mpi=pmix", f"--mpi=pmix --time={of_run}")
    found = _converted(script)
    assert _job(found)["time"] == time
    said = [each for each in found.findings if each.what.startswith("--time=") and each.key != "time"]
    said += [each for each in found.findings if each.kind == "question" and each.key == "time"]
    assert [each.kind for each in said] == [kind]
    assert not any("no line gives a time limit" in each.what for each in found.findings)


def test_memory_bound_to_the_nodes_beside_the_gpus() -> None:
    found = _converted(pyxis(command="numactl --membind=1,3,5,7 ./run.sh"))
    job = _job(found)
    assert job["command"] == ["./run.sh"]
    assert job["bind"] == {"memory": ["1,3,5,7"] * 8}
    (said,) = (each for each in found.findings if each.key == "bind.memory")
    assert (said.kind, said.what) == ("carried", "numactl --membind=1,3,5,7")


def test_a_second_program_after_the_run_is_a_step_after_it() -> None:
    after = "srun --ntasks=2 --container-name=c ./run_eval.sh"
    found = _converted(pyxis(after=after))
    job = _job(found)
    assert job["command"] == ["./run.sh"]
    assert job["after"] == [{"run": ["./run_eval.sh"]}]
    its = [each for each in found.findings if 9 in [place.line for place in each.places]]
    assert [(each.kind, each.key) for each in its] == [("carried", "after.0"), ("replaced", "")]


@pytest.mark.parametrize(
    "other",
    [
        "bash -c 'if [[ \"$(enroot list)\" ]]; then enroot remove -f $(enroot list); fi'",
        "bash $TOOLS/gpu_monitor.sh &",
    ],
)
def test_what_tidies_containers_up_or_watches_nodes_is_not_the_run(other: str) -> None:
    beside = f"export LATE=1\nsrun --ntasks=2 --overlap {other}"
    found = _converted(pyxis(between=beside, command="./x"), TOOLS="/t")
    assert found.is_complete
    assert _job(found)["command"] == ["./x"]
    assert not any(each.kind == "question" for each in found.findings)
    nothing_else = _job(_converted(pyxis(between=beside, command="true"), TOOLS="/t"))
    assert nothing_else["command"] == ASK


def test_lines_that_are_sorted_out_of_the_log_are_left() -> None:
    after = "grep MLLOG raw_results.log | sort > results.log"
    found = _converted(pyxis(after=after))
    said = _one(found, 9)
    assert said.kind == "left"
    assert "grep MLLOG" in said.what
    assert "after" in said.todo


def test_switches_that_the_operator_writes_on_the_command_line_are_the_locality() -> None:
    config = "export DGXNGPU=8\nexport RANKS=8\nexport SBATCH_OTHER_PARAMS='--switches 1@00:10:00'\n"
    found = _converted(pyxis(), config)
    assert _job(found)["locality"] == "unit"
    said, wait = _said(found, 3, "config.sh")
    assert (wait.kind, "max_switch_wait" in wait.why) == ("left", True)
    assert (said.kind, said.key) == ("carried", "locality")
    assert "00:10:00" in wait.what


def test_fujitsus_names_mean_the_same() -> None:
    script = (
        pyxis()
        .replace(" --nodes=2 --time=30", "")
        .replace("$RANKS", "$PGNGPU")
        .replace("* RANKS", "* PGNGPU")
    )
    job = _job(_converted(script, "export PGNNODES=4\nexport PGNGPU=8\nexport WALLTIME=01:00:00\n"))
    assert (job["nodes"], job["ranks_per_node"], job["gpus_per_node"]) == ("4", "8", "8")


def test_a_label_tells_no_machine() -> None:
    found = _converted(
        pyxis(command="./bind.sh --cpu=exclusive --cluster=selene -- ./run.sh"), DGXSYSTEM="DGXA100_multi"
    )
    job = _job(found)
    assert "node_type" not in str(job)
    assert "mlx5" not in str(job)
    assert job.get("bind", {}).get("cpus", "local") == "local"
    assert job["command"] == ["./run.sh"]


def test_a_variable_that_env_gives_in_front_reaches_the_ranks() -> None:
    script = pyxis().replace("srun --mpi", 'env FOO=1 "BAR=a b" timeout 60 srun --mpi')
    job = _job(_converted(script))
    assert job["command"] == ["./run.sh"]
    assert (job["env"]["FOO"], job["env"]["BAR"]) == ("1", "a b")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("source ~/team/env.sh", "prepares the host's shell"),
        ("ulimit -l unlimited", "srun handed this limit on"),
        ("module load cuda/12", "prepares the host's shell"),
    ],
)
def test_what_prepares_the_hosts_shell_is_left_with_its_consequence(line: str, words: str) -> None:
    found = _converted(pyxis(between=line))
    (said,) = (each for each in _said(found, 6, "run.sub") if each.kind == "left")
    assert said.what == line
    assert words in said.why
    assert said.todo
    assert _job(found) == _job(_converted(pyxis()))


def test_variables_of_another_hydra_reach_the_ranks() -> None:
    before = "export HYDRA_FULL_ERROR=1 HYDRA_RUN_DIR=/out HYDRA_LAUNCHER_EXEC=ssh HYDRA_BOOTSTRAP=slurm"
    assert _job(_converted(pyxis(before)))["env"] == {
        "RANKS": "8",
        "DGXNGPU": "8",
        "HYDRA_FULL_ERROR": "1",
        "HYDRA_RUN_DIR": "/out",
    }


@pytest.mark.parametrize(
    ("before", "image"),
    [
        ("sbcast -C -f -p /lustre/a.sqsh /dev/shm/x.sqsh", "/lustre/a.sqsh"),
        (
            "S=/lustre/a.sqsh\n[ -f $S ] || enroot import -o $S docker://reg.example#t/a:1\n"
            'sbcast -f "$S" "/dev/shm/x.sqsh"',
            {"ref": "reg.example/t/a:1", "import": "/lustre"},
        ),
        ("sbcast /lustre/other /dev/shm/other", "/dev/shm/x.sqsh"),
    ],
)
def test_an_image_that_sbcast_put_on_each_node_is_the_one_it_was_made_of(before: str, image: object) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 -t 5 --ntasks-per-node=8 --gpus-per-node=8\n{before}\n"
    found = _converted(f"{text}srun --mpi=none --container-image=/dev/shm/x.sqsh ./t\n")
    assert _job(found)["image"] == image
    line = text.count("\n")
    assert [each.kind for each in _said(found, line) if each.what.startswith("sbcast")] == [
        "left" if "other" in before else "replaced"
    ]


@pytest.mark.parametrize(
    ("option", "inherited", "cut"),
    [
        ("--export=ALL,NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_4:1", None, ["NCCL_IB_HCA=mlx5_0"]),
        (
            "--export=ALL,A=1,2,UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,B=x",
            None,
            ["A=1", "UCX_NET_DEVICES=mlx5_0:1"],
        ),
        ("--export=ALL,A=1,HOME_OF_DATA", ["HOME_OF_DATA"], []),
        ("--export=ALL,mlx5_1", ["mlx5_1"], []),
    ],
)
def test_a_value_of_export_ends_at_a_comma(option: str, inherited: object, cut: list[str]) -> None:
    found = _converted(
        pyxis(command="./run.sh").replace("--container-name=c ./run", f"{option} --container-name=c ./run")
    )
    assert _job(found).get("inherit") == inherited
    told = [each.why.partition("ranks got ")[2] for each in found.findings if each.kind == "defect"]
    assert [each.removesuffix(" alone") for each in told if each] == cut


@pytest.mark.parametrize(
    ("value", "env"), [("0,1,2,3,4,5,6,7", None), ("0,4,2,6,1,5,3,7", "0,4,2,6,1,5,3,7"), ("3,2", "3,2")]
)
def test_the_order_of_gpus_is_carried_where_it_is_not_the_nodes(value: str, env: object) -> None:
    job = _job(_converted(pyxis(f"export CUDA_VISIBLE_DEVICES={value}")))
    assert str(job["gpus_per_node"]) == "8"
    assert job["env"].get("CUDA_VISIBLE_DEVICES") == env
