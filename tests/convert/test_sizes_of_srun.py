"""A srun that has no job yet asks for its own nodes: how many there are by its own options."""

from typing import Any

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_KEYS = ("nodes", "gpus_per_node", "ranks_per_node")


def _job(words: str, head: str = "") -> tuple[dict[str, Any], list[Any]]:
    text = f"#!/bin/bash\n{head}srun -p team --mpi=none {words} ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    return script_cases.loaded(found.job), found.findings


@pytest.mark.parametrize(
    ("words", "nodes", "gpus", "ranks"),
    [
        ("--gres=gpu:8 --ntasks=16 --ntasks-per-node=8", "2", "8", "8"),
        ("--gres=gpu:4 -n 4 --ntasks-per-node=8", "1", "4", "4"),
        ("--gres=gpu:1 -n1 --ntasks-per-node=1", "1", "1", "1"),
        ("--gpus=16 --ntasks=16 --ntasks-per-node=8", "2", "8", "8"),
        ("--gres=gpu:8 --ntasks=20 --ntasks-per-node=8", "3", "8", ASK),
        ("--gres=gpu:8 --ntasks=$1 --ntasks-per-node=8", ASK, "8", "8"),
        ("--gpus=$1 --ntasks=$1 --ntasks-per-node=8", ASK, ASK, "8"),
        ("-N 2 --gres=gpu:8 --ntasks-per-node=$(($3))", "2", "8", ASK),
        ("-N $((${3} / 2)) --gres=gpu:8 --ntasks-per-node=8", ASK, "8", "8"),
        ("--gres=gpu:8 --ntasks=16", ASK, "8", ASK),
        ("-N 2 --gres=gpu:8 --ntasks=16", "2", "8", "8"),
        ("-N 2 --gres=gpu:8 -B 2:4:1", "2", "8", "8"),
        ("-N 2 --gres=gpu:8 -B 2:*:1", "2", "8", ASK),
        ("-N 2 --gres=gpu:8 --sockets-per-node=2", "2", "8", "1"),
        ("-N 2 --gres=gpu:8 -B 2:4:1 -n 4", "2", "8", "2"),
    ],
)
def test_nodes_are_as_many_as_its_ranks_need(words: str, nodes: str, gpus: str, ranks: str) -> None:
    job, findings = _job(words)
    assert tuple(job.get(key) for key in _KEYS) == (nodes, gpus, ranks)
    assert not any(each.kind == "assumed" and each.key == "nodes" for each in findings)


@pytest.mark.parametrize(
    ("words", "head", "nodes"),
    [
        ("--gpus=16", "", ASK),
        ("-G $1", "", ASK),
        ("--gpus=1", "", None),
        ("--gpus=16", "#SBATCH -N 2\n", "2"),
    ],
)
def test_gpus_alone_leave_it_to_slurm_how_many_nodes_there_are(
    words: str, head: str, nodes: str | None
) -> None:
    """Slurm 22.05 gives `srun --gpus=12` two nodes with eight GPUs each."""
    assert _job(words, head)[0].get("nodes") == nodes


@pytest.mark.parametrize(
    ("words", "is_asked"), [("-n 1", False), ("", False), ("-n 2", True), ("-N 2", True)]
)
def test_how_one_rank_finds_others_is_not_asked(words: str, *, is_asked: bool) -> None:
    text = f"#!/bin/bash\nsrun {words} --gres=gpu:1 python till.py\n"
    job = script_cases.loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert (job.get("mpi") == ASK) is is_asked


def test_what_slurm_chooses_itself_is_not_said_to_be_the_operators() -> None:
    job, findings = _job("--gres=gpu:8", "#SBATCH -n 16\n")
    assert job["nodes"] == ASK
    (asked,) = (each for each in findings if each.key == "nodes")
    assert "-n 16 leaves it to Slurm" in asked.why


@pytest.mark.parametrize(("option", "hint"), [("-A $1", "account"), ("-q $Q", "qos"), ("-w $H", "nodelist")])
def test_a_name_of_the_site_that_is_not_told_has_its_own_key(option: str, hint: str) -> None:
    _, findings = _job(f"-N 2 --gres=gpu:8 {option}")
    told = [each for each in findings if each.what.startswith(option[:2])]
    assert [each.todo for each in told] == [f"write sites.NAME.{hint}"]


