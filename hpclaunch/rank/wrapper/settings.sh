# What the launcher says: for all ranks, and of tables the one of this host.
hl_from= hl_cwd= hl_memlock= hl_rank= hl_ranks= hl_port= hl_strict= hl_openib= hl_verify=
hl_besteffort=
hl_hcas= hl_near= hl_cpus= hl_membind= hl_preferred= hl_cores= hl_gpus= hl_seats= hl_part=
# What the parts below find, each where a job needs it:
hl_open=                # the GPUs that open here, INDEX/MINOR/PCI
hl_own= hl_own_cores=   # on a part of a node this rank's GPUs, INDEX/PCI, and cores, POOL.NODE:CPU,CPU
hl_unbound=             # 1: they are not known, so the rank stays as Slurm started it
hl_chosen=              # this rank's HCAs, NAME/PCI/PORT
hl_policy= hl_tool=     # numactl's option, and where it is
hl_here=${SLURMD_NODENAME-}
hl_table= hl_tables= # whose table is being read, own, other or past; and the hosts of all that are not its own
hl_name_node() { # hl_here: the name of this node
  [ -n "$hl_here" ] || hl_read "$hl_root/proc/sys/kernel/hostname"
  hl_here=${hl_here:-$hl_text}
}
while [ "$1" != -- ]; do
  hl_setting=${1%%=*}
  hl_value=${1#*=}
  case $hl_setting in
    hosts) # begins a table, up to the next one; the first that has this host is its own
      hl_name_node
      case $hl_table in
        own | past) hl_table=past ;;
        *)
          hl_table=other hl_tables="$hl_tables $hl_value"
          if hl_in_hosts "$hl_here" "$hl_value" || hl_in_hosts "${hl_here%%.*}" "$hl_value"; then hl_table=own; fi
          ;;
      esac
      ;;
    hcas | near | cpus | membind | preferred | cores | gpus | seats | part)
      case $hl_table in '' | own) eval "hl_$hl_setting=\$hl_value" ;; esac
      ;;
    from | cwd | memlock | rank | ranks | port | root | strict | openib | verify | besteffort | groups | member)
      eval "hl_$hl_setting=\$hl_value"
      ;;
    rendezvous) ;; # a part below
    *) hl_fail "this wrapper speaks protocol 2 and does not know the setting $1" ;;
  esac
  shift
done
shift
