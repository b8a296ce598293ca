# Prints what `hpclaunch topo discover` needs to know of this machine: files of /sys and /proc, and what
# nvidia-smi says. Runs in any POSIX shell, reads only, and needs no privileges.
# Lines: F<tab>path<tab>first line of a file; L<tab>path<tab>where a link leads. HPCLAUNCH_ROOT is for
# made-up machines.
root=${HPCLAUNCH_ROOT-}

file() {
  for each do
    line=
    # A file without a newline at its end still fills `line`.
    { IFS= read -r line < "$each" || [ -n "$line" ]; } 2> /dev/null &&
      printf 'F\t%s\t%s\n' "${each#"$root"}" "$line"
  done
}

link() {
  for each do
    [ -e "$each" ] || continue
    to=$(readlink -f "$each") && printf 'L\t%s\t%s\n' "${each#"$root"}" "${to#"$real"}"
  done
}

memory() {
  for each do
    [ -r "$each" ] || continue
    while IFS= read -r line; do
      case $line in *MemTotal:*) printf 'F\t%s\t%s\n' "${each#"$root"}" "$line" ;; esac
    done < "$each"
  done
}

real=
if [ -n "$root" ]; then
  real=$(readlink -f "$root/sys") # which may itself be a link
  real=${real%/sys}
fi
echo '# hpclaunch capture 1'
cpu=$root/sys/devices/system/cpu
file "$cpu/online"
file "$cpu"/cpu[0-9]*/topology/thread_siblings_list "$cpu"/cpu[0-9]*/topology/core_cpus_list \
  "$cpu"/cpu[0-9]*/topology/physical_package_id "$cpu"/cpu[0-9]*/topology/core_id \
  "$cpu"/cpu[0-9]*/cache/index[2-4]/level "$cpu"/cpu[0-9]*/cache/index[2-4]/type \
  "$cpu"/cpu[0-9]*/cache/index[2-4]/id "$cpu"/cpu[0-9]*/cache/index[2-4]/shared_cpu_list
node=$root/sys/devices/system/node
file "$node"/online "$node"/node[0-9]*/cpulist "$node"/node[0-9]*/distance
memory "$node"/node[0-9]*/meminfo "$root/proc/meminfo"
for device in "$root"/sys/bus/pci/devices/*; do
  class=
  { IFS= read -r class < "$device/class"; } 2> /dev/null
  case $class in
    0x02* | 0x03*)
      link "$device" "$device/driver" "$device/physfn"
      file "$device/class" "$device/vendor" "$device/device" "$device/numa_node"
      ;;
  esac
done
for hca in "$root"/sys/class/infiniband/*; do
  link "$hca" "$hca/device"
  file "$hca/hca_type" "$hca"/ports/*/state "$hca"/ports/*/rate "$hca"/ports/*/link_layer \
    "$hca"/device/net/*/dev_port "$hca"/device/numa_node
done
for gpu in "$root"/proc/driver/nvidia/gpus/*; do
  [ -d "$gpu" ] && file "$gpu/information"
done
if [ -z "$root" ]; then
  for command in 'nvidia-smi topo -m' 'nvidia-smi --query-gpu=index,pci.bus_id,name --format=csv' \
    ibdev2netdev; do
    command -v "${command%% *}" > /dev/null 2>&1 || continue
    printf '$ %s\n' "$command"
    # shellcheck disable=SC2086 # the words are our own
    timeout 30 $command 2> /dev/null
  done
fi
:
