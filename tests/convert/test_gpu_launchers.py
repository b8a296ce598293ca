"""accelerate, composer and deepspeed around the command: what they tell each process is in the job, and how
many ranks it has by their options."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import layers

_HEAD = "#!/bin/bash\n#SBATCH -t 60 --gpus-per-node=8 --ntasks-per-node=1\n"
_ADDRESSES = "--main_process_ip $IP --main_process_port 6000 --machine_rank $SLURM_NODEID"


def _job(lines: str) -> dict[str, Any]:
    found = convert(classified({"run.sub": _HEAD + lines + "\n"}), Options({}))
    job: dict[str, Any] = loaded(found.job)
    return {key: str(value) if isinstance(value, int) else value for key, value in job.items()}


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ("--mixed_precision BF16", {"ACCELERATE_MIXED_PRECISION": "bf16"}),
        ("--dynamo-backend inductor", {"ACCELERATE_DYNAMO_BACKEND": "INDUCTOR"}),
        (
            "--num_cpu_threads_per_process=4 --debug",
            {"OMP_NUM_THREADS": "4", "ACCELERATE_DEBUG_MODE": "true"},
        ),
        (
            "--use_fsdp --fsdp_offload_params True --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer",
            {
                "ACCELERATE_USE_FSDP": "true",
                "FSDP_OFFLOAD_PARAMS": "true",
                "FSDP_TRANSFORMER_CLS_TO_WRAP": "LlamaDecoderLayer",
            },
        ),
        ("--fsdp_offload_params true", {}),  # without --use_fsdp it tells nobody
        ("--use_megatron_lm --megatron_lm_tp_degree 2", {"MEGATRON_LM_TP_DEGREE": "2"}),
        ("--parallelism_config_sp_size 2", {}),
        (
            "--use_deepspeed --zero_stage 3 --gradient_clipping 1.0",
            {"ACCELERATE_DEEPSPEED_ZERO_STAGE": "3", "ACCELERATE_GRADIENT_CLIPPING": "1.0"},
        ),
        ("--fp8_format E4M3", {"ACCELERATE_FP8_FORMAT": "E4M3"}),
        ("--mixed_precision $PRECISION", {}),
    ],
)
def test_what_accelerate_tells_by_variables_is_in_env(words: str, env: dict[str, str]) -> None:
    job = _job(f"srun accelerate launch --num_processes 16 --num_machines 2 {_ADDRESSES} {words} t.py --x 1")
    assert (job["nodes"], job["ranks_per_node"], job["rendezvous"]) == ("2", "8", "torch")
    assert job["command"] == ["python", "-u", "t.py", "--x", "1"]
    found = job.get("env", {})
    assert env.items() <= found.items()
    assert env or found == {"OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("text", "words", "nodes", "ranks"),
    [
        ("distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 8  # all\n", "", "2", "4"),
        ("distributed_type: FSDP\n# num_machines: 2\nnum_processes: 8\n", "", "1", "8"),
        ('{\n  "distributed_type": "NO",\n  "num_machines": 1,\n  "num_processes": 1\n}\n', "", "1", "1"),
        ("compute_environment: LOCAL_MACHINE\nnum_machines: 2\n", "--num_processes 6", "2", "3"),
        ("compute_environment: LOCAL_MACHINE\nnum_processes: 8\n", "--num_machines 4", "4", "2"),
        ("compute_environment: LOCAL_MACHINE\nnum_machines: 3\nnum_processes: 8\n", "", "3", ASK),
        ("compute_environment: LOCAL_MACHINE\n", "", "1", ASK),
        ("compute_environment: LOCAL_MACHINE\n", "--num_machines 2 --num_processes 4", "2", "2"),
    ],
)
def test_a_file_of_accelerates_that_is_given_tells_nodes_and_ranks(
    text: str, words: str, nodes: str, ranks: str
) -> None:
    run = f"accelerate launch --config_file conf/acc.yaml {words} t.py\n"
    found = convert(classified({"run.sh": f"#!/bin/bash\n{run}", "acc.yaml": text}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, ranks)
    assert not any(each.kind == "unread" for each in found.findings)


def test_a_file_of_accelerates_that_no_launch_names_is_said() -> None:
    texts = {"run.sh": "accelerate launch --config_file b.yaml t.py\n", "a.yaml": "distributed_type: FSDP\n"}
    (unused,) = (each for each in convert(classified(texts), Options({})).findings if each.kind == "unread")
    assert unused.what == "a configuration of accelerate"


@pytest.mark.parametrize(
    ("words", "why"),
    [("", "how many nodes these are is not told"), ("--num_machines 3", "3 nodes do not share them evenly")],
)
def test_a_count_of_all_nodes_is_not_said_to_be_no_number(words: str, why: str) -> None:
    run = f"#!/bin/bash\naccelerate launch --config_file c.yaml --num_processes 8 {words} t.py\n"
    findings = convert(classified({"go.sh": run}), Options({})).findings
    (asked,) = (each for each in findings if each.key == "ranks_per_node")
    assert asked.why.endswith(f"--num_processes 8 counts those of all nodes, and {why}")


def test_what_a_file_of_accelerates_may_say_is_not_guessed() -> None:
    asked = _job("#SBATCH -N 2\nsrun accelerate launch --config_file c.yaml t.py")
    assert asked["ranks_per_node"] == ASK
    told = _job("#SBATCH -N 2\nsrun accelerate launch --config_file c.yaml --num_processes 16 t.py")
    assert told["ranks_per_node"] == "8"


@pytest.mark.parametrize(
    ("words", "nodes", "ranks", "command"),
    [
        (
            "-n 8 --world_size 16 --node_rank $SLURM_NODEID t.py -n 3",
            "2",
            "8",
            ["python", "-u", "t.py", "-n", "3"],
        ),
        ("--nproc=4 -m pkg.train x", None, "4", ["python", "-u", "-m", "pkg.train", "x"]),
        ("-c --nproc 2 --world_size 2 --master_port 7000 ./t", "1", "2", ["./t"]),
        ("--stdout o{rank} -v t.py", None, "8", ["python", "-u", "t.py"]),
    ],
)
def test_composer_is_a_launcher_of_a_process_for_each_gpu(
    words: str, nodes: str | None, ranks: str, command: list[str]
) -> None:
    job = _job(f"srun composer {words}")
    assert (job.get("nodes"), job["ranks_per_node"], job["command"]) == (nodes, ranks, command)
    assert job["rendezvous"] == "torch"


@pytest.mark.parametrize("words", ["install", "--version", "require a/b"])
def test_composer_of_php_is_none(words: str) -> None:
    assert [each.program for each in layers([(word,) for word in ("composer", *words.split())])] == [""]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--hostfile hf --num_gpus 4", {"nodes": "2", "ranks_per_node": "4"}),
        ("", {"nodes": "1", "ranks_per_node": "8"}),  # it is told of no hosts
        (
            "--include a:4,5@b:4,5",
            {"nodes": "2", "ranks_per_node": "2", "env": {"CUDA_VISIBLE_DEVICES": "4,5"}},
        ),
        ("-i a:0,1@b:0,1", {"nodes": "2", "ranks_per_node": "2"}),
        ("--hostfile hf -e a:7", {"nodes": "2", "ranks_per_node": ASK}),
        (
            "--hostfile hf --num_gpus 2 --bind_cores_to_rank --bind_core_list 0-3,8-11",
            {"bind": {"cpus": ["0-3", "8-11"], "memory": "none"}},
        ),
    ],
)
def test_what_deepspeed_is_told(words: str, told: dict[str, object]) -> None:
    job = _job(f"#SBATCH -N 2\ndeepspeed {words} t.py")
    assert told.items() <= job.items()
    assert job["command"] == 'exec python -u t.py --local_rank="$LOCAL_RANK"'
    assert "env" in told or "env" not in job


@pytest.mark.parametrize("starter", ["openmpi", "slurm", "MVAPICH"])
def test_only_deepspeeds_own_starter_gives_a_local_rank(starter: str) -> None:
    job = _job(f"#SBATCH -N 2\ndeepspeed --hostfile hf --launcher {starter} t.py")
    assert job["command"] == ["python", "-u", "t.py"]


def test_what_deepspeed_hands_on() -> None:
    lines = (
        "export NCCL_DEBUG=INFO FOO=1 PATH=/opt/x:$PATH\ncat > ~/.deepspeed_env <<E\nA=b c\nE\n"
        "echo MY_TOKEN=$MY_TOKEN >> .deepspeed_env\n#SBATCH -N 2\ndeepspeed --hostfile=hf t.py"
    )
    found = convert(classified({"run.sub": _HEAD.rstrip() + " -N 2\n" + lines + "\n"}), Options({}))
    job = loaded(found.job)
    assert job["env"] == {"NCCL_DEBUG": "INFO", "FOO": "1", "A": "b c"}
    assert job["command"].startswith('export PATH=/opt/x:"$PATH"; ')
    said = {each.what: each.todo for each in found.findings if each.kind in ("left", "assumed")}
    assert "FOO" in said
    assert ".deepspeed_env" in said
    assert "env" not in said["export PATH"]


@pytest.mark.parametrize(("option", "is_said"), [("", True), ("--no_ssh --node_rank $1", False)])
def test_what_deepspeed_hands_on_is_assumed_only_where_ssh_starts_it(option: str, is_said: bool) -> None:
    text = f"export FOO=1\ndeepspeed --hostfile hf {option} t.py\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert loaded(found.job)["env"]["FOO"] == "1"
    assert any("hands on" in each.why for each in found.findings) is is_said


def test_what_composer_sets() -> None:
    job = _job("#SBATCH -N 1\nexport NCCL_ASYNC_ERROR_HANDLING=0\nsrun composer -n 8 t.py")
    assert job["env"] == {"NCCL_ASYNC_ERROR_HANDLING": "1"}


@pytest.mark.parametrize(
    ("line", "ranks", "are_apart"),
    [
        ("srun torchrun --nproc_per_node=8 t.py", "8", True),
        ("srun torchrun --standalone --nproc_per_node=8 t.py", "8", True),
        ("srun torchrun --nnodes=2 --nproc_per_node=8 t.py", "8", False),
        ("srun torchrun $MULTI_NODE --nproc_per_node=8 t.py", "8", False),
        ("srun accelerate launch --num_processes 8 t.py", "8", True),
        ("srun accelerate launch --num_machines 2 --num_processes 8 t.py", "4", False),
        ("srun deepspeed --num_gpus 8 t.py", "8", True),
        ("srun deepspeed --hostfile hf --num_gpus 8 t.py", "8", False),
        ("export PET_NNODES=2\nsrun torchrun --nproc_per_node=8 t.py", "8", False),
        ("srun -N1 -n1 torchrun --nproc_per_node=8 t.py", "8", False),
    ],
)
def test_nodes_that_had_worlds_of_their_own_are_said(line: str, ranks: str, are_apart: bool) -> None:
    text = f"{_HEAD.rstrip()} -N 2\n{line}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert loaded(found.job)["ranks_per_node"] == ranks
    assert any("a world of its own" in each.why for each in found.findings) == are_apart


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("srun torchrun --standalone --nproc_per_node=2 t.py", "each of the 4 tasks had a world of its own"),
        ("torchrun --standalone --nproc_per_node=2 t.py", ""),
        ("srun -n1 torchrun --nproc_per_node=2 t.py", ""),
    ],
)
def test_tasks_of_one_node_that_had_worlds_of_their_own_are_said(line: str, said: str) -> None:
    text = f"{_HEAD.rstrip()} -N 1 --ntasks-per-node=4\n{line}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    apart = [each.why for each in found.findings if "a world of its own" in each.why]
    assert bool(apart) == bool(said)
    assert all(said in why for why in apart)


@pytest.mark.parametrize(
    ("asked", "told", "ranks"),
    [
        ("--gpus-per-node=8 --ntasks-per-node=1", "$SLURM_GPUS_PER_NODE", "8"),
        ("-N 2 --gpus-per-task=4 --ntasks-per-node=1", "${SLURM_GPUS_PER_TASK}", "4"),
        ("-N 1 -G 4", "$SLURM_GPUS", "4"),
        ("--gpus-per-node=h100:8 --ntasks-per-node=1", "$SLURM_GPUS_PER_NODE", ASK),  # Slurm sets h100:8
        ("--gres=gpu:8", "$SLURM_GPUS_PER_NODE", ASK),  # and nothing where the option was not given
    ],
)
def test_the_options_that_slurm_says_again_count_processes(asked: str, told: str, ranks: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 60 {asked}\nsrun torchrun --nproc_per_node={told} t.py\n"
    job = loaded(convert(classified({"run.sub": text}), Options({})).job)
    assert str(job["ranks_per_node"]) == ranks


@pytest.mark.parametrize(
    ("head", "command", "sets", "is_asked"),
    [
        ("#SBATCH --exclusive", "srun ./t", (), True),
        ("#SBATCH --exclusive", "srun ./t", ("ranks_per_node=8",), False),
        ("#SBATCH -c 32 --gpus-per-task 1", "srun ./t", (), True),
        ("#SBATCH -N 2", "srun ./t", (), False),
        ("#SBATCH --ntasks-per-node=8", "srun ./t", (), False),
        ("#SBATCH --exclusive", "srun -n 8 ./t", (), False),
        ("#SBATCH --exclusive", "srun torchrun --nproc_per_node=8 t.py", (), False),
    ],
)
def test_that_no_line_says_how_many_ranks_is_told(
    head: str, command: str, sets: tuple[str, ...], is_asked: bool
) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 60\n{head}\n{command}\n"
    found = convert(classified({"run.sub": text}), Options({}, sets=sets))
    assert any(each.what == "no line says how many ranks" for each in found.findings) == is_asked


@pytest.mark.parametrize(
    ("lines", "threads"),
    [
        ("srun torchrun --nproc_per_node=8 t.py", "1"),
        ("srun python -m torch.distributed.launch --nproc_per_node=8 t.py", "1"),
        ("export OMP_NUM_THREADS=6\nsrun torchrun --nproc_per_node=8 t.py", "6"),
        ("OMP_NUM_THREADS=6\nsrun torchrun --nproc_per_node=8 t.py", "1"),  # not exported
        ("srun torchrun --nproc_per_node=1 t.py", None),
        ("srun accelerate launch --num_processes 2 --num_machines 2 t.py", "1"),
        ("srun deepspeed --num_gpus 8 t.py", None),
        ("export OMP_NUM_THREADS=$SLURM_CPUS_ON_NODE\nsrun torchrun --nproc_per_node=8 t.py", None),
    ],
)
def test_the_threads_that_a_launcher_gives_each_process_are_in_env(lines: str, threads: str | None) -> None:
    assert _job(lines).get("env", {}).get("OMP_NUM_THREADS") == threads


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("srun torchrun --nnodes 2 --nproc_per_node=8 --node_rank $SLURM_NODEID t.py", 1),
        ("srun accelerate launch --num_machines 2 --num_processes 16 --machine_rank $SLURM_PROCID t.py", 1),
        ("srun --mpi=none ./t --rank $SLURM_PROCID", 1),
        ("srun bash -c 'torchrun --nnodes 2 --nproc_per_node=8 --node_rank $SLURM_NODEID t.py'", 0),
        ("srun torchrun --nnodes 2 --nproc_per_node=8 --rdzv_id $SLURM_JOB_ID t.py", 0),
        ("torchrun --nnodes 2 --nproc_per_node=8 --node_rank $SLURM_NODEID t.py", 0),  # srun may start it
    ],
)
def test_a_number_of_each_rank_that_the_scripts_shell_puts_in_is_told(line: str, told: int) -> None:
    text = f"#!/bin/bash\n#SBATCH -t 60 -N 2 --gpus-per-node=8 --ntasks-per-node=1\n{line}\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    assert sum(each.kind == "defect" and "in the words of srun" in each.what for each in found) == told


def test_launches_that_begin_alike_are_told_apart_in_the_question() -> None:
    names = ("red", "green", "blue", "grey", "pink", "black", "white")
    run = "torchrun --nproc_per_node=8 train_them_all.py --settings conf/all/colours"
    lines = "\n".join(f"{run}/{each}.yaml" for each in names)
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    (asked,) = (each.why for each in found.findings if (each.kind, each.key) == ("question", "command"))
    assert all(f"/{each}.yaml" in asked for each in (*names[:4], names[-1]))
    assert "; and 2 more)" in asked


@pytest.mark.parametrize(
    ("line", "gpus"),
    [
        ("deepspeed --num_gpus=4 t.py", "4"),
        ("deepspeed --include localhost:0,1,2 t.py", "3"),
        ("accelerate launch --multi_gpu --num_processes 2 --num_machines 1 t.py", "2"),
        # Others are chosen, or it is not told that each process has one.
        ("deepspeed --include localhost:2,3 t.py", ASK),
        ("CUDA_VISIBLE_DEVICES=6,7 deepspeed --num_gpus=2 t.py", ASK),
        ("deepspeed --num_gpus=$COUNT t.py", ASK),
        ("accelerate launch --num_processes 2 t.py", ASK),
        ("accelerate launch --cpu --multi_gpu --num_processes 2 t.py", ASK),
        ("torchrun --nproc_per_node 4 t.py", ASK),
    ],
)
def test_gpus_that_a_launcher_is_told_to_take_are_not_asked_for(line: str, gpus: str) -> None:
    for head in ("#!/bin/bash\n", "#!/bin/bash\n#SBATCH -N 1 -n 1\n"):
        job = loaded(convert(classified({"go.sh": f"{head}{line}\n"}), Options({})).job)
        assert str(job["gpus_per_node"]) == gpus


def test_gpus_of_a_script_are_not_those_of_its_launcher() -> None:
    for asked, gpus in (("--gpus-per-node=8", "8"), ("--exclusive", None)):
        text = f"#!/bin/bash\n#SBATCH -N 1 {asked} --ntasks-per-node=1\ndeepspeed --num_gpus 4 t.py\n"
        found = loaded(convert(classified({"go.sh": text}), Options({})).job)
        assert (str(found["gpus_per_node"]) if gpus else found.get("gpus_per_node")) == gpus


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ("", "num_machines and num_processes"),
        ("--num_processes 2", "num_machines"),
        ("--num_machines 1 --num_processes 2", ""),
        ("--config_file own.yaml", ""),
    ],
)
def test_numbers_that_a_default_configuration_may_have_are_said(options: str, missing: str) -> None:
    found = convert(classified({"go.sh": f"accelerate launch {options} t.py\n"}), Options({}))
    said = [each.why for each in found.findings if "default_config.yaml" in each.why]
    assert [each.partition("may say ")[2] for each in said] == ([missing] if missing else [])


@pytest.mark.parametrize(
    ("head", "words", "nodes", "ranks"),
    [
        ("-N 2", "--num_processes 8", "1", "8"),
        ("-N 2", "--num_processes 16 --num_machines 2 --machine_rank 0", "1", "8"),
        ("-N 2", "--use_deepspeed --num_processes 16 --num_machines 2", "2", "8"),
        ("-N 2", "--config_file c.yaml --num_processes 16 --num_machines 2", "2", "8"),
        ("-A a", "--num_processes 16 --num_machines 2", "2", "8"),
    ],
)
def test_accelerate_goes_to_no_other_node_by_itself(head: str, words: str, nodes: str, ranks: str) -> None:
    job = _job(f"#SBATCH {head}\naccelerate launch {words} t.py")
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, ranks)


@pytest.mark.parametrize("folder", ["$HOME/.local/bin", "${TOOLS}/bin", "bin"])
@pytest.mark.parametrize(
    "launcher",
    ["torchrun --nnodes 2 --nproc_per_node 4", "accelerate launch --num_machines 2 --num_processes 8"],
)
def test_a_launcher_in_a_folder_that_is_not_known_is_the_run(folder: str, launcher: str) -> None:
    text = f"python mix.py --into bowl\n{folder}/{launcher} stir.py --slow\n"
    job = loaded(convert(classified({"go.sh": text}), Options({})).job)
    assert (job["nodes"], job["ranks_per_node"], job["rendezvous"]) == ("2", "4", "torch")
    assert "stir.py" in str(job["command"])
    assert [each["run"][1] for each in job["setup"]] == ["mix.py"]


@pytest.mark.parametrize(
    ("named", "todo"), [(" --config_file conf/a.yaml", "it stays as it is"), ("", "no --config_file")]
)
def test_a_configuration_that_a_text_for_a_shell_names_is_said_to_stay(named: str, todo: str) -> None:
    launch = f"accelerate launch{named} --num_processes 8 t.py"
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 5\nexport L='{launch}'\n"
    text += 'srun --mpi=none bash -c "cd x; $L; wandb sync"\n'
    config = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n"
    found = convert(classified({"run.sub": text, "a.yaml": config}), Options({}))
    (told,) = [each for each in found.findings if each.what == "a configuration of accelerate"]
    assert told.todo.startswith(todo)
