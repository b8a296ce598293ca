# Open MPI 4 reads OMPI_MCA_, 5 what its launcher PRRTE has of its own.
if [ -n "$hl_ssh" ]; then
  export OMPI_MCA_plm_rsh_agent="$hl_agent" PRTE_MCA_plm_ssh_agent="$hl_agent"
  export OMPI_MCA_plm_rsh_args="$hl_options" PRTE_MCA_plm_ssh_args="$hl_options"
  # The daemons on the workers need the paths of this image, where a session begins with sshd's. With a prefix
  # mpirun would add to the ranks' paths.
  hl_text="env 'PATH=$PATH'"
  [ -z "${LD_LIBRARY_PATH-}" ] || hl_text="$hl_text 'LD_LIBRARY_PATH=$LD_LIBRARY_PATH'"
  [ -z "${OPAL_PREFIX-}" ] || hl_text="$hl_text 'OPAL_PREFIX=$OPAL_PREFIX'"
  export OMPI_MCA_orte_launch_agent="$hl_text orted" PRTE_MCA_prte_launch_agent="$hl_text prted"
  set -- --noprefix "$@"
fi
if [ -n "$hl_hosts" ]; then
  # Short names of the hosts would not be found in DNS.
  export OMPI_MCA_orte_keep_fqdn_hostnames=true PRTE_MCA_prte_keep_fqdn_hostnames=true
  # Workers cannot start daemons on others: what is said here of ssh and kubectl holds here.
  export OMPI_MCA_plm_rsh_no_tree_spawn=1 PRTE_MCA_plm_ssh_no_tree_spawn=1
  hl_names=$hl_names,
  while [ -n "$hl_names" ]; do
    set -- -x "${hl_names%%,*}" "$@"
    hl_names=${hl_names#*,}
  done
fi
[ "$(id -u)" != 0 ] || set -- --allow-run-as-root "$@"
