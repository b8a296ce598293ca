# InfiniBand pins memory. With too low a limit a library would fail, far from the cause.
hl_lift="the default ulimits of the nodes' container runtime, or as root CAP_IPC_LOCK"
[ "$hl_from" != slurm ] || hl_lift='LimitMEMLOCK=infinity for slurmd and PropagateResourceLimitsExcept=MEMLOCK'
set +f
for hl_device in "$hl_root"/dev/infiniband/uverbs*; do
  [ -e "$hl_device" ] || break
  hl_find_limit
  [ "$hl_limit" = unlimited ] || [ "$hl_limit" -ge "$hl_memlock" ] ||
    hl_fail "the memlock limit is $hl_limit KiB, too low for InfiniBand: set $hl_lift"
  break
done
set -f
