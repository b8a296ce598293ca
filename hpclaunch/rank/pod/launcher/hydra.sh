# Hydra starts the ranks of MPICH and of Intel MPI, each with variables of its own.
if [ -n "$hl_ssh" ]; then
  export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$hl_agent" HYDRA_LAUNCHER_EXTRA_ARGS="$hl_options"
  export I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC="$hl_agent"
  export I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS="$hl_options"
fi
[ -z "$hl_hosts" ] || set -- -genvlist "$hl_names" "$@"
