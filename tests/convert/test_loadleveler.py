"""A script for LoadLeveler asks by keywords behind `# @`, up to `queue`."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = ["# @ job_type = parallel", "#@node=4", "# @ Tasks_Per_Node = 8", "# @ class = long"]


def _of(*lines: str) -> Conversion:
    return convert(
        classified({"run.sh": "\n".join((*lines, "mpiexec -n 32 ./solve in.txt", ""))}), Options({})
    )


def _told(found: Conversion) -> dict[str, str]:
    return {each.name: each.told for each in found.launch}


@pytest.mark.parametrize(
    ("limit", "time"),
    [("10:20:30", "10:20:30"), ("45:00", "0:45:00"), ("5400", "90 minutes"), ("2:00:00,1:50:00", "2:00:00")],
)
def test_its_keywords_tell_nodes_ranks_and_time(limit: str, time: str) -> None:
    found = _of(*_HEAD, f"# @ wall_clock_limit = {limit}", "#  @  queue", "")
    assert "a script for LoadLeveler" in found.refused
    told = _told(found)
    assert (told["nodes"], told["ranks"], told["time limit"]) == ("4", "8 on each node", time)
    assert any(each.became == "site hint partition: long" for each in found.findings)
    assert any("job_type" in each.what and "LoadLeveler" in each.why for each in found.findings)


def test_a_further_step_is_said_and_does_not_count() -> None:
    found = _of(*_HEAD, "# @ queue", "# @ node = 9", "# @ queue")
    assert _told(found)["nodes"] == "4"
    assert any("a further step" in each.why and each.places[0].line == 7 for each in found.findings)


def test_signs_in_comments_are_no_keywords_where_nothing_queues_them() -> None:
    found = _of("# @author = somebody", "# @ node = 4")
    assert not found.refused
    assert _told(found)["nodes"].startswith("1")


@pytest.mark.parametrize(
    ("line", "name"), [("llsubmit job.cmd", "LoadLeveler"), ("cobalt-mpiexec -n 256 ./t", "Cobalt")]
)
def test_the_commands_of_old_schedulers_are_known(line: str, name: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/sh\n{line}\n"}), Options({}))
    assert name in found.refused


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["# @ node = 4", "# @ tasks_per_node = 16", "# @ queue", "poe ./t -x 1"], "4 16"),
        (["# @ node = 4", "# @ total_tasks = 64", "# @ queue", "poe ./t"], "4 16"),
        (["# @ class = x", "# @ queue", "poe ./t -nodes 2 -procs 8"], "- -"),
        (["# @ class = x", "# @ queue", "poe -nodes 2 -procs 8 ./t"], "2 4"),
        (["# @ bg_size = 128", "# @ queue", "runjob --np 2048 --ranks-per-node 16 : ./t"], "128 16"),
        (["# @ bg_size = 64", "# @ queue", "runjob -p 8 -n 512 --envs A=1 : ./t"], "64 8"),
    ],
)
def test_poe_and_runjob_tell_the_ranks(lines: list[str], told: str) -> None:
    found = convert(classified({"run.sh": "\n".join(("#!/bin/sh", *lines, ""))}), Options({}))
    its = _told(found)
    assert (
        " ".join(its[name].replace("not determined", "-").split()[0] for name in ("nodes", "ranks")) == told
    )
    assert any(each.became.startswith("command: ./t") for each in found.findings)


@pytest.mark.parametrize("name", ["poe", "runjob", "lrun"])
def test_their_names_are_other_programs_elsewhere(name: str) -> None:
    text = f"#!/bin/sh\n#SBATCH -N 2 -t 5\nsrun ./{name} -n 5 x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert found.job
    assert not found.refused


def test_lrun_tells_its_ranks() -> None:
    found = convert(classified({"run.sh": "#!/bin/sh\n#BSUB -nnodes 2\nlrun -N 2 -T 4 ./t\n"}), Options({}))
    assert _told(found)["ranks"] == "4 on each node"


def test_variables_of_its_own_are_no_values_and_a_dollar_stands_before_the_submitters() -> None:
    found = _of(*_HEAD, "# @ environment = TASKS=$(total_tasks); $CASE; STEPS=20", "# @ queue")
    assert _told(found)["environment"] == "STEPS, CASE"
    (its,) = [each for each in found.findings if each.what == "TASKS=$(total_tasks)"]
    assert (its.kind, its.todo) == ("left", "write env.TASKS in the job file")


def test_its_environment_is_told() -> None:
    found = _of(*_HEAD, "# @ environment = COPY_ALL; STEPS=20; CASE", "# @ queue")
    became = {each.became for each in found.findings}
    assert {"env.STEPS: 20", "inherit.0: CASE"} <= became
    assert any("not all that was exported" in each.why for each in found.findings)


def test_a_backslash_continues_a_keyword_in_comments_without_its_sign() -> None:
    lines = ["# @ environment = COPY_ALL; A=1; \\", "#        B=two; \\", "#  C=/c", "# @ class = low"]
    found = _of(*_HEAD[:3], *lines, "# @ queue")
    assert _told(found)["environment"] == "A, B, C"
    assert {"env.B: two", "env.C: /c", "site hint partition: low"} <= {each.became for each in found.findings}
    assert not any(each.what == "\\" for each in found.findings)
    (place,) = next(each.places for each in found.findings if each.became == "env.C: /c")
    assert (place.line, place.last) == (4, 6)


def test_a_keyword_behind_a_backslash_is_one_of_its_own() -> None:
    lines = ["# @ environment = A=1; \\", "# @ node = 16", "# a remark \\", "# @ tasks_per_node = 2"]
    found = _of(*lines, "# @ queue")
    assert {"nodes": "16", "ranks": "2 on each node"}.items() <= _told(found).items()


def test_all_tasks_are_divided_by_nodes_that_a_later_line_tells() -> None:
    told = _told(_of("# @ total_tasks = 32", "# @ node = 2", "# @ queue", "poe ./t"))
    assert (told["nodes"], told["ranks"]) == ("2", "16 on each node")
    found = _of("# @ total_tasks = 30", "# @ queue", "poe ./t")
    (its,) = [each for each in found.findings if each.what == "total_tasks 30"]
    assert its.why == "how many of these are on a node is not told"


@pytest.mark.parametrize(("tasks", "nodes"), [(1, "1"), (4, "not determined")])
def test_one_task_is_on_one_node(tasks: int, nodes: str) -> None:
    lines = [
        "#!/bin/sh",
        f"# @ total_tasks = {tasks}",
        "# @ blocking = unlimited",
        "# @ queue",
        "poe ./t",
        "",
    ]
    found = convert(classified({"run.sh": "\n".join(lines)}), Options({}))
    assert _told(found)["nodes"] == nodes
    assert any("how many of these are on a node" in each.why for each in found.findings) == (tasks > 1)


@pytest.mark.parametrize(
    "option", ["-exp_env WARM -mode VN", "-cwd /d -exp_env WARM", "-mode SMP -exp_env WARM"]
)
def test_options_of_blue_genes_mpirun_have_values(option: str) -> None:
    head = "# @ job_type = bluegene\n# @ bg_size = 8\n# @ queue\nexport WARM=1\n"
    text = f"#!/bin/sh\n{head}mpirun {option} -env COLD=2 -np 16 ./solve -np 3\n"
    found = convert(classified({"run.sh": text}), Options({}))
    told = _told(found)
    assert (told["nodes"], told["ranks"], told["environment"]) == ("8", "2 on each node", "WARM, COLD")
    assert any(each.what == "./solve -np 3" for each in found.findings if each.kind == "carried")
