"""The options of `accelerate launch`, and the variables by which it tells them to the processes.

Options are those of accelerate/commands/launch.py of 1.15, variables those of accelerate/utils/launch.py
(prepare_multi_gpu_env, prepare_deepspeed_cmd_env, setup_fp8_env, prepare_extend_env_parallelism_config).
"""

from hpclaunch.convert.programs.flags import table
from hpclaunch.convert.programs.layers import Option
from hpclaunch.readback.shell.values import known

OPTIONS = table(
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
        (1, "fsdp_state_dict_type main_training_function fp8_backend fp8_margin fp8_interval fp8_format"),
        (1, "fp8_amax_history_len fp8_amax_compute_algo fp8_override_linear_precision fp8_opt_level"),
        (1, "fp8_enable_fsdp_float8_all_gather fp8_pad_inner_dim aws_access_key_id aws_secret_access_key"),
        (1, "megatron_lm_tp_degree megatron_lm_pp_degree megatron_lm_num_micro_batches"),
        (1, "megatron_lm_sequence_parallelism megatron_lm_recompute_activations"),
        (1, "megatron_lm_use_distributed_optimizer megatron_lm_gradient_clipping megatron_lm_no_save_optim"),
        (1, "megatron_lm_use_custom_fsdp megatron_lm_no_load_optim megatron_lm_eod_mask_loss"),
        (1, "megatron_lm_overlap_cpu_optimizer_d2h_h2d megatron_lm_optimizer_cpu_offload"),
        (1, "megatron_lm_use_precision_aware_optimizer megatron_lm_decoder_last_pipeline_num_layers"),
        (1, "megatron_lm_recompute_granularity megatron_lm_recompute_method megatron_lm_hidden_dropout"),
        (1, "megatron_lm_recompute_num_layers megatron_lm_attention_backend megatron_lm_attention_dropout"),
        (1, "megatron_lm_expert_model_parallel_size megatron_lm_context_parallel_size"),
        (1, "megatron_lm_attention_softmax_in_fp32 megatron_lm_expert_tensor_parallel_size"),
        (1, "megatron_lm_calculate_per_token_loss megatron_lm_use_rotary_position_embeddings"),
        (1, "parallelism_config_dp_replicate_size parallelism_config_dp_shard_size"),
        (1, "parallelism_config_tp_size parallelism_config_cp_size parallelism_config_cp_backend"),
        (1, "parallelism_config_cp_comm_strategy parallelism_config_sp_size parallelism_config_sp_backend"),
        (1, "parallelism_config_sp_seq_length parallelism_config_sp_seq_length_is_variable"),
        (1, "parallelism_config_sp_attn_implementation"),
        (0, "multi_gpu cpu use_deepspeed use_fsdp module=m no_python same_network debug quiet=q help=h tpu"),
        (0, "use_parallelism_config use_megatron_lm enable_cpu_affinity dynamo_use_fullgraph downcast_bf16"),
        (0, "dynamo_use_dynamic dynamo_use_regional_compilation fp8_use_autocast_during_eval tpu_cluster"),
        (0, "no_tpu_cluster tpu_use_sudo"),
    )
)
# What it sets for an option without a value.
_FLAGS = {
    "use_fsdp": ("ACCELERATE_USE_FSDP", "true"),
    "use_megatron_lm": ("ACCELERATE_USE_MEGATRON_LM", "true"),
    "use_parallelism_config": ("ACCELERATE_USE_PARALLELISM_CONFIG", "true"),
    "use_deepspeed": ("ACCELERATE_USE_DEEPSPEED", "true"),
    "cpu": ("ACCELERATE_USE_CPU", "True"),
    "debug": ("ACCELERATE_DEBUG_MODE", "true"),
    "enable_cpu_affinity": ("ACCELERATE_CPU_AFFINITY", "1"),
    "dynamo_use_fullgraph": ("ACCELERATE_DYNAMO_USE_FULLGRAPH", "True"),
    "dynamo_use_dynamic": ("ACCELERATE_DYNAMO_USE_DYNAMIC", "True"),
    "dynamo_use_regional_compilation": ("ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION", "True"),
    "fp8_use_autocast_during_eval": ("ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL", "True"),
}
_NAMES = {
    "mixed_precision": "ACCELERATE_MIXED_PRECISION",
    "dynamo_backend": "ACCELERATE_DYNAMO_BACKEND",
    "dynamo_mode": "ACCELERATE_DYNAMO_MODE",
    "num_cpu_threads_per_process": "OMP_NUM_THREADS",
    "fsdp_transformer_layer_cls_to_wrap": "FSDP_TRANSFORMER_CLS_TO_WRAP",
    "zero_stage": "ACCELERATE_DEEPSPEED_ZERO_STAGE",
    "gradient_accumulation_steps": "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
    "gradient_clipping": "ACCELERATE_GRADIENT_CLIPPING",
    "offload_optimizer_device": "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
    "offload_param_device": "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE",
    "zero3_init_flag": "ACCELERATE_DEEPSPEED_ZERO3_INIT",
    "zero3_save_16bit_model": "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL",
}
_PREFIXES = {
    "fsdp_": "",
    "megatron_lm_": "",
    "parallelism_config_": "",
    "fp8_": "ACCELERATE_",
}
# It tells each of these families only beside the option that turns the family on.
_OF_FAMILY = {
    "fsdp_": "use_fsdp",
    "megatron_lm_": "use_megatron_lm",
    "parallelism_config_": "use_parallelism_config",
    **dict.fromkeys(("zero", "gradient_", "offload_"), "use_deepspeed"),
}
# What these are given is written in small letters.
_SMALL = frozenset(
    (
        *("mixed_precision", "gradient_clipping", "offload_optimizer_device", "offload_param_device"),
        *("zero3_init_flag", "zero3_save_16bit_model", "fsdp_offload_params", "fsdp_forward_prefetch"),
        *("fsdp_reshard_after_forward", "fsdp_use_orig_params", "fsdp_cpu_ram_efficient_loading"),
        *("fsdp_sync_module_states", "fsdp_activation_checkpointing"),
    )
)
_OTHERS = frozenset(("fp8_override_linear_precision",))  # it becomes three


def variable(option: Option) -> tuple[str, str] | None:
    """The variable that stands for the option in each process, and its value; None where there is none, or
    the value is not known."""
    if option.name in _FLAGS and option.value is None:
        return _FLAGS[option.name]
    prefix = next((each for each in _PREFIXES if option.name.startswith(each)), None)
    name = _NAMES.get(option.name)
    if name is None and prefix is not None and option.name in OPTIONS and option.name not in _OTHERS:
        name = _PREFIXES[prefix] + option.name.upper()
    text = known(option.value) if option.value is not None else None
    if name is None or not text:
        return None
    if option.name == "dynamo_backend":
        return name, text.upper()
    return name, text.lower() if option.name in _SMALL else text


def family(option: Option) -> str:
    """The option without which it tells this one to nobody, "" for none."""
    return next((its for prefix, its in _OF_FAMILY.items() if option.name.startswith(prefix)), "")
