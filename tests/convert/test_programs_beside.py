"""Programs that stand beside a launch: whoever starts them, they are never what the job is for."""

from typing import get_args

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.beside import Does, that

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4\n"


def test_each_is_in_one_group() -> None:
    groups = [that(each) for each in get_args(Does)]
    assert all(groups)
    assert sum(map(len, groups)) == len(frozenset[str]().union(*groups))


@pytest.mark.parametrize("program", ["rmdir /scratch/old", "df -h", "gzip in.txt", "scontrol ping", "sync"])
@pytest.mark.parametrize("start", ["srun", "srun -N2 -n8", "/usr/bin/"])
def test_none_is_the_run(program: str, start: str) -> None:
    line = f"{start}{'' if start.endswith('/') else ' '}{program}"
    found = convert(classified({"job.sub": f"{_HEAD}{line}\npython train.py\n{line}\n"}), Options({}))
    assert "command: [python, train.py]" in found.job.replace('"', "")


def test_what_tells_of_the_machine_has_no_effect() -> None:
    found = convert(classified({"job.sub": f"{_HEAD}nproc\ndu -sh .\nsrun python train.py\n"}), Options({}))
    (told,) = [each for each in found.findings if each.kind == "without effect"]
    assert "nproc; du -sh ." in told.what


@pytest.mark.parametrize("looks", ["ldd ./solve", "readelf -d solve", "nm -D ./solve"])
def test_what_looks_into_a_program_leaves_the_only_other_command_the_run(looks: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1\n{looks}\n../bin/solve in.txt\n"
    found = convert(classified({"job.sub": text}), Options({}))
    assert 'command: ["../bin/solve", in.txt]' in found.job
    assert [each.what for each in found.findings if each.kind == "left"] == []


_ENDS_IN_TEXT = "bash -c 'pkill -9 -f torchrun || true && fuser -k 29500/tcp || true'"


@pytest.mark.parametrize("ends", ["pkill -9 torchrun", _ENDS_IN_TEXT, 'sh -c "sleep 1; killall python"'])
def test_what_ends_other_processes_is_never_the_run(ends: str) -> None:
    lines = f"srun -N2 -n8 {ends}\nsrun bash -c 'source env.sh; $START'\nexport START\n"
    found = convert(classified({"job.sub": f"{_HEAD}{lines}"}), Options({}))
    command = next(each for each in found.findings if each.key == "command")
    assert command.places[0].line == 4


def test_a_text_that_ends_others_and_starts_something_may_be_the_run() -> None:
    line = "srun bash -c 'pkill -9 python; ./solve'\n"
    found = convert(classified({"job.sub": f"{_HEAD}srun hostname\n{line}"}), Options({}))
    assert "./solve" in found.job.partition("setup:")[0]


@pytest.mark.parametrize("program", ["./test", "bin/sort -k 2", "../wait", "/srv/me/stat", "./date now"])
@pytest.mark.parametrize("start", ["", "srun "])
def test_a_program_of_ones_own_that_has_the_name_of_one_is_the_run(program: str, start: str) -> None:
    lines = f"#!/bin/bash\n#SBATCH -n 1\n#SBATCH -c 8\nexport OMP_NUM_THREADS=8\n{start}{program}\n"
    found = convert(classified({"job.sub": lines}), Options({}))
    words = ", ".join(program.split())
    assert f"command: [{words}]" in found.job.replace('"', "")
    assert 'OMP_NUM_THREADS: "8"' in found.job
    assert not any("OMP_NUM_THREADS" in each.what for each in found.findings if each.kind == "without effect")


@pytest.mark.parametrize("program", ["/usr/bin/test -d x", "/opt/tools/bin/date", "/bin/stat x"])
def test_that_of_the_system_is_not(program: str) -> None:
    found = convert(classified({"job.sub": f"#!/bin/bash\n#SBATCH -n 1\n{program}\n./solve\n"}), Options({}))
    assert "command: [./solve]" in found.job.replace('"', "")


@pytest.mark.parametrize("shows", ["numactl -H", "numactl --hardware", "numactl --show"])
def test_what_shows_the_cores_of_a_node_is_no_run(shows: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 -n 16\nsrun -n 2 --ntasks-per-node=1 {shows}\nsrun ./solve\n"
    told = {each.name: each.told for each in convert(classified({"run.sub": text}), Options({})).launch}
    assert told["ranks"] == "8 on each node"


@pytest.mark.parametrize("compiler", ["CC", "hipcc", "mpicc", "ftn", "clang++"])
@pytest.mark.parametrize("start", ["", "srun ", "srun -n1 -N1 "])
def test_what_compiles_the_program_is_never_the_run(compiler: str, start: str) -> None:
    build = f"{start}{compiler} -O3 -o sim main.cpp || exit 1"
    text = f"{_HEAD}{build}\nfor n in 8 16; do\n  srun --mpi=none ./sim $n > $n.dat\ndone\n"
    found = convert(classified({"job.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "command"]
    assert "./sim ${n}" in asked.why
    assert ("-o sim main.cpp" in found.job.replace(", ", " ")) == bool(start)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("nvcc --version", "without effect"),
        ("nvcc -V", "without effect"),
        ("nvcc -O2 -o warm warm.cu", "left"),
        ("umask -S", "without effect"),
    ],
)
def test_a_compiler_has_no_effect_only_where_it_tells_of_itself(line: str, kind: str) -> None:
    found = convert(classified({"job.sub": f"{_HEAD}{line}\nsrun ./warm\n"}), Options({}))
    (its,) = [each for each in found.findings if line in each.what]
    assert its.kind == kind


@pytest.mark.parametrize(
    ("remote", "why"),
    [
        ('"cd /w; $GO --node_rank 1 fit.py"', "it starts processes on another machine"),
        ("$GO --node_rank 1 fit.py", "it starts processes on another machine"),
        ('"rm -rf /tmp/torchrun_logs"', "it is not part of what is launched"),
    ],
)
def test_what_goes_to_another_machine_is_told_by_what_it_starts_there(remote: str, why: str) -> None:
    lines = 'GO="torchrun --nnodes 2 --nproc_per_node 4"\n$GO --node_rank 0 fit.py &\n'
    text = f"#!/bin/bash\n{lines}for host in tern; do ssh $host {remote} & done\nwait\n"
    found = convert(classified({"go.sh": text}), Options({}))
    (told,) = [each.why for each in found.findings if each.what.startswith("ssh ")]
    assert told.startswith(why)


@pytest.mark.parametrize(
    "line", ["conda deactivate", "source deactivate", ". v/bin/deactivate", "deactivate"]
)
def test_what_leaves_an_environment_behind_the_run_has_no_effect_and_is_no_file_that_is_missed(
    line: str,
) -> None:
    found = convert(classified({"job.sub": f"{_HEAD}srun python reap.py\n{line}\n"}), Options({}))
    (its,) = [each for each in found.findings if each.places and each.places[0].line == 4]
    assert (its.kind, its.what) == ("without effect", line)


def test_an_environment_that_is_left_in_front_of_the_run_is_left_by_the_ranks() -> None:
    found = convert(classified({"job.sub": f"{_HEAD}source deactivate\nsrun python reap.py\n"}), Options({}))
    assert "source deactivate; " in found.job
    assert not any("was not given" in each.why for each in found.findings)