@pytest.mark.parametrize(
    "lines",
    [
        "[ -e /x ] && N=$(ls /x | wc -l) || N=1",
        "if [ -e /x ]; then N=2; else N=4; fi",
        "N=4; if [ -e /x ]; then N=2; fi",
    ],
)
def test_ranks_of_a_number_that_is_one_of_several_are_asked_for(lines: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4\n{lines}\n"
    run = "srun --mpi=none -n $((N * SLURM_NNODES)) ./t"
    found = convert(classified({"run.sh": f"{text}{run}\n"}), Options({}))
    assert script_cases.loaded(found.job)["ranks_per_node"] == ASK
    known = convert(classified({"run.sh": f"{text}N=3\n{run}\n"}), Options({}))
    assert script_cases.loaded(known.job)["ranks_per_node"] == "3"


@pytest.mark.parametrize("option", ["--gres=gpu:$1", "--gpus=$1", "--gpus-per-node=$COUNT"])
@pytest.mark.parametrize("head", ["", "#SBATCH -N 2 --ntasks-per-node=4 --exclusive\n"])
def test_gpus_of_a_number_that_is_not_told_are_asked_for_on_whole_nodes_too(option: str, head: str) -> None:
    job, findings = _job(f"-n 8 {'' if head else '--exclusive '}{option}", head)
    assert job["gpus_per_node"] == ASK
    (asked,) = (each for each in findings if each.key == "gpus_per_node")
    assert asked.what.split("=")[0] == option.split("=")[0]
    assert not [each for each in findings if each.what == "no line says how many GPUs"]


_SCALING = "for n in 1 2 4\ndo\n  srun --mpi=none {words} ./t $n\ndone\n"


@pytest.mark.parametrize("words", ["-n $n", "--ntasks=$n", "-n $((n * 2))", "--ntasks-per-node=$n"])
def test_ranks_that_are_others_in_each_round_are_no_number_of_sbatch(words: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
    found = convert(classified({"run.sub": head + _SCALING.format(words=words)}), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"]) == ("2", ASK)
    (asked,) = (each for each in found.findings if each.key == "ranks_per_node")
    assert "is another number in each round of the loop over 1 2 4" in asked.why


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ("-n $SLURM_NTASKS", "4"),
        ("-n ${SLURM_NPROCS}", "4"),
        ("-n $((SLURM_NNODES * 4))", "4"),
        ("-n $WORLD", ASK),
        ("-n $WORLD --ntasks-per-node=4", "4"),
    ],
)
def test_what_sbatch_was_told_of_a_node_is_the_most_beside_an_own_number(words: str, ranks: str) -> None:
    text = f"#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-node=4 -t 5\nsrun --mpi=none {words} ./t\n"
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    assert job["ranks_per_node"] == ranks


@pytest.mark.parametrize(
    ("hosts", "asked"), [("n[1-3]", True), ("n1,n2", True), ("./hosts", True), ("n1", False)]
)
def test_a_list_of_hosts_without_a_number_of_nodes_may_be_of_several(hosts: str, asked: bool) -> None:
    lines = (
        f"#!/bin/bash\n#SBATCH -w {hosts} --gpus-per-node=8 -t 5\nsrun --mpi=none --ntasks-per-node=8 ./t\n"
    )
    found = convert(classified({"run.sub": lines}), Options({}))
    questions = [each for each in found.findings if (each.kind, each.key) == ("question", "nodes")]
    assert bool(questions) == asked
    told = next(each.told for each in found.launch if each.name == "nodes")
    assert ("asked for" in told) == asked


def test_none_of_its_nodes_is_said_to_stand_idle_where_another_srun_has_fewer() -> None:
    lines = "srun -N 2 -n 12 --mpi=none ./a &\nsrun -N 1 -n 2 --mpi=none ./b &\nwait\n"
    found = convert(classified({"run.sh": f"#!/bin/bash\n{lines}"}), Options({}))
    assert script_cases.loaded(found.job)["nodes"] == "2"
    assert not any("for the whole script" in each.what for each in found.findings)


@pytest.mark.parametrize(
    ("head", "ranks"),
    [
        ("--sockets-per-node=2", "2"),
        ("--sockets-per-node=2 --cores-per-socket=3", "6"),
        ("-B 2:4:1", "8"),
        ("-B 2:*:1", ASK),
        ("--sockets-per-node=" + "9" * 5000, ASK),
        ("--threads-per-core=1", "1"),
        ("--sockets-per-node=2 --ntasks-per-node=4", "4"),
        ("--sockets-per-node=2 --ntasks=16", "8"),
    ],
)
def test_parts_of_a_node_make_tasks_where_nothing_else_tells_them(head: str, ranks: str) -> None:
    lines = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 5 {head}\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": lines}), Options({}))
    assert script_cases.loaded(found.job)["ranks_per_node"] == ranks


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ("--ntasks-per-gpu=2", "16"),
        ("--gpus-per-node=2 --ntasks-per-gpu=2", "4"),
        ("--gres=gpu:4 --ntasks-per-gpu=1", "4"),
    ],
)
def test_tasks_for_each_gpu_are_of_those_that_the_step_asks_for(words: str, ranks: str) -> None:
    lines = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 5\nsrun --mpi=none {words} ./t\n"
    found = convert(classified({"run.sub": lines}), Options({}))
    assert script_cases.loaded(found.job)["ranks_per_node"] == ranks


