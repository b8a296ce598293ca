"""What starts one process for each GPU of a node: torchrun and its like.

The options are those of torch/distributed/run.py, with --use_env of torch/distributed/launch.py, and those
that MLPerf's bind_launch.py adds. deepspeed's are of deepspeed/launcher/runner.py, accelerate's of
accelerate/commands/launch.py of 1.10.
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.programs.flags import Table, stands_for_options, table, take
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import Value, known, program_of

_RUN = table(
    (
        (1, "nnodes nproc_per_node node_rank master_addr master_port rdzv_backend rdzv_endpoint rdzv_id"),
        (1, "rdzv_conf max_restarts monitor_interval start_method event_log_handler role log_dir=logdir"),
        (1, "redirects=r tee=t local_addr local_ranks_filter logs_specs numa_binding signals_to_handle"),
        (1, "nsockets_per_node ncores_per_socket nnuma_nodes"),
        (0, "standalone module=m no_python run_path use_env no_hyperthreads no_membind h help"),
    )
)
_DEEPSPEED = table(
    (
        (1, "hostfile=H include=i exclude=e nnodes=num_nodes nproc_per_node=num_gpus master_addr"),
        (1, "master_port node_rank launcher launcher_args autotuning bind_core_list min_elastic_nodes"),
        (1, "max_elastic_nodes ssh_port enable_each_rank_log venv_script"),
        (0, "module no_python no_local_rank force_multi bind_cores_to_rank elastic_training no_ssh"),
        (0, "no_ssh_check save_pid"),
    )
)
_ACCELERATE = table(
    (
        (1, "num_processes nnodes=num_machines node_rank=machine_rank master_addr=main_process_ip"),
        (1, "master_port=main_process_port config_file mixed_precision num_cpu_threads_per_process"),
        (1, "gpu_ids rdzv_backend rdzv_conf role log_dir max_restarts monitor_interval dynamo_backend"),
        (1, "deepspeed_config_file zero_stage deepspeed_multinode_launcher gradient_accumulation_steps"),
        (1, "gradient_clipping offload_optimizer_device offload_param_device offload_optimizer_nvme_path"),
        (1, "offload_param_nvme_path zero3_init_flag zero3_save_16bit_model deepspeed_hostfile tee=t"),
        (1, "deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_moe_layer_cls_names"),
        (1, "fsdp_version fsdp_offload_params fsdp_min_num_params fsdp_sharding_strategy vm"),
        (1, "fsdp_reshard_after_forward fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap"),
        (1, "fsdp_backward_prefetch fsdp_forward_prefetch fsdp_use_orig_params fsdp_sync_module_states"),
        (1, "fsdp_cpu_ram_efficient_loading fsdp_activation_checkpointing dynamo_mode mpirun_hostfile env"),
        (1, "main_training_function fp8_backend fp8_margin fp8_interval fp8_format fp8_amax_history_len"),
        (1, "fp8_amax_compute_algo fp8_override_linear_precision fp8_opt_level megatron_lm_tp_degree"),
        (1, "megatron_lm_pp_degree megatron_lm_num_micro_batches megatron_lm_sequence_parallelism"),
        (1, "megatron_lm_recompute_activations megatron_lm_use_distributed_optimizer"),
        (1, "megatron_lm_gradient_clipping parallelism_config_dp_replicate_size"),
        (1, "parallelism_config_dp_shard_size parallelism_config_tp_size parallelism_config_cp_size"),
        (1, "parallelism_config_cp_comm_strategy fsdp_state_dict_type"),
        (0, "multi_gpu cpu use_deepspeed use_fsdp module=m no_python same_network debug quiet=q help=h tpu"),
        (0, "use_parallelism_config use_megatron_lm enable_cpu_affinity dynamo_use_fullgraph downcast_bf16"),
        (0, "dynamo_use_dynamic dynamo_use_regional_compilation fp8_use_autocast_during_eval"),
    )
)
_MODULES: dict[str, tuple[str, Table]] = {
    "torch.distributed.launch": ("torch.distributed.launch", _RUN),
    "torch.distributed.run": ("torchrun", _RUN),
    "deepspeed.launcher.runner": ("deepspeed", _DEEPSPEED),
    "accelerate.commands.launch": ("accelerate", _ACCELERATE),
}
# Copies of torch.distributed.launch that put numactl before each process.
_BIND_LAUNCH = re.compile(r"(^|[./])bind_(launch\w*|pyt)(\.py)?$")
# Options of the interpreter that take a word (python -W ignore).
_PYTHON = table(((1, "W X"), (0, "u O OO B E I q s S v d i P x b")))


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "torchrun", "torch.distributed.launch", "bind_launch", "deepspeed" or "accelerate", and the
    command that it starts for each GPU, as it starts it. A layer without a program where Python starts
    something else."""
    first = program_of(words)
    if first == "torchrun":
        return _launcher("torchrun", _RUN, ("python",), words[1:])
    if first == "deepspeed":
        return _launcher("deepspeed", _DEEPSPEED, ("python",), words[1:])
    if first == "accelerate" and len(words) > 1 and known(words[1]) == "launch":
        return _launcher("accelerate", _ACCELERATE, ("python",), words[2:])
    _, rest = take(words[1:], _PYTHON, own=lambda value, after: False)
    before = list(words[1 : len(words) - len(rest)])
    name = ""
    is_module = bool(before) and known(before[-1]) == "-m"
    if rest and (is_module or (known(rest[0]) or "").endswith(".py")):
        name, rest = known(rest[0]) or "", rest[1:]
    if _BIND_LAUNCH.search(name):
        return _launcher("bind_launch", _RUN, words[0], rest)
    if re.search(r"torch/distributed/(launch|run)\.py$", name):
        name = "torch.distributed." + name[:-3].rpartition("/")[2]
    if name in _MODULES:
        program, options = _MODULES[name]
        return _launcher(program, options, words[0], rest)
    return Layer(""), list(words)


def _launcher(
    program: str, options: Table, python: Value, words: Sequence[Value]
) -> tuple[Layer, list[Value]]:
    spelled = [(_underscored(word)) for word in words]
    found, rest = take(spelled, options, own=stands_for_options(options))
    # The words after the options are the program's own: as they were written.
    rest = list(words[len(words) - len(rest) :])
    layer = Layer(program, tuple(found))
    if layer.option("no_python") or not rest:
        return layer, rest
    start: list[Value] = [python, ("-u",)]
    if layer.option("module"):
        start.append(("-m",))
    return layer, [*start, *rest]


def _underscored(word: Value) -> Value:
    """The option with "_" for "-" in its name: both are taken."""
    if not word or not isinstance(word[0], str) or not word[0].startswith("--"):
        return word
    name, equals, value = word[0].partition("=")
    return ("--" + name[2:].replace("-", "_") + equals + value, *word[1:])


def passes_local_rank(layer: Layer) -> bool:
    """Whether each process gets --local_rank=N as its first argument: torch.distributed.launch without
    --use_env (the case until PyTorch 1.9; later it is --local-rank), its copies, and deepspeed."""
    if layer.program == "deepspeed":
        return layer.option("no_local_rank") is None
    return layer.program in ("torch.distributed.launch", "bind_launch") and layer.option("use_env") is None


def starts_per_node(layer: Layer) -> Option | None:
    """The option that says how many processes a node gets."""
    return layer.option("nproc_per_node") or layer.option("num_processes")
