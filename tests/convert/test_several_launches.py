"""Scripts that start ranks more than once: what is a step, and where which of them is the job is asked."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_ONE = _HEAD.replace("-N 2", "-N 1")
_RAY = """\
srun --mpi=none --nodes=1 --ntasks=1 -w "$head" ray start --head --block &
for i in 1 2; do srun --mpi=none -N1 -n1 -w ${nodes[$i]} ray start --address $head:6379 --block & done
"""


def _of(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize(
    "lines",
    [
        "torchrun --nproc_per_node=8 a.py --lr 1\ntorchrun --nproc_per_node=8 b.py",
        "torchrun --nproc_per_node=8 train.py\ntorchrun --nproc_per_node=4 eval.py",
        "deepspeed a.py\naccelerate launch b.py",
        "for s in 1 2; do torchrun --nproc_per_node=8 a.py --s $s; done\ntorchrun --nproc_per_node=8 b.py",
    ],
)
def test_of_several_launchers_none_is_taken_unasked(lines: str) -> None:
    job, found = _of(_ONE + lines + "\n")
    assert job["command"] == script_cases.ASK
    asked = next(each for each in found.findings if each.key == "command")
    assert {place.line for place in asked.places} == {3, 4}


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        ("torchrun --nproc_per_node=8 a.py || torchrun --nproc_per_node=8 a.py --resume", "a.py"),
        ("python prep.py\ntorchrun --nproc_per_node=8 a.py\npython post.py", "a.py"),
    ],
)
def test_one_launcher_beside_other_commands_is_the_job(lines: str, command: str) -> None:
    assert _of(_ONE + lines + "\n")[0]["command"] == ["python", "-u", command]


def test_an_mpirun_with_the_same_ranks_is_a_step_and_another_is_left() -> None:
    lines = "mpirun hostname\nmpirun -np 16 -npernode 8 -x A=1 ./a\n"
    lines += "mpirun -np 16 -npernode 8 -x A=2 ./b\nmpirun -np 16 -npernode 8 -x A=2 ./c\n"
    job, found = _of(_HEAD + lines)
    assert (job["command"], job["setup"]) == (["./c"], [{"run": ["./b"], "per": "rank"}])
    assert [each.places[0].line for each in found.findings if each.kind == "left"] == [4, 3]


def test_what_runs_while_servers_do_is_asked_and_not_done_after_them() -> None:
    job, found = _of(_HEAD + _RAY + "python -u train.py\n")
    assert (job["command"], job["nodes"], job.get("after")) == (script_cases.ASK, script_cases.ASK, None)
    assert "2 together" in next(each.why for each in found.findings if each.key == "nodes")
    waits, _ = _of(_HEAD + _RAY + "wait\npython -u post.py\n")
    assert [each["run"] for each in waits["after"]] == [["python", "-u", "post.py"]]


@pytest.mark.parametrize(
    "lines",
    [
        'bash -c "$LINE"',
        'nohup bash -lc "cd /x; $LINE arg"',
        'bash -c "$LINE"\n./post.sh',
        'bash -c "$(./make)"',
    ],
)
def test_a_text_for_a_shell_of_which_nothing_is_told_is_asked_for(lines: str) -> None:
    job, found = _of(_HEAD + lines + "\n")
    assert (job["command"], job["nodes"]) == (script_cases.ASK, script_cases.ASK)
    assert any(place.line == 3 for each in found.findings if each.key == "nodes" for place in each.places)


def test_a_text_that_tells_its_program_is_the_run() -> None:
    assert _of(_HEAD + 'bash -c "./t $X"\n')[0]["command"] != script_cases.ASK


def test_what_is_not_known_of_a_text_is_shown_as_the_script_has_it() -> None:
    lines = (
        'bash -c "srun --mpi=none ./y $(bar)"\nbash -c "srun --mpi=none $(opts) ./x"\nsrun --mpi=none ./t\n'
    )
    job, found = _of(_HEAD + lines)
    assert "setup" not in job  # which options the step gets is not told, nor its words
    said = " ".join(f"{each.what} {each.why}" for each in found.findings)
    assert "./y $(bar)" in said
    assert "$(opts)" in said
    assert "_hpclaunch" not in said + found.job


def test_a_script_with_a_nul_is_a_script() -> None:
    assert _of(_HEAD + "A=x\0y\nsrun --mpi=none ./t\n")[0]["command"] == ["./t"]


@pytest.mark.parametrize(("nodes", "said"), [(3, 0), (4, 1)])
def test_nodes_that_no_program_has_are_said_once(nodes: int, said: int) -> None:
    head = f"#!/bin/bash\n#SBATCH -N {nodes} --gpus-per-node=8 -t 60\n"
    job, found = _of(head + "srun --mpi=none -N1 ./a : -N2 ./b\n")
    assert [job["groups"][name]["nodes"] for name in "ab"] == ["1", "2"]
    assert sum("nodes for the whole" in each.what for each in found.findings) == said


def test_a_step_that_stays_is_called_as_the_job_file_has_it() -> None:
    steps = "".join(f"srun --mpi=none -N1 -n1 {name}\n" for name in ("./a", "./b"))
    lines = f"srun --mpi=none ./serve &\npython client.py\nwait\n{steps}"
    job, found = _of(_HEAD + lines)
    assert [each["run"] for each in job["after"]] == [["./a"], ["./b"]]
    its = {each.key: each.became for each in found.findings if each.key.startswith("after.")}
    assert list(its) == ["after.0", "after.1"]
    assert all(became.startswith(f"{key}: run: ") for key, became in its.items())


def test_a_program_whose_nodes_no_line_tells_keeps_its_group_and_is_asked() -> None:
    lines = "#!/bin/bash\n#SBATCH -J pair -t 10\n#SBATCH hetjob\n#SBATCH -N 2 -n 32 --gres=gpu:16\n"
    job, found = _of(f"{lines}srun --mpi=pmix ./server : ./client\n")
    assert job["groups"]["server"]["command"] == ["./server"]
    assert job["groups"]["client"]["command"] == ["./client"]
    assert job["groups"]["client"]["nodes"] == "2"
    asked = {each.key for each in found.findings if each.kind == "question"}
    assert "groups.server.nodes" in asked


@pytest.mark.parametrize(
    ("ranks", "lines", "kinds"),
    [
        ("1", "srun --het-group=0 ./serve : --het-group=1 ./t", ["question"]),
        ("1", "srun --het-group=0 ./serve &\nsrun --het-group=1 ./t &\nwait", ["question"]),
        ("1", "srun --het-group=0 --mpi=none ./serve : --het-group=1 --mpi=none ./t", ["carried"]),
    ],
)
def test_one_thing_is_said_of_mpi(ranks: str, lines: str, kinds: list[str]) -> None:
    head = f"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node={ranks} -t 10\n#SBATCH hetjob\n#SBATCH -N 4 -n 32\n"
    _, found = _of(f"{head}{lines}\n")
    its = [each.kind for each in found.findings if each.key == "mpi" or "mpi:" in each.became]
    assert its == kinds


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        # Data that is made where there is none yet, by more processes than a node has GPUs.
        (
            'if [ ! -d "$OUT" ]; then srun --mpi=pmix --ntasks-per-node=64 preprocess_text --sink o; fi\n'
            "srun --ntasks-per-node=8 python -u pretrain.py",
            ["python", "-u", "pretrain.py"],
        ),
        (
            "srun --mpi=pmix python tools/stage_data.py /a /b\nsrun python -u fit.py",
            ["python", "-u", "fit.py"],
        ),
        (
            'srun ./fit\nif [ "$EVAL" ]; then srun ./score; fi',
            ["./fit"],
        ),
        # On the first node alone, and before the test that all nodes run.
        (
            "srun --mpi=none -N1 -n1 python check.py\nsrun --mpi=none -N2 -n7 ./model",
            ["./model"],
        ),
        (
            "python3 /opt/order.py --hosts h\nsrun --mpi=pmix /opt/all_reduce_perf -b 1G",
            ["/opt/all_reduce_perf", "-b", "1G"],
        ),
        ("srun --mpi=pmix /opt/all_reduce_perf -b 1G\npython3 fit.py", ["python3", "fit.py"]),
        (
            "torchrun --nproc_per_node=8 fit.py\nsrun --mpi=pmix /opt/all_reduce_perf -b 1G",
            ["python", "-u", "fit.py"],
        ),
    ],
)
def test_what_leads_up_to_a_run_is_not_taken_for_it(lines: str, command: list[str]) -> None:
    assert _of(_HEAD + lines + "\n")[0]["command"] == command


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        ("module load x\nkernprof -l fit.py", ["bash", "-lc", "module load x; exec kernprof -l fit.py"]),
        ("hostname\nmkdir -p out\n$ROOT/tools/watch.py --all", "exec $ROOT/tools/watch.py --all"),
        ("wget -q x\nsinfo\nsleep 9\nexit 1", script_cases.ASK),
        ("lmp -in a\ngmx mdrun", script_cases.ASK),  # which of them nothing tells
        ("if [ -f /x ]; then lmp -in a; fi", script_cases.ASK),
    ],
)
def test_the_one_command_of_a_script_is_its_run_whatever_it_is(lines: str, command: object) -> None:
    job, found = _of(f"#!/bin/bash\n#SBATCH -t 5 -n 1 -G 1\n{lines}\n")
    assert job["command"] == command
    taken = [each for each in found.findings if each.kind == "assumed" and each.became == "command"]
    assert len(taken) == (command != script_cases.ASK)
    assert _of(_HEAD + lines + "\n")[0]["command"] == script_cases.ASK  # on two nodes it may be a launcher


@pytest.mark.parametrize(
    ("lines", "taken", "beside"),
    [
        (
            "$S python train.py\nfor s in val test; do $S python eval.py --split $s; done",
            "train.py",
            "eval.py",
        ),
        (
            "for s in val test; do $S python eval.py --split $s; done\n$S python train.py",
            "train.py",
            "eval.py",
        ),
        ("$S python train.py\nfor i in 1 2 3; do $S python eval.py; done", "eval.py", "train.py"),
        ("for i in 1 2 3; do $S ./a $i; done\n$S ./b", "./a", "./b"),
        ("$S ./b\nfor i in 1 2 3; do $S ./run_and_time.sh $i; done", "./run_and_time.sh", ""),
        ("for d in half float; do $S all_reduce_perf_mpi -d $d; done\n$S ./t", "./t", ""),
    ],
)
def test_a_loop_alone_does_not_tell_which_of_two_that_look_alike_is_the_run(
    lines: str, taken: str, beside: str
) -> None:
    srun = "srun --mpi=none --ntasks-per-node=8 --container-image=a/b:1"
    job, found = _of(_HEAD + lines.replace("$S", srun) + "\n")
    assert taken in str(job["command"])
    asked = [each.why for each in found.findings if "which is the job's run" in each.why]
    assert [taken in why and beside in why for why in asked] == [True] * bool(beside)


def test_what_each_round_has_of_its_own_is_not_said_to_be_unknown() -> None:
    lines = "for s in val test; do\n./prepare.sh $s\nsrun --mpi=none python eval.py --split $s\ndone\n"
    job, found = _of(_HEAD + lines)
    assert job["command"] == script_cases.ASK
    (asked,) = (each for each in found.findings if each.key == "command")
    assert "another one in each round of the loop over val test" in asked.why


def test_the_runs_of_a_heterogeneous_job_may_stand_in_any_order() -> None:
    head = "#!/bin/bash\n#SBATCH -t 9 -N 1 -n 1 --gpus-per-node=0\n#SBATCH hetjob\n"
    head += "#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8\n"
    srun = "srun --mpi=none --container-image=a/b:1 --het-group"
    job, found = _of(f"{head}{srun}=1 ./t &\n{srun}=0 ./loader\nwait\n")
    sizes = {name: (of["nodes"], of["ranks_per_node"]) for name, of in job["groups"].items()}
    assert sizes == {"loader": ("1", "1"), "t": ("2", "8")}
    assert found.is_complete


@pytest.mark.parametrize(
    ("first", "second", "rendezvous"),
    [
        ("./a &", "./b --peer $(hostname) & wait", script_cases.ASK),
        ("./a --peer $(hostname) &", "./b --peer $(hostname) & wait", script_cases.ASK),
        ("./a :", "./b --peer $(hostname)", "torch"),
        ("torchrun --nproc_per_node=8 a.py &", "torchrun --nproc_per_node=8 b.py & wait", "torch"),
        ("./a &", "./b & wait", None),
    ],
)
def test_the_scripts_own_node_is_the_first_of_all_and_not_of_each_world(
    first: str, second: str, rendezvous: str | None
) -> None:
    by = "" if first.endswith(":") else "\nsrun"
    options = "-N1 -n8 --mpi=pmix --container-image=a/b:1"
    job, found = _of(f"{_HEAD}srun {options} {first}{by} {options} {second}\n")
    assert list(job["groups"]) == ["a", "b"]
    assert job.get("rendezvous") == rendezvous
    assert not any("not the same for all" in each.why for each in found.findings)


def test_no_finding_is_about_a_step_that_became_a_question() -> None:
    srun = "srun --mpi=none --ntasks-per-node=8 --container-image=a/b:1"
    job, found = _of(f"{_HEAD}{srun} ./train &\n{srun} --time=5 ./loader\nwait\n")
    assert job["command"] == script_cases.ASK
    assert "after" not in job
    assert not any("after." in each.key + each.todo for each in found.findings)


_CHOSEN = """\
srun -n 2 sudo -n nvidia-smi -lgc 1400
case $KIND in
  a) RUN="srun --mpi=pmi2 --container-image=a/b:1 ./t" ;;
  b) RUN="mpirun -np 16 ./t" ;;
  *) exit 1 ;;
