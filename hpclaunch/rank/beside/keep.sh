# Waits until its standard input ends, as it does with the job's script, and removes the container $1 from this
# node. A signal is Slurm's word that a job is cancelled or near its limit; what else runs may still use it then.
set -u
trap '' HUP INT QUIT ABRT ALRM TERM USR1 USR2
while read -r hl_line; do :; done
# Pyxis' names, where it keeps a container for its job (container_scope=job) and where it does not.
for hl_name in "pyxis_$1" "pyxis_${SLURM_JOB_ID-}_$1"; do
  if enroot list 2>/dev/null | grep -qxF -- "$hl_name"; then
    enroot remove --force -- "$hl_name" ||
      printf 'hpclaunch: %s: the container %s was not removed\n' "${SLURMD_NODENAME-}" "$hl_name" >&2
  fi
done
