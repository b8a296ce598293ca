# CAP_IPC_LOCK lifts the memlock limit, as in pods that run as root. Under Slurm it does not tell: jobs of Pyxis
# have it in a user namespace, where it does not count.
hl_has_ipc_lock() { # bit 14 of CapEff
  hl_key=
  {
    while [ "$hl_key" != CapEff: ] && read -r hl_key hl_value; do :; done <"$hl_root/proc/self/status"
  } 2>/dev/null
  case $hl_key/$hl_value in CapEff:/*[4-7c-f]???) ;; *) return 1 ;; esac
}
