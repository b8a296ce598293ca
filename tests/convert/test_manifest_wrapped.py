"""Launchers in the words of programs that nobody told hpclaunch, and what starts more processes by itself."""

import pytest
from manifest_cases import converted, job, of_shell

from hpclaunch.convert.draft import Draft


def _converted(text: str, gpus: int = 8) -> Draft:
    return of_shell(text, gpus)


@pytest.mark.parametrize(
    "text",
    [
        "tini -- torchrun --nproc_per_node=8 t.py",
        "gosu me python -m torch.distributed.run --nproc-per-node 8 t.py",
        "su me -c 'torchrun --nproc_per_node=8 t.py'",
        "strace -f torchrun --nproc_per_node=8 t.py",
        "pip install x\nbash -c 'accelerate launch --num_processes 8 t.py'",
        'RUN=(torchrun --nproc_per_node=8 t.py)\n"${RUN[@]}"',
        "some-wrapper mpirun -np 8 ./t",
        "some-wrapper orterun -np 8 ./t",
        "some-wrapper mpiexec.hydra -n 8 ./t",
        "some-wrapper colossalai run --nproc_per_node 8 t.py",
    ],
)
def test_a_launcher_in_other_words_is_asked_about(text: str) -> None:
    facts = _converted(text).facts
    assert facts[("ranks_per_node",)].is_open
    assert facts[("command",)].is_open


def test_a_profiler_around_a_launcher_is_said_to_be_gone() -> None:
    draft = _converted("nsys profile -o x torchrun --nproc_per_node=4 t.py")
    assert job(draft)["ranks_per_node"][0] == 4
    (said,) = (each for each in draft.findings if each.what == "nsys profile -o x")
    assert said.kind == "left"


@pytest.mark.parametrize(
    "text",
    [
        "python t.py --launcher torchrun",
        "pip install deepspeed --upgrade\npython t.py",
        "python -m pip install accelerate -U && python t.py",
        'echo "torchrun --nproc_per_node=8 t.py"\npython t.py',
        "# torchrun --nproc_per_node=8 t.py\npython t.py",
        "python t.py --deepspeed ds.json",
        "python t.py --prun 0.5 --accelerate a.yaml",
    ],
)
def test_a_launchers_name_alone_asks_nothing(text: str) -> None:
    draft = _converted(text)
    assert job(draft)["ranks_per_node"][0] == 1
    assert not any(fact.is_open for fact in draft.facts.values())


@pytest.mark.parametrize(
    ("text", "gpus", "said"),
    [
        ("llamafactory-cli train a.yaml", 8, "llamafactory-cli train"),
        ("llamafactory-cli train a.yaml", 1, ""),
        ("tune run --nproc_per_node 8 full", 8, "tune run"),
        ("for i in 0 1; do python t.py --rank $i & done; wait", 2, "python in the background of a loop"),
        ("nvidia-smi dmon & python t.py", 8, ""),
    ],
)
def test_what_starts_more_processes_itself_is_told(text: str, gpus: int, said: str) -> None:
    draft = _converted(text, gpus)
    assert job(draft)["ranks_per_node"][0] == 1
    found = [each.what for each in draft.findings if each.kind == "question"]
    assert found == ([said] if said else [])


def test_an_interpreter_with_its_version_starts_ranks_as_any_other() -> None:
    draft = _converted("python3.11 -m torch.distributed.run --nproc-per-node 4 t.py")
    assert job(draft)["command"][0] == ["python3.11", "-u", "t.py"]
    assert job(draft)["ranks_per_node"][0] == 4


_WITH_A_LAUNCHER = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: spread}
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - {image: "reg/x:1", name: l, command: [sh, -c, "mpirun -npernode 1 ./warm; AFTER"]}
    Worker:
      replicas: 2
      template: {spec: {containers: [{image: "reg/x:1", name: w}]}}
"""


@pytest.mark.parametrize("option", ["--hostfile=$H", "-hostfile $H", "--machinefile /etc/mpi/hostfile"])
def test_a_command_that_is_given_the_workers_may_be_the_run(option: str) -> None:
    after = f"python spawn.py {option} --each 4 fit.py"
    draft = converted(_WITH_A_LAUNCHER.replace("AFTER", after))
    (said,) = (each for each in draft.findings if each.what == after)
    assert said.kind == "question"
    assert option.partition("=")[0].split()[0] in said.why


def test_a_command_of_the_launchers_pod_that_is_given_none_is_not_asked_about() -> None:
    draft = converted(_WITH_A_LAUNCHER.replace("AFTER", "python plot.py --host web"))
    (said,) = (each for each in draft.findings if each.what == "python plot.py --host web")
    assert said.kind == "left"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("some-wrapper mpirun -np 8 ./t", "pmix"),
        ("su me -c 'mpirun -np 8 ./t'", "pmix"),
        ("some-wrapper mpiexec.hydra -n 8 ./t", "pmi2"),
        ("for n in 1 2; do time A=1 mpirun -np $n ./t; done\nfor n in 4; do mpirun -np 4 ./t; done", "pmix"),
        ("if test -e x; then mpirun -launcher ssh -n 8 ./t; else mpirun -launcher ssh -n 2 ./u; fi", "pmi2"),
    ],
)
def test_ranks_of_an_mpirun_that_is_not_read_use_mpi_all_the_same(text: str, way: str) -> None:
    facts = job(_converted(text, 0))
    assert facts["mpi"][0] == way


def test_who_binds_is_not_said_of_several_of_which_one_says_it() -> None:
    draft = _converted("if test -e x; then mpirun -n 8 ./t; else mpirun --bind-to core -n 2 ./t; fi", 0)
    assert not [each for each in draft.findings if each.what.startswith("mpirun without --bind-to")]


def test_mpi_is_asked_for_where_another_launcher_may_be_the_run() -> None:
    facts = _converted("if test -e x; then mpirun -n 8 ./t; else torchrun --nproc-per-node 8 t.py; fi").facts
    assert facts[("mpi",)].is_open


def test_a_torchrun_that_is_not_read_tells_of_no_mpi() -> None:
    facts = _converted("if test -e x; then torchrun a.py; else torchrun t.py; fi").facts
    assert ("mpi",) not in facts
