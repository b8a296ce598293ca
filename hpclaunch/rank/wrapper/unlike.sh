hl_local_ranks=${hl_each:-$hl_local_ranks} # other groups of this world may have more or fewer
if [ -n "$hl_each" ] && [ -n "$hl_master" ]; then
  # Slurm sorts the nodes of a step that several allocations carry. Rank 0 is on the first of the first one's.
  if [ -z "${hl_member-}" ] && [ -n "${SLURM_JOB_NODELIST_HET_GROUP_0-}" ]; then
    hl_first_host "$SLURM_JOB_NODELIST_HET_GROUP_0"
  fi
  export MASTER_ADDR="$hl_master" LOCAL_WORLD_SIZE="$hl_local_ranks"
fi
