hl_find_limit() { # hl_limit: how many KiB this process may pin, or "unlimited"
  hl_limit=
  {
    while read -r hl_key hl_word hl_value hl_number hl_text; do
      case "$hl_key $hl_word $hl_value $hl_number" in
        'Max locked memory unlimited') hl_limit=unlimited && break ;;
        'Max locked memory '*) hl_limit=$((hl_number / 1024)) && break ;;
      esac
    done <"$hl_root/proc/self/limits"
  } 2>/dev/null
  [ -n "$hl_limit" ] || hl_limit=$(ulimit -l)
  [ "$hl_from" = slurm ] || ! hl_has_ipc_lock || hl_limit=unlimited
}
