# Hydra starts the ranks of MPICH and of Intel MPI, which read different variables.
if [ -n "$hl_ssh" ]; then
  export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$hl_agent" HYDRA_LAUNCHER_EXTRA_ARGS="$hl_options"
  export I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC="$hl_agent"
  export I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS="$hl_options"
fi
if [ -n "$hl_hosts" ]; then
  set -- -genvlist "$hl_names" "$@"
  # Intel's would let workers start others, from 17 on, where what is said here of ssh does not hold.
  export I_MPI_HYDRA_BRANCH_COUNT=0
  # Processes on the workers connect to this pod, by its name, which may not be in DNS yet: by its address.
  [ ! -d /sys/class/net/eth0 ] || export I_MPI_HYDRA_IFACE=eth0
  read -r hl_host </proc/sys/kernel/hostname
  hl_find_address "$hl_host" </etc/hosts
  case $hl_address in
    '' | 127.*) ;; # a host's own network
    *) set -- -localhost "$hl_address" "$@" ;;
  esac
  # Of the list of names MPICH's leaves out the last variable of the environment: env puts another one there.
  set -- HPCLAUNCH_LAST= "$hl_mpirun" "$@"
  hl_mpirun="env"
fi
