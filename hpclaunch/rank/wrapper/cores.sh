# Cores on a part of a node. A core is POOL.NODE:CPU,CPU with those of its siblings that the job has. The
# division is that of whole nodes (plan/split.py): of a pool's cores among the GPUs that it is nearest to, and
# of a GPU's among the ranks that share it.
hl_take_part() { # hl_got: part $1 of $2 of the words after them, in runs, larger first; too few are shared
  hl_which=$1 hl_of=$2
  shift 2
  hl_size=$(($# / hl_of)) hl_larger=$(($# % hl_of))
  if [ $# -lt "$hl_of" ]; then
    hl_start=$((hl_which * $# / hl_of)) hl_size=$(($# > 0))
  elif [ "$hl_which" -lt "$hl_larger" ]; then
    hl_start=$((hl_which * hl_size + hl_which)) hl_size=$((hl_size + 1))
  else
    hl_start=$((hl_which * hl_size + hl_larger))
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

hl_take_cores() { # hl_got: the cores of the granted GPU number $1, its part of its pool
  hl_nth "$1" $hl_pools
  hl_before=0 hl_sharing=0 hl_index=0 hl_in_pool=
  for hl_pool in $hl_pools; do
    if [ "$hl_pool" = "$hl_entry" ]; then
      [ "$hl_index" -ge "$1" ] || hl_before=$((hl_before + 1))
      hl_sharing=$((hl_sharing + 1))
    fi
    hl_index=$((hl_index + 1))
  done
  for hl_core in $hl_job_cores; do
    case $hl_core in "$hl_entry."*) hl_in_pool="$hl_in_pool $hl_core" ;; esac
  done
  hl_take_part "$hl_before" "$hl_sharing" $hl_in_pool
}

hl_find_sharers() { # hl_sharing: how many ranks have the granted GPU number $1; hl_before: of these before this
  hl_before=0 hl_sharing=0
  for hl_seat in $hl_seated; do
    [ "${hl_seat#*:}" = "$1" ] || continue
    hl_sharing=$((hl_sharing + 1))
    [ "${hl_seat%:*}" -ge "$hl_local" ] || hl_before=$((hl_before + 1))
  done
}

hl_give() { # hl_spare: with the last of a GPU's cores; hl_got: the others. hl_sharing ranks have one each
  [ $# -gt "$hl_sharing" ] || return 0
  hl_got=
  while [ $# -gt 1 ]; do
    hl_got="$hl_got $1"
    shift
  done
  hl_spare="$hl_spare $1"
}

hl_add_own() { # hl_own_cores: with the words after it, each once
  for hl_core; do
    case "$hl_own_cores " in *" $hl_core "*) ;; *) hl_own_cores="$hl_own_cores $hl_core" ;; esac
  done
}

# The job's cores: those of the table (POOL.NODE:LIST/LIST) with a CPU that this process may use.
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

# Are these the job's alone? Where nothing holds it to its cores, the kernel allows every one, and which are
# the job's is not known. slurm.conf may count CPUs in threads or in cores.
hl_count_words $hl_allowed
hl_may_use=$hl_count
hl_job_cpus=${SLURM_CPUS_ON_NODE:-$hl_may_use}
hl_confined=
[ "$hl_may_use" -gt "$hl_job_cpus" ] || hl_confined=1
if [ -z "$hl_confined" ]; then
  hl_read "$hl_root/sys/devices/system/cpu/online"
  hl_expand "${hl_text#'?'}"
  hl_count_words $hl_numbers
  hl_online_cpus=$hl_count
  hl_count_words $hl_job_cores
  [ "$hl_may_use" -ge "$hl_online_cpus" ] || [ "$hl_count" -gt "$hl_job_cpus" ] || hl_confined=1
fi
if [ -n "$hl_unbound" ] || [ -z "$hl_part" ]; then
  :
elif [ -z "$hl_confined" ]; then
  hl_unbound=1
  hl_warn "ranks are not bound: the job has $hl_job_cpus CPUs here and may run on $hl_may_use. Slurm does not confine jobs to their cores (ConstrainCores=yes in cgroup.conf)"
elif [ -z "$hl_job_cores" ]; then
  hl_unbound=1
  hl_warn "ranks are not bound: the job's CPUs ($hl_allowed_list) are none of those of the node's type"
fi
# Where a GPU of its is not known, neither is what is near.
case $hl_own in *' -/'*) hl_unbound=1 ;; esac

# Ranks without a GPU beside others have the cores that are no GPU's. Where there are none, each GPU gives its
# last one, if its ranks have others.
hl_spare= hl_giving=
case $hl_unbound/$hl_seated/\;$hl_seats\; in
  /?*';;'*)
    hl_taken= hl_position=0
    for hl_gpu in $hl_granted; do
      hl_take_cores "$hl_position"
      hl_taken="$hl_taken$hl_got "
      hl_position=$((hl_position + 1))
    done
    for hl_core in $hl_job_cores; do
      case $hl_taken in *" $hl_core "*) ;; *) hl_spare="$hl_spare $hl_core" ;; esac
    done
    [ -n "$hl_spare" ] || hl_giving=1
    ;;
esac

# This rank's cores.
case $hl_unbound/$hl_seated in
  1*) ;;
  /) # a job without GPUs
    hl_take_part "$hl_local" "$hl_local_ranks" $hl_job_cores
    hl_add_own $hl_got
    ;;
  *" $hl_local:"*) # its part of the cores of each of its GPUs
    for hl_entry in $hl_seated; do
      [ "${hl_entry%:*}" = "$hl_local" ] || continue
      hl_position=${hl_entry#*:}
      hl_take_cores "$hl_position"
      hl_find_sharers "$hl_position"
      [ -z "$hl_giving" ] || hl_give $hl_got
      [ "$hl_sharing" = 1 ] || hl_take_part "$hl_before" "$hl_sharing" $hl_got
      hl_add_own $hl_got
    done
    ;;
  *) # without a GPU; where no rank has a core to spare, all
    hl_position=0
    for hl_gpu in $hl_granted; do
      [ -n "$hl_giving" ] || break
      hl_take_cores "$hl_position"
      hl_find_sharers "$hl_position"
      hl_give $hl_got
      hl_position=$((hl_position + 1))
    done
    hl_add_own ${hl_spare:-$hl_job_cores}
    ;;
esac
