# Workers of MPIJob v1 and v1alpha2 have no sshd: commands go there by kubectl exec.
hl_agent=${OMPI_MCA_plm_rsh_agent:-${hl_hosts%/*}/kubexec.sh}

hl_reach() { # runs the command $2 on the host $1
  "$hl_agent" "$1" "$2" </dev/null
}
