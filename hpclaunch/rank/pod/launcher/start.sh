hl_refer() { # hl_line: and the words with these numbers
  for hl_number; do hl_line="$hl_line \"\${$hl_number}\""; done
}

hl_refer_to_starter() { # hl_line: and what starts one process on each worker, or on the first, of all words "$@"
  hl_before= hl_processes=0
  for hl_host in $hl_workers; do hl_processes=$((hl_processes + 1)); done
  [ "$hl_per" = node ] || hl_processes=1
  for hl_number in $hl_starter; do
    eval "hl_word=\${$hl_number}"
    case $hl_per/$hl_before in
      */-np | */-n) hl_line="$hl_line $hl_processes" ;;
      */-ppn) hl_line="$hl_line 1" ;;
      node/--map-by) hl_line="$hl_line ppr:1:node" ;;
      *) hl_line="$hl_line \"\${$hl_number}\"" ;;
    esac
    hl_before=$hl_word
  done
}

hl_start() { # hl_status: of the words hl_words, per hl_per: rank, node or job. "$@" are all words
  hl_line=
  if [ "$hl_per" = rank ]; then
    hl_refer $hl_starter $hl_rank
  else
    [ -z "$hl_hosts" ] || hl_refer_to_starter "$@"
    hl_refer $hl_alone
  fi
  hl_line="$hl_line --"
  hl_refer $hl_environment
  if [ -n "$hl_trial" ]; then
    hl_line="$hl_line \"HPCLAUNCH_TRIAL=\$hl_trial\""
    [ -z "$hl_seed_name" ] || hl_line="$hl_line \"\$hl_seed_name=\$hl_seed\""
  fi
  hl_line="$hl_line --"
  hl_refer $hl_words
  eval "set -- $hl_line"
  hl_run "$@"
}

# A container's first process gets the signal that ends its pod, and passes it on. What is to run after all has
# the time that the kubelet leaves then.
hl_child= hl_ended=
trap 'hl_ended=143; [ -z "$hl_child" ] || kill -TERM "$hl_child" 2>/dev/null' TERM
trap 'hl_ended=130; [ -z "$hl_child" ] || kill -TERM "$hl_child" 2>/dev/null' INT
hl_default= # what a shell starts in the background ignores these two
! env --default-signal=INT,QUIT true 2>/dev/null || hl_default="env --default-signal=INT,QUIT"

hl_run() { # hl_status: of the command "$@"
  hl_known=$hl_ended
  $hl_default "$@" &
  hl_child=$!
  [ "$hl_ended" = "$hl_known" ] || kill -TERM "$hl_child" 2>/dev/null
  while :; do
    wait "$hl_child"
    hl_status=$?
    kill -0 "$hl_child" 2>/dev/null || break # else a signal ended the wait alone
  done
  hl_child=
}