@pytest.mark.parametrize(
    "option", ["--gres=gpu:", "--gres=gpu:a100:", "--gpus=", "--gpus-per-node=", "--gpus-per-task="]
)
def test_a_number_of_gpus_that_no_node_has_is_asked_about(option: str) -> None:
    lines = f"#!/bin/bash\n#SBATCH -N 2 -n 2 -t 5 {option}{'9' * 5000}\nsrun --mpi=none ./t\n"
    assert (
        script_cases.loaded(convert(classified({"run.sub": lines}), Options({})).job)["gpus_per_node"] == ASK
    )


@pytest.mark.parametrize(
    ("options", "gpus", "others"),
    [
        ("--gpus-per-node=8 --gres=gpu:4", "4", ["--gpus-per-node=8 (8 on a node) says another"]),
        ("--gpus-per-node=8 --gpus=8", "8", ["--gpus=8 (4 on a node) says another"]),
        ("--gpus-per-node=8 --gpus=16 --gres=gpu:8", "8", []),
        ("--gpus-per-node=8 --gpus-per-task=1", "8", []),
        ("--gpus-per-node=8 --gres=nvme:4", "8", []),
    ],
)
def test_lines_that_ask_for_unlike_numbers_of_gpus_are_told(
    options: str, gpus: str, others: list[str]
) -> None:
    lines = f"#!/bin/bash\n#SBATCH -N 2 -n 2 -t 5 {options}\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": lines}), Options({}))
    assert script_cases.loaded(found.job)["gpus_per_node"] == gpus
    said = [each.why for each in found.findings if "says another number" in each.why]
    assert [each[: len(other)] for each, other in zip(said, others, strict=True)] == others


_ALL = "#SBATCH -t 5 --gpus-per-node=8\n#SBATCH "


def _of_batch(options: str, step: str, before: str = "") -> tuple[dict[str, Any], list[str]]:
    text = f"#!/bin/bash\n{_ALL}{options}\n{before}srun --mpi=none {step} ./t\n"
    found = convert(classified({"run.sh": text}), Options({}))
    said = [each.became for each in found.findings if each.kind == "assumed"]
    return script_cases.loaded(found.job), said


