# Sessions on the workers have nothing of the image's environment, nor of this pod's. What is here at the start
# goes to the ranks by name, except what is about this pod, and what mpirun passes on or keeps to itself.
export HPCLAUNCH_MASTER="$hl_master"
hl_names=HPCLAUNCH_MASTER
hl_text=$(tr '\n\0' ' \n' </proc/$$/environ) || hl_fail "cannot read its own environment"
hl_separators=$IFS
IFS='
'
for hl_name in $hl_text; do
  hl_name=${hl_name%%=*}
  case $hl_name in
    '' | [0-9]* | *[!A-Za-z0-9_]*) ;; # no name that a shell passes on
    IFS | PPID | UID | EUID) ;;             # a shell's own
    HOME | HOSTNAME | PWD | OLDPWD | SHLVL | _ | TERM | KUBERNETES_* | K_MPI_JOB_ROLE) ;;
    NVIDIA_VISIBLE_DEVICES | NVIDIA_DRIVER_CAPABILITIES) ;;
    PRTE_* | PMI_* | HYDRA_* | I_MPI_HYDRA_* | I_MPI_PERHOST) ;;
    OMPI_* | PMIX_*) # these Open MPI passes on itself
      [ "$hl_mpi" = openmpi ] || hl_names="$hl_names,$hl_name"
      ;;
    *) hl_names="$hl_names,$hl_name" ;;
  esac
done
IFS=$hl_separators
