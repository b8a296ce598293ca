# Finds the nodes that are slow towards others and prints good ones, as `preflight` does: CLAIM WANTED SECONDS FLOOR NODES
# SRUN-WORD... The words measure an all_reduce with one task on a node, which must reach FLOOR GB/s. All nodes do it
# together, and mostly that is all. Else neighbours do by twos, all pairs at once; then each node of a slow pair with one
# of a good pair; and in the end those that the ranks get, together.
set -u -f
hl_wanted=$2 hl_seconds=$3 hl_floor=$4 hl_nodes=$5 hl_file=
[ -z "$1" ] || hl_file=${1%/*}/preflight
shift 5
hl_say() {
  printf 'hpclaunch: preflight: %s\n' "$1" >&2
  [ -z "$hl_file" ] || { printf '%s\n' "$1" >>"$hl_file"; } 2>/dev/null
}
hl_count_words() { hl_count=$#; }

hl_measure() { # NODE,NODE SRUN-WORD... Prints one line: NODE,NODE ok|slow|absent WHAT, or
# lacks NODE,NODE WHAT, of those that do not have the program
  hl_list=$1
  shift
  hl_count_words $(printf '%s\n' "$hl_list" | tr , ' ')
  # srun ends on SIGTERM with all that it started, wherever that answers.
  hl_said=$(timeout -k 30 "$hl_seconds" srun --nodes="$hl_count" --ntasks="$hl_count" --ntasks-per-node=1 \
    --nodelist="$hl_list" --input=none "$@" 2>&1)
  hl_status=$?
  hl_skip=$(printf '%s\n' "$hl_said" | sed -n 's/^hpclaunch-check \([^ ]*\) skip /\1 /p')
  hl_reached=$(printf '%s\n' "$hl_said" | sed -n 's/^# Avg bus bandwidth *: *\([0-9][0-9]*\).*/\1/p')
  hl_count_words $hl_reached
  hl_what="slow it failed with status $hl_status"
  case $hl_status in 124 | 137) hl_what="slow it said nothing within $hl_seconds s" ;; esac
  if [ -n "$hl_skip" ]; then
    hl_what=$(printf '%s\n' "$hl_skip" | head -n 1)
    hl_what="lacks $(printf '%s\n' "$hl_skip" | cut -d ' ' -f 1 | paste -s -d , -) ${hl_what#* }"
  elif [ "$hl_status" != 0 ]; then
    printf '%s\n' "$hl_said" | sed 's/^/preflight: /' >&2 # who asks why the job ended looks for ranks there
  elif [ "$hl_count" = 0 ]; then
    hl_what='slow it said no "# Avg bus bandwidth"'
  elif [ "$hl_count" != 1 ]; then
    hl_what='absent each node measured by itself: its program has no MPI, or not that of this Slurm'
  elif [ "$hl_reached" -lt "$hl_floor" ]; then
    hl_what="slow it reached $hl_reached GB/s of $hl_floor"
  else
    hl_what="ok $hl_reached"
  fi
  printf '%s %s\n' "$hl_list" "$hl_what"
}

hl_measure_pairs() { # SRUN-WORD... hl_said: a line for each of hl_pairs, of which no node is in two
  hl_said=$(
    for hl_pair in $hl_pairs; do hl_measure "$hl_pair" "$@" & done
    wait
  )
}

hl_fold() { # hl_pairs: the first of hl_ring with the last, and so on inwards; whoever is beside `.` is alone
  hl_pairs= hl_back= hl_left=0
  for hl_host in $hl_ring; do
    hl_back="$hl_host $hl_back" hl_left=$((hl_left + 1))
  done
  hl_left=$((hl_left / 2))
  set -- $hl_back
  for hl_host in $hl_ring; do
    [ "$hl_left" -gt 0 ] || break
    case " $hl_host $1 " in *' . '*) ;; *) hl_pairs="$hl_pairs $hl_host,$1" ;; esac
    hl_left=$((hl_left - 1))
    shift
  done
}

hl_turn() { # hl_ring with all but the first one place on, so that others meet
  set -- $hl_ring
  hl_first=$1 hl_back=$2
  shift 2
  hl_ring="$hl_first $* $hl_back"
}

hl_choose() { # hl_chosen: the first that are good, as many as the ranks need. All are named that are not
  hl_chosen= hl_have=0
  for hl_host in $hl_hosts; do
    case $hl_good in *" $hl_host "*) ;; *) continue ;; esac
    hl_have=$((hl_have + 1))
    [ "$hl_have" -gt "$hl_wanted" ] || hl_chosen="$hl_chosen${hl_chosen:+,}$hl_host"
  done
  [ "$hl_have" -lt "$hl_wanted" ] || return 0
  hl_say "only $hl_have of $hl_total nodes are good, and the ranks need $hl_wanted"
  exit 122
}

hl_end() {
  hl_say "the ranks are on $hl_chosen"
  printf '%s\n' "$hl_chosen"
  exit 0
}

