# Cores on a part of a node. A core is POOL.NODE:CPU,CPU with those of its siblings that the job has. The
# division is that of whole nodes (plan/split.py): of a pool's cores among the GPUs that it is nearest to, and
# of a GPU's among the ranks that share it.
hl_run() { # hl_got: of the words after them, run $1 of $2 contiguous ones, larger first; they share too few
  hl_part_no=$1 hl_parts=$2
  shift 2
  hl_size=$(($# / hl_parts)) hl_larger=$(($# % hl_parts))
  if [ $# -lt "$hl_parts" ]; then
    hl_start=$((hl_part_no * $# / hl_parts)) hl_size=$(($# > 0))
  elif [ "$hl_part_no" -lt "$hl_larger" ]; then
    hl_start=$((hl_part_no * hl_size + hl_part_no)) hl_size=$((hl_size + 1))
  else
    hl_start=$((hl_part_no * hl_size + hl_larger))
  fi
  shift "$hl_start"
  hl_got=
  while [ "$hl_size" -gt 0 ]; do
    hl_got="$hl_got $1"
    hl_size=$((hl_size - 1))
    shift
  done
}

hl_add_thread() { # hl_row: each core of it with the next of the CPUs after it, where the job has that
  hl_next=
  for hl_core in $hl_row; do
    case $hl_allowed in *" $1 "*) hl_core=$hl_core,$1 ;; esac
    hl_next="$hl_next $hl_core"
    shift
  done
  hl_row=$hl_next
}

hl_share() { # hl_got: the cores of the granted GPU number $1
  hl_nth "$1" $hl_pools
  hl_ordinal=0 hl_count=0 hl_index=0 hl_in_pool=
  for hl_pool in $hl_pools; do
    if [ "$hl_pool" = "$hl_entry" ]; then
      [ "$hl_index" -ge "$1" ] || hl_ordinal=$((hl_ordinal + 1))
      hl_count=$((hl_count + 1))
    fi
    hl_index=$((hl_index + 1))
  done
  for hl_core in $hl_job_cores; do
    case $hl_core in "$hl_entry."*) hl_in_pool="$hl_in_pool $hl_core" ;; esac
  done
  hl_run "$hl_ordinal" "$hl_count" $hl_in_pool
}

hl_add() { # hl_own_cores: with the words after it, each once
  for hl_core; do
    case "$hl_own_cores " in *" $hl_core "*) ;; *) hl_own_cores="$hl_own_cores $hl_core" ;; esac
  done
}

hl_count_words() { # hl_count
  hl_count=$#
}

hl_read_allowed
hl_job_cores=
for hl_entry in $hl_cores; do
  hl_lists=${hl_entry#*:}/ hl_row=
  hl_expand "${hl_lists%%/*}"
  for hl_cpu in $hl_numbers; do hl_row="$hl_row ${hl_entry%%:*}:"; done
  while [ -n "$hl_lists" ]; do
    hl_expand "${hl_lists%%/*}"
    hl_lists=${hl_lists#*/}
    hl_add_thread $hl_numbers
  done
  for hl_core in $hl_row; do
    case $hl_core in *,*) hl_job_cores="$hl_job_cores ${hl_core%%,*}${hl_core#*,}" ;; esac
  done
done

# The pool of each granted GPU: the nearest in which the job has cores.
hl_pools=
for hl_gpu in $hl_granted; do
  hl_pool=-
  case $hl_gpu in
    -/*) ;;
    *)
      hl_nth "${hl_gpu%%/*}" $hl_gpus
      hl_entry=${hl_entry#*|}
      hl_list=${hl_entry%%|*},
      while [ -n "$hl_list" ]; do
        case $hl_job_cores in *" ${hl_list%%,*}."*) hl_pool=${hl_list%%,*} hl_list= ;; esac
        hl_list=${hl_list#*,}
      done
      ;;
  esac
  hl_pools="$hl_pools $hl_pool"
done

# Where nothing holds the job to its cores, the kernel allows every one, and which are the job's is not known.
# slurm.conf may count CPUs in threads or in cores.
hl_count_words $hl_allowed
hl_has=$hl_count
hl_granted_cpus=${SLURM_CPUS_ON_NODE:-$hl_has}
hl_confined=
[ "$hl_has" -gt "$hl_granted_cpus" ] || hl_confined=1
if [ -z "$hl_confined" ]; then
  hl_read "$hl_root/sys/devices/system/cpu/online"
  hl_expand "${hl_text#'?'}"
  hl_count_words $hl_numbers
  hl_online=$hl_count
  hl_count_words $hl_job_cores
  [ "$hl_has" -ge "$hl_online" ] || [ "$hl_count" -gt "$hl_granted_cpus" ] || hl_confined=1
fi
if [ -n "$hl_unbound" ] || [ -z "$hl_part" ]; then
  :
elif [ -z "$hl_confined" ]; then
  hl_unbound=1
  hl_warn "ranks are not bound: the job has $hl_granted_cpus CPUs here and may run on $hl_has. Slurm does not confine jobs to their cores (ConstrainCores=yes in cgroup.conf)"
elif [ -z "$hl_job_cores" ]; then
  hl_unbound=1
  hl_warn "ranks are not bound: the job's CPUs ($hl_value) are none of those of the node's type"
fi
# Where a GPU of its is not known, neither is what is near.
case $hl_own in *' -/'*) hl_unbound=1 ;; esac
case $hl_unbound/$hl_seated in
  1*) ;;
  /)
    hl_run "$hl_local" "$hl_local_ranks" $hl_job_cores
    hl_add $hl_got
    ;;
  *" $hl_local:"*)
    for hl_position in $hl_seated; do
      [ "${hl_position%:*}" = "$hl_local" ] || continue
      hl_share "${hl_position#*:}"
      hl_ordinal=0 hl_count=0
      for hl_seat in $hl_seated; do
        [ "${hl_seat#*:}" = "${hl_position#*:}" ] || continue
        hl_count=$((hl_count + 1))
        [ "${hl_seat%:*}" -ge "$hl_local" ] || hl_ordinal=$((hl_ordinal + 1))
      done
      [ "$hl_count" = 1 ] || hl_run "$hl_ordinal" "$hl_count" $hl_got
      hl_add $hl_got
    done
    ;;
  *) # without a GPU: the cores that are no GPU's, or where there are none, all
    hl_taken= hl_position=0
    for hl_gpu in $hl_granted; do
      hl_share "$hl_position"
      hl_taken="$hl_taken$hl_got "
      hl_position=$((hl_position + 1))
    done
    for hl_core in $hl_job_cores; do
      case $hl_taken in *" $hl_core "*) ;; *) hl_add "$hl_core" ;; esac
    done
    [ -n "$hl_own_cores" ] || hl_own_cores=$hl_job_cores
    ;;
esac
