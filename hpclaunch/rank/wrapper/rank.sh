# Who am I?
case $hl_from in
  slurm)
    hl_rank=$SLURM_PROCID hl_local=$SLURM_LOCALID hl_node=$SLURM_NODEID
    hl_ranks=$SLURM_STEP_NUM_TASKS hl_nodes=$SLURM_STEP_NUM_NODES
    ;;
  openmpi)
    hl_rank=$OMPI_COMM_WORLD_RANK hl_ranks=$OMPI_COMM_WORLD_SIZE
    hl_divide "$OMPI_COMM_WORLD_LOCAL_RANK" "$OMPI_COMM_WORLD_LOCAL_SIZE"
    ;;
  hydra) # MPICH, Intel MPI
    hl_rank=$PMI_RANK hl_ranks=$PMI_SIZE
    hl_divide "$MPI_LOCALRANKID" "$MPI_LOCALNRANKS"
    ;;
  local) hl_local=$hl_rank hl_node=0 hl_nodes=1 ;;
  *) hl_fail "no setting says where the rank's number comes from (from=$hl_from)" ;;
esac
hl_local_ranks=$((hl_ranks / hl_nodes))
hl_name_node
[ "$hl_table" != other ] ||
  hl_fail "no node type of the site has the host $hl_here, so its cores and HCAs are not known; they have$hl_tables"
