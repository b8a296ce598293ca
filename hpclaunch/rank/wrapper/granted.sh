# On a part of a node: which GPUs of the table (PCI|POOL,...|HCA,...) are the job's here, and which this rank's?
hl_nth() { # hl_entry: word $1, from 0, of those after it, "" beyond the last
  shift $(($1 + 1 < $# ? $1 + 1 : $#))
  hl_entry=${1-}
}

hl_table_index() { # hl_index: where the table has the GPU at $1, the node's number $2; "-" where it has not
  hl_index=0
  for hl_entry in $hl_gpus; do
    case $hl_entry in
      "$1|"*) return ;;
      '|'*) [ "$hl_index" != "$2" ] || [ "$hl_shown" -lt "$hl_of_node" ] || return 0 ;; # without addresses
    esac
    hl_index=$((hl_index + 1))
  done
  hl_index=-
}

# Seated: LOCAL_RANK:POSITION for each rank and granted GPU of its. So many GPUs the job must have.
hl_seated= hl_needed=0
hl_seat=0 hl_list=$hl_seats\;
while [ -n "$hl_list" ]; do
  hl_expand "${hl_list%%;*}"
  hl_list=${hl_list#*;}
  for hl_number in $hl_numbers; do
    hl_seated="$hl_seated $hl_seat:$hl_number"
    [ "$hl_number" -lt "$hl_needed" ] || hl_needed=$((hl_number + 1))
  done
  hl_seat=$((hl_seat + 1))
done

hl_count_words $hl_gpus
hl_of_node=$hl_count
# Granted: the job's GPUs here in PCI order, INDEX/PCI with the place in the table, "-" for a strange one.
hl_granted= hl_count=0 hl_strange=
hl_expand "${SLURM_STEP_GPUS:-${SLURM_JOB_GPUS-}}"
if [ "$hl_open" = '?' ]; then
  for hl_index in $hl_numbers; do
    hl_nth "$hl_index" $hl_gpus
    [ -n "$hl_entry" ] || hl_strange="$hl_strange number $hl_index" hl_index=-
    hl_granted="$hl_granted $hl_index/${hl_entry%%|*}"
    hl_count=$((hl_count + 1))
  done
else
  for hl_gpu in $hl_open; do
    hl_pci=${hl_gpu##*/} hl_minor=${hl_gpu#*/}
    hl_minor=${hl_minor%/*}
    case " ${hl_numbers:-"$hl_minor "}" in *" $hl_minor "*) ;; *) continue ;; esac
    hl_table_index "$hl_pci" "${hl_gpu%%/*}"
    hl_granted="$hl_granted $hl_index/$hl_pci"
    [ "$hl_index" != - ] || hl_strange="$hl_strange $hl_pci"
    hl_count=$((hl_count + 1))
  done
fi
if [ "$hl_count" -lt "$hl_needed" ]; then
  hl_unbound=1
  hl_warn "ranks are not bound: GPUs of the job found here: $hl_count, needed: $hl_needed"
elif [ -n "$hl_seated" ] && [ -n "$hl_strange" ]; then
  case $hl_gpus/$hl_open in
    '|'*/[!?]*) hl_why="has no addresses, and $hl_of_node GPUs where $hl_shown are seen" ;;
    *) hl_why='has none there' ;;
  esac
  hl_warn "the ranks of these GPUs are not bound, since the node's type $hl_why:$hl_strange"
fi

for hl_entry in $hl_seated; do
  [ "${hl_entry%:*}" = "$hl_local" ] || continue
  hl_nth "${hl_entry#*:}" $hl_granted
  hl_own="$hl_own $hl_entry"
done