@pytest.mark.parametrize(
    ("options", "step", "nodes", "ranks"),
    [
        ("-N 2 -c 8", "-c 8", "2", "1"),
        ("-N 2 -c 8", "-c $SLURM_CPUS_PER_TASK", "2", "1"),
        ("-N 2 -c 8", "-c 2", "2", "4"),
        ("-N 2 -c 8 --exclusive", "-c 8", "2", ASK),
        ("-N 2", "-c 8", "2", ASK),
        ("-N 2 -c 1", "-c 1", "2", ASK),  # a core has one thread, or two
        ("-N 2 -c 8 --exclusive", "", "2", "1"),
        ("-N 2 -c 8 --exclusive", "-n 4 -c 8", "2", "2"),
        ("-N 2 -c 8 --exclusive --ntasks-per-node=3", "-c 8", "2", "3"),
    ],
)
def test_without_a_number_of_tasks_there_is_one_for_so_many_cpus(
    options: str, step: str, nodes: str, ranks: str
) -> None:
    job, _ = _of_batch(options, step)
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, ranks)


@pytest.mark.parametrize("name", ["SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK"])
def test_srun_has_a_variable_of_its_own_for_the_cpus(name: str) -> None:
    job, _ = _of_batch("-N 2 -c 8 --exclusive", "", f"export {name}=8\n")
    assert job["ranks_per_node"] == (ASK if name.startswith("SRUN") else "1")


@pytest.mark.parametrize(
    ("options", "nodes", "ranks"),
    [
        ("-N 4 -n 2", "2", "1"),
        ("-N 2 -n 1", "1", "1"),
        ("-N 1-4 -n 2 --ntasks-per-node=2", ASK, ASK),
        ("-N 2-2 -n 4 --ntasks-per-node=2", "2", "2"),
        ("-N 1-4 --ntasks-per-node=2", ASK, "2"),
    ],
)
def test_sbatch_takes_no_more_nodes_than_tasks_and_of_a_range_those_it_has(
    options: str, nodes: str, ranks: str
) -> None:
    job, _ = _of_batch(options, "")
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, ranks)


@pytest.mark.parametrize(
    ("options", "step", "told"),
    [
        ("-N 2 -n 16", "", True),
        ("-N 2 -n 16", "-n 16", True),
        ("-N 2 -n 16 --exclusive", "", False),
        ("-N 2 -n 2", "", False),
        ("-N 4 -n 12 --ntasks-per-node=8", "", True),
        ("-N 2 -n 16 --ntasks-per-node=8", "", False),
        ("-N 1 -n 16", "", False),
    ],
)
def test_that_slurm_may_fill_one_node_after_the_other_is_said(options: str, step: str, told: bool) -> None:
    job, said = _of_batch(options, step)
    assert any(each == f"ranks_per_node: {job['ranks_per_node']}" for each in said) == told


def test_that_slurm_may_spread_gpus_unevenly_is_said() -> None:
    text = "#!/bin/bash\n#SBATCH -t 5 -N {} -G 8 --ntasks-per-node=4\nsrun --mpi=none ./t\n"
    for nodes, told in ((2, True), (1, False), (8, False)):
        found = convert(classified({"run.sh": text.format(nodes)}), Options({}))
        job = script_cases.loaded(found.job)
        said = [each.became for each in found.findings if each.kind == "assumed"]
        assert (f"gpus_per_node: {job['gpus_per_node']}" in said) == told


@pytest.mark.parametrize(
    ("options", "step", "before"),
    [
        ("-n 16", "--ntasks-per-node 4", ""),
        ("-N 1-2 --ntasks-per-node=8", "--ntasks-per-node 2", ""),
        ("-N 1 -n 16", "--ntasks-per-node=2", "unset SLURM_NTASKS\n"),
    ],
)
def test_the_tasks_of_sbatch_are_those_of_a_srun_that_only_says_how_many_on_a_node(
    options: str, step: str, before: str
) -> None:
    job, _ = _of_batch(options, step, before)
    assert job["ranks_per_node"] == ASK


@pytest.mark.parametrize("option", ["--gpus=0", "-G 0", "--gpus-per-task=0", "--gpus-per-socket=0"])
def test_no_gpu_is_none_on_each_node_however_many_nodes_there_are(option: str) -> None:
    job, findings = _job("--container-image=a/b:1", f"#SBATCH {option}\n")
    assert (job["gpus_per_node"], job.get("nodes"), job["ranks_per_node"]) == ("0", None, "1")
    assert not [each for each in findings if "how many GPUs" in each.why or "how many nodes" in each.why]
    of_eight, _ = _job("", f"#SBATCH {option} -N 4 -n 8\n")
    assert (of_eight["gpus_per_node"], of_eight["nodes"], of_eight["ranks_per_node"]) == ("0", "4", "2")