if [ -z "$hl_nodes" ]; then # nothing else was checked
  hl_nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -s -d ,) || exit 122
  [ -z "$hl_file" ] || { : >"$hl_file"; } 2>/dev/null
fi
hl_hosts=$(printf '%s\n' "$hl_nodes" | tr , ' ')
hl_count_words $hl_hosts
hl_total=$hl_count hl_good=" $hl_hosts "
# A node without the program that others have is bad; without it anywhere nothing is measured. srun may have ended
# nodes that lack it too before they said so.
hl_lacking=' ' hl_more=$hl_nodes
while :; do
  hl_said=$(hl_measure "$hl_more" "$@")
  hl_what=${hl_said#* } hl_back=$hl_more hl_more=
  case $hl_what in lacks*) ;; *) break ;; esac
  hl_what=${hl_what#lacks }
  hl_lacking="$hl_lacking$(printf '%s\n' "${hl_what%% *}" | tr , ' ') " hl_lacks=${hl_what#* }
  for hl_host in $hl_hosts; do
    case $hl_lacking in *" $hl_host "*) ;; *) hl_more="$hl_more${hl_more:+,}$hl_host" ;; esac
  done
  if [ -z "$hl_more" ] || [ "$hl_more" = "$hl_back" ]; then
    hl_what="absent $hl_lacks" hl_lacking=' '
    break
  fi
done
if [ "$hl_lacking" != ' ' ]; then
  for hl_host in $hl_lacking; do hl_say "$hl_host is left out: $hl_lacks"; done
  hl_hosts=$(printf '%s\n' "$hl_back" | tr , ' ')
  hl_good=" $hl_hosts "
  hl_count_words $hl_hosts
  [ "$hl_count" -ge "$hl_wanted" ] || hl_choose
  hl_total=$hl_count
fi
case $hl_what in
  ok*) hl_choose && hl_end ;;
  absent*)
    hl_say "not checked: all_reduce between nodes: ${hl_what#* }"
    hl_choose && hl_end
    ;;
esac
hl_say "an all_reduce over all $hl_total nodes: ${hl_what#* }"

# Each with its neighbour, who is often on the same switch. No good pair in that: each with another, a few times.
hl_front= hl_back= hl_first= hl_good=' '
[ $((hl_total % 2)) = 0 ] || hl_first=.
for hl_host in $hl_hosts; do
  if [ -z "$hl_first" ]; then
    hl_first=$hl_host
  else
    hl_front="$hl_front $hl_first" hl_back="$hl_host $hl_back" hl_first=
  fi
done
hl_ring="$hl_front $hl_back" hl_again=0
while [ "$hl_good" = ' ' ] && [ "$hl_total" -gt 2 ] && [ "$hl_again" -lt 5 ]; do
  hl_fold
  hl_measure_pairs "$@"
  while read -r hl_pair hl_what; do
    case $hl_what in
      ok*) hl_good="$hl_good${hl_pair%,*} ${hl_pair#*,} " ;;
      *) hl_say "an all_reduce of ${hl_pair%,*} and ${hl_pair#*,}: ${hl_what#* }" ;;
    esac
  done <<HL_END
$hl_said
HL_END
  hl_again=$((hl_again + 1))
  hl_turn
done

hl_known= hl_rest=
for hl_host in $hl_hosts; do
  case $hl_good in *" $hl_host "*) hl_known="$hl_known $hl_host" ;; *) hl_rest="$hl_rest $hl_host" ;; esac
done
if [ -z "$hl_known" ]; then
  for hl_host in $hl_rest; do hl_say "$hl_host is left out: with no other node it is fast enough"; done
  hl_choose
fi
while [ -n "$hl_rest" ]; do
  hl_pairs= hl_more= hl_free=$hl_known
  for hl_host in $hl_rest; do
    if [ -z "$hl_free" ]; then
      hl_more="$hl_more $hl_host"
      continue
    fi
    hl_free=${hl_free# }
    hl_pairs="$hl_pairs ${hl_free%% *},$hl_host"
    case $hl_free in *' '*) hl_free=" ${hl_free#* }" ;; *) hl_free= ;; esac
  done
  hl_measure_pairs "$@"
  while read -r hl_pair hl_what; do
    case $hl_what in
      ok*) hl_good="$hl_good${hl_pair#*,} " ;;
      *) hl_say "${hl_pair#*,} is left out: an all_reduce with ${hl_pair%,*}: ${hl_what#* }" ;;
    esac
  done <<HL_END
$hl_said
HL_END
  hl_rest=$hl_more
done

hl_choose
hl_said=$(hl_measure "$hl_chosen" "$@")
hl_what=${hl_said#* }
case $hl_what in ok*) hl_end ;; esac
hl_say "the network is slow between the nodes: all $hl_wanted of the ranks together: ${hl_what#* }"
exit 122
