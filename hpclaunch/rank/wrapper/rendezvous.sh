hl_first_host() { # hl_master: the first of a Slurm node list: dgx003 of "dgx[003-140],login[1-2]"
  hl_list=$1
  hl_master=
  while :; do
    hl_head=${hl_list%%[[,]*}
    hl_master=$hl_master$hl_head
    hl_list=${hl_list#"$hl_head"}
    case $hl_list in
      '['*)
        hl_list=${hl_list#?}
        hl_group=${hl_list%%]*}
        hl_master=$hl_master${hl_group%%[-,]*}
        hl_list=${hl_list#*]}
        ;;
      *) break ;;
    esac
  done
}

if [ "$hl_from" = slurm ]; then
  hl_first_host "$SLURM_STEP_NODELIST"
  hl_port=$((61000 + (SLURM_JOB_ID * 7 + SLURM_STEP_ID) % 4500)) # above the ephemeral ports
else
  hl_master=${hl_master:-127.0.0.1}
fi
[ "$hl_rank" != 0 ] || [ "$hl_node" = 0 ] ||
  hl_fail "rank 0 is on node $hl_node and not on $hl_master, where MASTER_ADDR points"
export MASTER_ADDR="$hl_master" MASTER_PORT="$hl_port" RANK="$hl_rank" LOCAL_RANK="$hl_local"
export WORLD_SIZE="$hl_ranks" LOCAL_WORLD_SIZE="$hl_local_ranks" NODE_RANK="$hl_node"
