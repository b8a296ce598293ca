# Checks nodes of this job and prints the good ones, in their order, with commas: CLAIM WANTED SECONDS all|first NODES
# SRUN-WORD... NODES "" are all of the job's; `first` prints no more than WANTED. What is bad is said, and noted beside
# CLAIM. Fails with 122 where fewer than WANTED are good.
set -u -f
hl_wanted=$2 hl_seconds=$3 hl_which=$4 hl_nodes=$5 hl_file=
[ -z "$1" ] || hl_file=${1%/*}/preflight
shift 5
hl_say() {
  printf 'hpclaunch: preflight: %s\n' "$1" >&2
  [ -z "$hl_file" ] || { printf '%s\n' "$1" >>"$hl_file"; } 2>/dev/null
}
if [ -z "$hl_nodes" ]; then
  hl_nodes=$SLURM_JOB_NODELIST
  [ -z "$hl_file" ] || { : >"$hl_file"; } 2>/dev/null # a job that starts again checks again
fi
hl_hosts=$(scontrol show hostnames "$hl_nodes") || exit 122
hl_ok=' ' hl_bad=' ' hl_left= hl_lacking=' ' hl_lacks= hl_has= hl_status=0 hl_rest=$hl_hosts
hl_blame() { # NODE WHY
  hl_bad="$hl_bad$1 "
  hl_say "$1 is left out: $2"
}
hl_note() { # NODE: it has been looked at
  case $hl_lacking in *" $1 "*) ;; *) hl_has=1 ;; esac
}
hl_hear() { # a line
  case $1 in
    'hpclaunch-check '*' ok')
      hl_host=${1#* }
      hl_ok="$hl_ok${hl_host% ok} "
      hl_note "${hl_host% ok}"
      ;;
    'hpclaunch-check '*' bad '*)
      hl_host=${1#* }
      hl_blame "${hl_host%% *}" "${hl_host#* bad }"
      hl_note "${hl_host%% *}"
      ;;
    'hpclaunch-check '*' skip all_reduce: '*)
      hl_host=${1#* }
      hl_lacking="$hl_lacking${hl_host%% *} " hl_lacks=${1#* skip }
      ;;
    'hpclaunch-check '*' skip '*)
      case $hl_left in *"|${1#* skip }|"*) return ;; esac
      hl_left="$hl_left|${1#* skip }|"
      hl_say "not checked: ${1#* skip }"
      ;;
    'srun: error: Task launch for '*' failed on node '*)
      hl_host=${1##* failed on node }
      hl_blame "${hl_host%%:*}" "nothing can be started there (${hl_host#*: })"
      hl_again=1
      ;;
    ?*) printf 'preflight: %s\n' "$1" >&2 ;; # who asks why the job ended looks for ranks there
  esac
}

# Where srun cannot start the check on a node it ends that of all others: they are asked once more.
for hl_round in 1 2 3; do
  hl_list= hl_count=0 hl_again=
  for hl_host in $hl_rest; do
    hl_list="$hl_list${hl_list:+,}$hl_host"
    hl_count=$((hl_count + 1))
  done
  [ "$hl_count" != 0 ] || break
  # srun ends on SIGTERM with all that it started, wherever that answers.
  hl_said=$(timeout -k 30 "$hl_seconds" srun --nodes="$hl_count" --ntasks="$hl_count" --ntasks-per-node=1 \
    --nodelist="$hl_list" --input=none "$@" 2>&1)
  hl_status=$?
  while IFS= read -r hl_line; do hl_hear "$hl_line"; done <<EOF
$hl_said
EOF
  [ -n "$hl_again" ] || break
  hl_more=
  for hl_host in $hl_rest; do
    case $hl_ok$hl_bad in *" $hl_host "*) ;; *) hl_more="$hl_more $hl_host" ;; esac
  done
  hl_rest=$hl_more
done

# A node without the program that others have is bad; without it anywhere nothing is measured.
if [ -n "$hl_has" ]; then
  for hl_host in $hl_lacking; do hl_blame "$hl_host" "$hl_lacks"; done
elif [ -n "$hl_lacks" ]; then
  hl_say "not checked: $hl_lacks"
fi
hl_why="it said nothing, and srun ended with status $hl_status"
case $hl_status in 124 | 137) hl_why="it said nothing within $hl_seconds s" ;; esac
hl_good= hl_have=0 hl_count=0
for hl_host in $hl_hosts; do
  hl_count=$((hl_count + 1))
  case $hl_bad in *" $hl_host "*) continue ;; esac
  case $hl_ok in
    *" $hl_host "*)
      hl_have=$((hl_have + 1))
      [ "$hl_which" = all ] || [ "$hl_have" -le "$hl_wanted" ] || continue
      hl_good="$hl_good${hl_good:+,}$hl_host"
      continue
      ;;
  esac
  hl_say "$hl_host is left out: $hl_why"
done
if [ "$hl_have" -lt "$hl_wanted" ]; then
  hl_say "only $hl_have of $hl_count nodes are good, and the ranks need $hl_wanted"
  exit 122
fi
[ "$hl_which" = all ] || hl_say "the ranks are on $hl_good"
printf '%s\n' "$hl_good"
