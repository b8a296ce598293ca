hl_say() {
  printf 'hpclaunch: %s\n' "$1" >&2
}

hl_do_steps() { # hl_failed: status of the first that fails of the steps hl_when. After it only those of after run
  hl_failed=0
  hl_queue=$hl_steps
  while [ -n "$hl_queue" ]; do
    hl_queue=${hl_queue#' /'}
    hl_step=${hl_queue%%' /'*}
    hl_queue=${hl_queue#"$hl_step"}
    [ "${hl_step%%/*}" = "$hl_when" ] || continue
    [ "$hl_failed$hl_ended" = 0 ] || [ "$hl_when" = after ] || return 0
    hl_words=
    case $hl_step in *' '*) hl_words=${hl_step#* } ;; esac
    hl_step=${hl_step%% *}
    hl_per=${hl_step#*/}
    hl_per=${hl_per%%/*}
    eval "hl_title=\${${hl_step##*/}#*=}"
    hl_say "$hl_title"
    hl_start "$@"
    [ "$hl_status" != 0 ] || continue
    hl_text="$hl_title failed with status $hl_status"
    case $hl_step in
      */1/*) hl_text="$hl_text; it is optional" ;;
      *) [ "$hl_failed" != 0 ] || hl_failed=$hl_status ;;
    esac
    hl_say "$hl_text"
  done
}

hl_choose_seed() { # hl_seed, or hl_failed
  if [ -n "$hl_first_seed" ]; then
    hl_seed=$((hl_first_seed + hl_trial - 1))
  elif hl_seed=$(od -A n -N 4 -t u4 /dev/urandom); then
    hl_seed=$((hl_seed & 2147483647))
  else
    hl_failed=121
    hl_say "launcher: the image has no od for a random $hl_seed_name: give the trials a first_seed"
    return 1
  fi
}

hl_do_trial() { # hl_failed: status of the trial hl_trial, or of the one run of a job without trials
  hl_failed=0
  if [ -n "$hl_trial" ]; then
    hl_text="trial $hl_trial of $hl_trials"
    if [ -n "$hl_seed_name" ]; then
      hl_choose_seed || return 0
      hl_text="$hl_text, $hl_seed_name=$hl_seed"
    fi
    hl_say "$hl_text"
  fi
  hl_when=before_each
  hl_do_steps "$@"
  [ "$hl_failed$hl_ended" = 0 ] || return 0
  hl_per=rank hl_words=$hl_argv
  hl_start "$@"
  hl_failed=$hl_status
}

hl_trial= hl_seed= hl_when=setup
hl_do_steps "$@"
hl_result=$hl_failed
if [ "$hl_result$hl_ended" = 0 ]; then
  hl_next=1
  while [ "$hl_next" -le "${hl_trials:-1}" ]; do
    [ -z "$hl_trials" ] || hl_trial=$hl_next
    hl_do_trial "$@"
    [ "$hl_result" != 0 ] || hl_result=$hl_failed
    [ "$hl_failed" = 0 ] || [ -z "$hl_trial" ] || hl_say "trial $hl_trial failed with status $hl_failed"
    [ "$hl_failed" = 0 ] || [ -n "$hl_keep_going" ] || break
    [ -z "$hl_ended" ] || break
    hl_next=$((hl_next + 1))
  done
fi
hl_trial= hl_when=after
hl_do_steps "$@"
[ "$hl_result" != 0 ] || hl_result=$hl_failed
exit "${hl_ended:-$hl_result}"
