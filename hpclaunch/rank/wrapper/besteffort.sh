# What a pod may not bind stays unbound: cores outside its cpuset, memory under a seccomp profile.
hl_try_cores() { # local rank 0 warns for the node, another rank where local rank 0 can be bound
  ! taskset -pc "$hl_bind" $$ >/dev/null 2>&1 || return 0
  hl_nodes= hl_prefer=
  hl_text="neither cores nor memory are bound: the pod has none of the cores $hl_bind"
  hl_warn "$hl_text"
  [ "$hl_local" != 0 ] || return 0
  hl_pick 0 "$hl_cpus"
  ! taskset -c "$hl_entry" true 2>/dev/null || printf 'hpclaunch: %s: %s\n' "$hl_here" "$hl_text" >&2
}

hl_try_policy() {
  ! "$hl_tool" "$hl_policy" -- true 2>/dev/null || return 0
  hl_warn "memory is not bound: numactl $hl_policy is refused here (a seccomp profile, and no CAP_SYS_NICE)"
  hl_policy=
}
