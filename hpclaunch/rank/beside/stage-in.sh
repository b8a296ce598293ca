# Under Slurm: the folders to copy to are made where they are not there.
HPCLAUNCH_NODE=${SLURMD_NODENAME-}
# srun ends the step with the first copy that fails, and drops what it has not read of it: the reason.
trap '[ $? = 0 ] || sleep 0.2 2>/dev/null' EXIT
hl_number=0
for hl_word; do
  hl_number=$((hl_number + 1))
  [ $((hl_number % 3)) != 2 ] || mkdir -p -- "$hl_word" || exit 121
done
