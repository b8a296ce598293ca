# Hydra lets the other ranks run on when one fails that does not use MPI, unless a signal ends it.
hl_stay() {
  "$@"
  hl_status=$?
  [ "$hl_status" != 0 ] || exit 0
  printf 'hpclaunch: rank %s: its command ended with exit status %s\n' "$hl_rank" "$hl_status" >&2
  kill -KILL $$
}
