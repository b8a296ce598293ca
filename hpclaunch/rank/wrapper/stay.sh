# Where a command fails that has not called MPI_Init, Hydra lets the other ranks run on. So the wrapper stays,
# and asks for the end of all with the command's exit status, as MPI_Abort does.
hl_stay() {
  "$@"
  hl_status=$?
  [ "$hl_status" != 0 ] || exit 0
  hl_text="cmd=abort exitcode=$hl_status"
  # dash knows descriptors of one digit only.
  (printf '%s\n' "$hl_text" >&"$PMI_FD") 2>/dev/null ||
    bash -c 'printf "%s\n" "$1" >&"$2"' bash "$hl_text" "$PMI_FD" 2>/dev/null ||
    { kill -TERM "$PPID" && kill -KILL $$; } # Hydra's process here ends the job, with a status of its own
  exit "$hl_status"
}
