# What this rank has at its start, for hpclaunch verify: "-" is none, "?" could not be looked up.
hl_read_allowed
hl_read "$hl_root/sys/devices/system/cpu/online"
hl_online=$hl_text

# By cat, since from Linux 5.16 on these are empty to who reads byte by byte, as dash and busybox do.
hl_newline='
'
hl_numa= # the NUMA nodes of those CPUs
set +f
hl_text=$(cat "$hl_root"/sys/devices/system/node/node[0-9]*/cpulist \
  "$hl_root/sys/devices/system/cpu/cpu${hl_allowed_list%%[-,]*}/topology/thread_siblings_list" 2>/dev/null)
hl_rest=$hl_text$hl_newline
for hl_file in "$hl_root"/sys/devices/system/node/node[0-9]*/cpulist; do
  set -f
  [ -r "$hl_file" ] || continue
  hl_expand "${hl_rest%%"$hl_newline"*}"
  hl_rest=${hl_rest#*"$hl_newline"}
  for hl_cpu in $hl_numbers; do
    case $hl_allowed in *" $hl_cpu "*)
      hl_file=${hl_file%/cpulist}
      hl_numa=$hl_numa,${hl_file##*/node}
      break
      ;;
    esac
  done
done
set -f
hl_siblings=${hl_rest%%"$hl_newline"*}

# numactl gives its policy to what it starts, so another process is asked.
if [ -n "$hl_policy" ]; then
  # shellcheck disable=SC2016 # for the other shell
  hl_text=$("$hl_tool" "$hl_policy" -- /bin/sh -c 'read -r line <"$1"; printf %s "$line"' sh \
    "$hl_root/proc/self/numa_maps" 2>/dev/null)
else
  hl_read "$hl_root/proc/self/numa_maps"
fi
hl_memory='?' # of "7f00 bind=static:3 file=...", bind:3; of "7f00 prefer (many):3 ...", prefer:3
case $hl_text in
  *' prefer (many):'*) hl_memory=prefer:${hl_text#*'many):'} ;;
  *' weighted interleave:'*) hl_memory=interleave:${hl_text#*interleave:} ;;
  *' '*) hl_memory=${hl_text#* } ;;
esac
hl_memory=${hl_memory%% *}
case $hl_memory in *=*:*) hl_memory=${hl_memory%%=*}:${hl_memory#*:} ;; esac

hl_gpu_list=
[ "$hl_open" != '?' ] || hl_gpu_list='?'
for hl_gpu in ${hl_open#'?'}; do
  hl_gpu=${hl_gpu##*/}
  hl_read "$hl_root/sys/bus/pci/devices/$hl_gpu/numa_node"
  hl_gpu_list=$hl_gpu_list,$hl_gpu@$hl_text
done

hl_hca_list=
for hl_hca in $hl_chosen; do
  hl_folder=$hl_root/sys/class/infiniband/${hl_hca%%/*}
  hl_number=${hl_hca##*/}
  for hl_file in "ports/$hl_number/state" "ports/$hl_number/link_layer"; do
    hl_read "$hl_folder/$hl_file"
    hl_hca=$hl_hca/${hl_text#*: }
  done
  hl_read "$hl_folder/device/numa_node"
  hl_hca_list=$hl_hca_list,$hl_hca@$hl_text
done

hl_own_list=
for hl_gpu in $hl_own; do
  case $hl_gpu in
    */) ;; # its address is not known
    *) hl_own_list=$hl_own_list,${hl_gpu##*/} ;;
  esac
done

hl_join() { # hl_line
  hl_line="$hl_report gpus=${hl_gpu_list:--} hcas=${hl_hca_list:--} memlock=$hl_limit"
  [ -z "$hl_own_list" ] || hl_line="$hl_line own=$hl_own_list"
}
hl_find_limit
hl_gpu_list=${hl_gpu_list#,} hl_hca_list=${hl_hca_list#,} hl_own_list=${hl_own_list#,} hl_numa=${hl_numa#,}
hl_report="hpclaunch-verify 1 rank=$hl_rank local=$hl_local node=$hl_here cpus=$hl_allowed_list online=$hl_online"
hl_report="$hl_report numa=${hl_numa:-?} memory=$hl_memory siblings=${hl_siblings:-?}"
hl_join
# Slurm passes on 1,024 bytes at a time, and another rank's may come between.
[ ${#hl_line} -lt 1000 ] || { hl_gpu_list='?' && hl_join; }
[ ${#hl_line} -lt 1000 ] || { hl_hca_list='?' && hl_join; }
printf '%s\n' "$hl_line" >&2
