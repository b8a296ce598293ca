"""What the source of pyslurm (https://github.com/PySlurm/pyslurm) says of a submission.

Read from pyslurm/core/job/submission.pxd and .pyx, and pyslurm/core/error.pyx, at the tags v22.5.3, v23.2.3,
v23.11.0, v24.5.0, v24.11.0, v25.5.0 and v25.11.2.
"""

# The public attributes of JobSubmitDescription that all of these have, by name.
_NAMES = """
    account accounting_gather_frequency admin_comment array batch_constraints begin_time cluster_constraints
    clusters comment constraints container cores_per_socket cores_reserved_for_system cpu_frequency
    cpus_per_gpu cpus_per_task deadline delay_boot_time dependencies distribution environment excluded_nodes
    get_user_environment gpu_binding gpus gpus_per_socket gpus_per_task gres_binding gres_per_node group_id
    is_requeueable kill_on_invalid_dependency kill_on_node_fail licenses log_files_open_mode mail_types
    mail_user mcs_label memory_per_cpu memory_per_gpu memory_per_node min_cpus_per_node name network nice
    nodes ntasks ntasks_per_core ntasks_per_gpu ntasks_per_node ntasks_per_socket overcommit partitions
    priority profile_types qos required_nodes requires_contiguous_nodes requires_node_reboot reservations
    resource_sharing script script_args signal site_factor sockets_per_node spreads_over_nodes
    standard_error standard_in standard_output switches temporary_disk_per_node threads_per_core
    threads_reserved_for_system time_limit time_limit_min use_min_nodes user_id wait_all_nodes wckey
    working_directory
"""
ATTRIBUTES = frozenset(_NAMES.split())
# Set there in vain in at least one of them: never read, or read by a conversion that is not called or raises.
IN_VAIN = frozenset(["cores_reserved_for_system", "memory_per_gpu", "signal", "switches"])
# As inspect.signature writes them; SLURM_ERROR is -1 (slurm/slurm_errno.h).
SIGNATURES = {
    "JobSubmitDescription": "(**kwargs)",
    "JobSubmitDescription.submit": "(self)",
    "RPCError": "(errno=-1, msg=None)",
}
BASES = {"RPCError": "PyslurmError", "PyslurmError": "Exception"}
