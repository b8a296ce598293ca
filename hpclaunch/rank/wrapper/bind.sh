# Cores for this process and all that come of it, memory by numactl. Empty: not bound.
hl_pick "$hl_local" "$hl_cpus"
hl_bind=$hl_entry
hl_pick "$hl_local" "$hl_membind"
hl_nodes=$hl_entry
hl_pick "$hl_local" "$hl_preferred"
hl_prefer=${hl_entry%%[-,]*} # numactl takes one node
if [ -n "$hl_part" ]; then
  hl_list= hl_numbers=
  for hl_core in $hl_own_cores; do
    hl_list=$hl_list,${hl_core#*:}
    hl_number=${hl_core%%:*}
    hl_number=${hl_number#*.}
    case "$hl_numbers," in *",$hl_number,"*) ;; *) hl_numbers=$hl_numbers,$hl_number ;; esac
  done
  hl_numbers=${hl_numbers#,}
  case ,$hl_part, in *,cpus,*) hl_bind=${hl_list#,} ;; esac
  case ,$hl_part, in
    *,membind,*) hl_nodes=$hl_numbers ;;
    *,preferred,*) hl_prefer=${hl_numbers%%,*} ;;
  esac
fi
if [ -n "$hl_bind" ]; then
  if ! command -v taskset >/dev/null; then
    hl_warn "neither cores nor memory are bound: there is no taskset"
    hl_nodes= hl_prefer=
  elif [ -n "$hl_besteffort" ]; then
    hl_try_cores
  elif ! taskset -pc "$hl_bind" $$ >/dev/null; then
    hl_fail "could not bind to the cores $hl_bind"
  fi
fi
if [ -n "$hl_nodes$hl_prefer" ]; then
  if command -v numactl >/dev/null; then
    hl_tool=$(command -v numactl) # the job's PATH may have none
    hl_policy=--membind=$hl_nodes
    [ -n "$hl_nodes" ] || hl_policy=--preferred=$hl_prefer
    [ -z "$hl_besteffort" ] || hl_try_policy
  else
    hl_warn "memory is not bound: there is no numactl"
  fi
fi
