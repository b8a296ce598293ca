"""Containers of Podman, and podman-hpc, that srun starts: which is the run, and what reaches its ranks."""

import msgspec

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"


def _converted(text: str) -> Conversion:
    return convert(classified({"go.sh": f"{_HEAD}{text}\n"}), Options({}))


def _job(found: Conversion) -> dict[str, object]:
    return msgspec.yaml.decode(found.job, type=dict[str, object])


def test_the_run_is_what_srun_starts_for_all_tasks() -> None:
    build = "if [ ! -d suite ]; then podman-hpc run --rm -v /a:/b lab/t:1 make all; fi\n"
    for before in (build, "srun --ntasks-per-node=1 podman-hpc run lab/t:1 ./warm\n"):
        job = _job(_converted(f"{before}srun --mpi=pmi2 podman-hpc run --rm -v /a:/b lab/t:1 ./suite/solve"))
        assert (job["command"], job["ranks_per_node"], job["mpi"]) == (["./suite/solve"], 4, "pmi2")


def test_the_mpi_of_srun_is_asked_for_where_an_option_brings_it_into_the_container() -> None:
    for options, asked in (
        ("--mpi", True),
        ("--openmpi-pmi2 --gpu", True),
        ("--env 'PMI_*' --env 'SLURM_*'", True),
        ("--gpu --env 'NCCL_*'", False),
    ):
        found = _converted(f"srun podman-hpc run {options} lab/t:1 ./t")
        questions = [each.key for each in found.findings if each.kind == "question"]
        assert ("mpi" in questions) == asked
    found = _converted("export SLURM_MPI_TYPE=pmi2\nsrun podman-hpc run --mpi lab/t:1 ./t")
    assert _job(found)["mpi"] == "pmi2"
    alone = _converted("srun -N 1 -n 1 podman-hpc run --mpi lab/t:1 ./t")
    assert "mpi" not in [each.key for each in alone.findings if each.kind == "question"]


def test_its_containers_keep_what_srun_binds_them_to() -> None:
    for program, bind in (
        ("podman-hpc", None),
        ("podman", None),
        ("docker", {"cpus": "none", "memory": "none"}),
    ):
        assert _job(_converted(f"srun {program} run lab/t:1 ./t")).get("bind") == bind


def test_names_by_their_beginning_need_no_quotes() -> None:
    text = "export LIB_A=1 OTHER=2\nP=(--rm --env LIB_*)\nsrun podman-hpc run ${P[@]} lab/t:1 ./t"
    assert _job(_converted(text))["env"] == {"LIB_A": "1"}


def test_what_other_kinds_of_mounts_are_is_said() -> None:
    mounts = "--mount type=glob,src=/usr/lib64/liba.so\\* --mount type=image,source=x/y,destination=/y"
    found = _converted(f"P=({mounts})\nsrun podman run ${{P[@]}} lab/t:1 ./t")
    whys = [each.why for each in found.findings if each.what.startswith("--mount")]
    assert len(whys) == 2
    assert "fits the pattern" in whys[0]
    assert "another image" in whys[1]


def test_gpus_that_no_option_lets_into_the_container_are_said() -> None:
    for options, said in (("--rm", 1), ("--gpu", 0), ("--gpus all", 0), ("--cuda-mpi", 0)):
        found = _converted(f"srun --mpi=none podman-hpc run {options} lab/t:1 ./t")
        assert _job(found)["gpus_per_node"] == 4
        assert [each.what for each in found.findings].count("podman-hpc without --gpu") == said
    text = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=0 -t 60\nsrun podman-hpc run a/b:1 ./t\n"
    none = convert(classified({"go.sh": text}), Options({}))
    assert not [each for each in none.findings if each.what == "podman-hpc without --gpu"]
    of_podman = _converted("srun podman run a/b:1 ./t")
    assert not [each for each in of_podman.findings if "without --gpu" in each.what]


def test_what_is_taken_for_unset_in_front_of_a_container_is_said() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 1 -n 1\nARGS=(--rm -v /lab:/lab)\n"
        'if [[ -n "${LAB_POOL:-}" && -d "${LAB_POOL}" ]]; then ARGS+=(-v "${LAB_POOL}:${LAB_POOL}"); fi\n'
        'podman-hpc run "${ARGS[@]}" lab/t:1 ./t --mode "${LAB_MODE:-quick}"\n'
    )
    found = convert(classified({"go.sh": text}), Options({}))
    assumed = {each.what: each.became for each in found.findings if each.kind == "assumed"}
    assert (assumed["LAB_POOL"], assumed["LAB_MODE"]) == ("not set", "its default: quick")
    given = convert(classified({"go.sh": text}), Options({"LAB_MODE": "whole"}))
    assert "LAB_MODE" not in {each.what for each in given.findings if each.kind == "assumed"}


def test_a_limit_in_front_of_what_starts_a_container_is_said() -> None:
    said = ["the job has one limit, `time`"]
    for limited, command in (
        ("timeout -s INT 90m srun podman run a/b:1 ./t", ["./t"]),
        ("srun timeout 90m docker run a/b:1 ./t", ["./t"]),
        ("docker run -d --name c a/b:1 sleep 9d\ndocker exec c timeout 90m mpirun -np 4 ./t", ["./t"]),
    ):
        found = _converted(limited)
        assert [each.why for each in found.findings if each.what.startswith("timeout")] == said
        assert _job(found)["command"] == command
    inside = _converted("srun podman run a/b:1 timeout 90m ./t")
    assert _job(inside)["command"] == ["timeout", "90m", "./t"]
    assert not [each for each in inside.findings if "one limit" in each.why]