def test_gpus_for_each_task_make_one_task_on_a_node_where_no_line_tells_how_many() -> None:
    text = "#!/bin/bash\n#SBATCH -t 5 -N 2 --gpus-per-task=2\nsrun --mpi=none {} ./t\n"
    for step, ranks in (("", "1"), ("--ntasks-per-node=2", ASK), ("--gpus-per-node=1", "1")):
        job = script_cases.loaded(convert(classified({"run.sh": text.format(step)}), Options({})).job)
        assert (job["nodes"], job["gpus_per_node"], job["ranks_per_node"]) == ("2", "2", ranks)


@pytest.mark.parametrize(
    ("on_node", "tasks", "told"), [(1, 2, (ASK, ASK)), (8, 16, ("2", "8")), (1, 4, ("4", "1"))]
)
def test_two_ranks_may_be_on_the_one_core_that_a_job_has(
    on_node: int, tasks: int, told: tuple[str, str]
) -> None:
    head = f"#!/bin/bash\n#SBATCH -t 5 --gpus-per-node=8 --ntasks-per-node={on_node}\n"
    text = f"{head}srun --mpi=none -n {tasks} ./t\n"
    job = script_cases.loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert (job["nodes"], job["ranks_per_node"]) == told


@pytest.mark.parametrize(
    "front", ["nohup", "timeout 60", "timeout -k 5 1h", "nice -n 5", "env A=1", "nohup env A=1 nice", "time"]
)
def test_a_srun_behind_programs_that_only_start_it_asks_for_its_own_nodes_too(front: str) -> None:
    words = "srun -A grp -p fast -t 5 --nodes 2 --ntasks-per-node=4 --gres=gpu:4 --mpi=none ./t > log &"
    found = convert(classified({"go.sh": f"#!/bin/bash\n{front} {words}\nwait\n"}), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["time"], *(job[key] for key in _KEYS)) == ("00:05:00", "2", "4", "4")
    assert not [each for each in found.findings if each.kind == "question"]
    said = [each.kind for each in found.findings if each.what in ("-A grp", "-p fast")]
    assert said == ["carried", "carried"]
    assert (found.hints["account"], found.hints["partition"]) == ("grp", "fast")


@pytest.mark.parametrize("option", ["--container-image=a/b:1", "--container-remap-root"])
@pytest.mark.parametrize(
    ("head", "run", "what"),
    [
        ("", "./t", "one run of the script"),
        ("", "mpirun -np 1 ./t", "mpirun"),
        ("", "srun --mpi=none --ntasks=1 ./t", "--ntasks=1"),
        ("--ntasks=8", "srun --mpi=none --ntasks-per-gpu=1 ./t", "--ntasks-per-gpu=1"),
    ],
)
def test_nodes_are_told_by_what_counts_them_and_by_no_option_of_the_container(
    option: str, head: str, run: str, what: str
) -> None:
    text = f"#!/bin/bash\n#SBATCH {option} {head}\n#SBATCH --container-image=a/b:1 --gres=gpu:4 -t 5\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    told = [each.what for each in found.findings if each.key == "nodes"]
    assert told == [what]


@pytest.mark.parametrize(
    ("before", "is_alone"),
    [
        (': "${SLURM_ACCOUNT:?whose}"\necho "$SLURM_PARTITION $SLURM_TIME"\n', True),
        ('echo "${SLURM_JOB_ID:?none}"\n', False),
        ('echo "$SLURM_JOB_ACCOUNT"\n', False),
    ],
)
def test_whom_it_is_for_is_no_name_of_a_job(before: str, is_alone: bool) -> None:
    job, _ = _job('-N 2 -n 2 --gpus-per-node=2 --time="${SLURM_TIME:-20}"', before)
    assert (job["time"] == "00:20:00") is is_alone
    assert (job["time"] == ASK) is not is_alone