esac
$RUN
"""


@pytest.mark.parametrize(
    "lines", [_CHOSEN, _CHOSEN.partition("\n")[2], f"{_CHOSEN}srun --mpi=none ./other\n"]
)
def test_a_variable_that_is_one_launch_or_another_is_asked_for_as_the_run(lines: str) -> None:
    job, found = _of(_HEAD + lines)
    assert job["command"] == script_cases.ASK
    why = next(each.why for each in found.findings if each.key == "command")
    assert "mpirun -np 16 ./t" in why
    assert "--env KIND=VALUE" in why


def test_what_sudo_does_to_the_devices_is_no_run() -> None:
    job, _ = _of(f"{_HEAD}srun sudo -n nvidia-smi -lgc 1400\nsrun --mpi=none ./t\n")
    assert job["command"] == ["./t"]
    job, _ = _of(f"{_HEAD}srun sudo nvidia-smi -lgc 1400\n")
    assert job["command"] == script_cases.ASK


@pytest.mark.parametrize("head", [_HEAD, _ONE])
def test_what_is_started_only_if_a_test_went_well_may_be_the_run(head: str) -> None:
    lines = (
        "srun --mpi=pmix --container-image=a/b:1 bash -c './all_reduce' > out\n"
        "OK=$(grep -q GB out && echo 1)\n"
        'if [ "$OK" = 1 ]; then srun --mpi=pmix --container-image=a/b:1 python go.py; fi\n'
    )
    job, found = _of(head + lines)
    assert job["command"] == script_cases.ASK
    why = next(each.why for each in found.findings if each.key == "command")
    assert "all_reduce" in why
    assert "go.py" in why
    job, _ = _of(head + lines.replace("python go.py", "mkdir -p /out"))
    assert job["command"] == ["bash", "-c", "./all_reduce"]


@pytest.mark.parametrize("condition", ["echo $1 | grep -q ddp", "grep -q ddp conf", '[ "$KIND" = 1 ]'])
def test_the_same_file_started_in_both_ways_of_an_if_is_asked_for(condition: str) -> None:
    both = f"if {condition}; then torchrun --nproc_per_node=8 fit.py; else python fit.py; fi\n"
    job, found = _of(_ONE + both)
    assert job["command"] == script_cases.ASK
    why = next(each.why for each in found.findings if each.key == "command")
    assert condition in why
    job, _ = _of(_ONE + both.replace("python fit.py", "python note.py"))
    assert job["command"] != script_cases.ASK


def test_what_the_scripts_shell_puts_into_a_text_is_not_asked_of_the_ranks_own() -> None:
    _, found = _of(f'{_HEAD}srun --mpi=none --container-image=a/b:1 sh -c "./t $MORE" \n')
    assert "- MORE" in found.job
    assert not [each.what for each in found.findings if "own shell" in each.what]
    _, found = _of(f"{_HEAD}srun --mpi=none --container-image=a/b:1 sh -c './t $MORE'\n")
    assert [each.what for each in found.findings if "own shell" in each.what] == [
        "$MORE in the ranks' own shell"
    ]


@pytest.mark.parametrize("start", ["podman run -d --rm --name mon x/mon:1", "docker run --detach x/mon:1"])
def test_a_container_that_goes_on_beside_the_run_is_not_the_run(start: str) -> None:
    job, found = _of(f"{_HEAD}{start}\nexport A=1\nsrun --mpi=pmix ./a\n")
    assert (job["command"], job["nodes"], job["ranks_per_node"], job["env"]) == (
        ["./a"],
        "2",
        "8",
        {"A": "1"},
    )
    assert "image" not in job
    assert [each.what for each in found.findings if each.kind == "left"] == [start]


def test_of_several_lines_that_submit_the_script_it_is_said_which_is_the_job() -> None:
    lines = [f"sbatch -N {nodes} --export=ALL,C={nodes}.yaml job.sh" for nodes in (1, 4)]
    both = {"submit.sh": "\n".join(["#!/bin/bash", *lines, ""]), "job.sh": _HEAD + "srun --mpi=pmix ./a $C\n"}
    found = convert(classified(both), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["nodes"], job["env"]) == ("4", {"C": "4.yaml"})
    (told,) = (each for each in found.findings if "lines submit jobs" in each.what)
    assert ([place.line for place in told.places], lines[1] in told.why) == ([2, 3], True)
    one = {**both, "submit.sh": f"#!/bin/bash\n{lines[1]}\n"}
    assert not [each for each in convert(classified(one), Options({})).findings if "submit jobs" in each.what]


def test_a_program_in_the_text_for_sbatch_is_the_run_of_the_first_node() -> None:
    job, found = _of(
        "#!/bin/bash\nexport D=/data/x\nsbatch <<EOT\n#!/bin/bash\n#SBATCH -N 6 --ntasks-per-node=32\n"
        "julia --project l.jl\nEOT\n"
    )
    assert (job["command"], job["nodes"]) == (["julia", "--project", "l.jl"], "1")
    assert job["env"] == {"D": "/data/x"}
    assert any("on the first node alone" in each.why for each in found.findings)


@pytest.mark.parametrize(
    "head", [_HEAD.replace("-N 2", "-N 6"), "#!/bin/bash\n#SBATCH -N 1 -n 1\n#SBATCH hetjob\n#SBATCH -N 5\n"]
)
def test_of_several_starts_of_programs_at_once_the_last_is_the_job(head: str) -> None:
    groups = ("--het-group=0 ", "--het-group=1 ") if "hetjob" in head else ("", "")
    lines = [
        f"srun --mpi=pmix {groups[0]}-N 1 -n 1 ./s {n} : {groups[1]}-N {n} -n {n} ./w {n}" for n in (5, 2)
    ]
    job, found = _of(head + "\n".join(lines) + "\n")
    assert [each["command"] for each in job["groups"].values()] == [["./s", "2"], ["./w", "2"]]
    assert "setup" not in job
    assert [each.what for each in found.findings if "several programs at once" in each.why] == [lines[0]]


@pytest.mark.parametrize(
    "submits", ["sbatch job.slurm", "ID=$(sbatch --parsable job.slurm)\nsbatch -d afterok:$ID job.slurm"]
)
def test_a_program_before_the_submission_of_another_script_is_no_run(submits: str) -> None:
    job, found = _of(f"#!/bin/bash\n./prep.x\n{submits}\n")
    assert job["command"] == script_cases.ASK
    assert any("job.slurm is not among the files" in each.why for each in found.findings)
    assert any(each.what == "./prep.x" for each in found.findings if each.kind == "left")
