# InfiniBand pins memory. With too low a limit a library would fail, far from the cause.
set +f
for hl_device in "$hl_root"/dev/infiniband/uverbs*; do
  [ -e "$hl_device" ] || break
  hl_find_limit
  [ "$hl_limit" = unlimited ] || [ "$hl_limit" -ge "$hl_memlock" ] ||
    hl_fail "the memlock limit is $hl_limit KiB, too low for InfiniBand: set LimitMEMLOCK=infinity for slurmd and PropagateResourceLimitsExcept=MEMLOCK"
  break
done
set -f
