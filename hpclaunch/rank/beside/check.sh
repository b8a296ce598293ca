# On one node before the ranks start: SETTING=VALUE... -- COMMAND... Says in lines of `hpclaunch-check NODE` what is bad
# with it, what could not be checked, or that it is ok. hcas= has NAME/PCI/PORT/LINK/RATE for each, and COMMAND measures an
# all_reduce, which must reach floor= GB/s.
set -u
hl_root=${HPCLAUNCH_ROOT-} hl_node=${SLURMD_NODENAME-} hl_bad= hl_gpus= hl_hcas= hl_memlock= hl_floor= hl_seconds=60
while [ $# -gt 0 ]; do
  case $1 in
    gpus=*) hl_gpus=${1#*=} ;;
    hcas=*) hl_hcas=${1#*=} ;;
    memlock=*) hl_memlock=${1#*=} ;;
    floor=*) hl_floor=${1#*=} ;;
    seconds=*) hl_seconds=${1#*=} ;;
    --) shift && break ;;
  esac
  shift
done
hl_blame() { hl_bad="$hl_bad; $1"; }
hl_skip() { printf 'hpclaunch-check %s skip %s\n' "$hl_node" "$1"; }
hl_first() { # the first line of $1
  hl_line=$(printf '%s\n' "$1" | head -n 1)
}

hl_check_gpus() {
  hl_count=0
  if command -v nvidia-smi >/dev/null 2>&1; then
    hl_said=$(timeout -k 5 "$hl_seconds" nvidia-smi --query-gpu=pci.bus_id,ecc.errors.uncorrected.volatile.total \
      --format=csv,noheader,nounits 2>&1 </dev/null)
    hl_status=$?
    if [ "$hl_status" != 0 ]; then
      hl_first "$hl_said"
      hl_blame "nvidia-smi failed with status $hl_status${hl_line:+ ($hl_line)}"
      return
    fi
    while IFS=', ' read -r hl_pci hl_errors; do
      [ -n "$hl_pci" ] || continue
      hl_count=$((hl_count + 1))
      case $hl_errors in
        0 | N/A | '[N/A]' | 'Not Supported' | '[Not Supported]') ;; # it has no ECC
        *[!0-9]* | '') hl_blame "GPU $hl_pci says ${hl_errors:-nothing} when asked for its ECC errors" ;;
        *) hl_blame "GPU $hl_pci has $hl_errors uncorrected ECC errors" ;;
      esac
    done <<EOF
$hl_said
EOF
  elif [ -d "$hl_root/proc/driver/nvidia/gpus" ]; then
    for hl_gpu in "$hl_root"/proc/driver/nvidia/gpus/*; do
      [ ! -e "$hl_gpu" ] || hl_count=$((hl_count + 1))
    done
    hl_skip 'ECC errors: there is no nvidia-smi'
  else
    hl_skip 'GPUs: there is neither nvidia-smi nor the NVIDIA driver in /proc'
    return
  fi
  [ "$hl_count" -ge "$hl_gpus" ] || hl_blame "it has $hl_count GPUs of $hl_gpus"
}

hl_read() { # hl_text: the first line of a file, ? where there is none
  hl_text='?'
  { IFS= read -r hl_text <"$1"; } 2>/dev/null
}

hl_check_hca() { # NAME/PCI/PORT/LINK/RATE
  hl_rest=${1#*/}
  hl_pci=${hl_rest%%/*} hl_rest=${hl_rest#*/}
  hl_port=${hl_rest%%/*} hl_rate=${hl_rest##*/} hl_device=
  for hl_each in "$hl_root"/sys/class/infiniband/*; do
    hl_at=$(CDPATH='' cd -P -- "$hl_each/device" 2>/dev/null && pwd) || continue
    [ "${hl_at##*/}" != "$hl_pci" ] || hl_device=$hl_each
  done
  hl_name="HCA ${1%%/*} ($hl_pci)"
  [ -n "$hl_device" ] || { hl_blame "$hl_name is absent" && return; }
  hl_read "$hl_device/ports/$hl_port/state"
  case $hl_text in
    *': ACTIVE') ;;
    '?') hl_blame "$hl_name has no port $hl_port" && return ;;
    *) hl_blame "$hl_name: port $hl_port is ${hl_text#*: }" && return ;;
  esac
  hl_read "$hl_device/ports/$hl_port/rate" # 200 Gb/sec (4X HDR)
  hl_text=${hl_text%% *}
  case ${hl_text%%.*} in
    '' | *[!0-9]*) ;;
    *) [ "${hl_text%%.*}" -ge "$hl_rate" ] || hl_blame "$hl_name: port $hl_port has $hl_text Gb/s of $hl_rate" ;;
  esac
}

hl_check_bandwidth() { # COMMAND...
  if ! command -v -- "$1" >/dev/null 2>&1; then
    hl_skip "all_reduce: there is no $1"
    return
  fi
  # A program with MPI would take itself for a rank of this step, which has no MPI, and fail.
  hl_said=$(
    for hl_name in $(env | sed -n 's/^\(SLURM_[A-Za-z0-9_]*\)=.*/\1/p'); do unset -v "$hl_name"; done
    timeout -k 5 "$hl_seconds" "$@" 2>&1 </dev/null
  )
  hl_status=$?
  if [ "$hl_status" != 0 ]; then
    hl_first "$hl_said"
    hl_blame "the all_reduce failed with status $hl_status${hl_line:+ ($hl_line)}"
    return
  fi
  hl_reached=$(printf '%s\n' "$hl_said" | sed -n 's/^# Avg bus bandwidth *: *\([0-9][0-9]*\).*/\1/p')
  if [ -z "$hl_reached" ]; then
    hl_blame 'the all_reduce said no "# Avg bus bandwidth"'
  elif [ "$hl_reached" -lt "$hl_floor" ]; then
    hl_blame "the all_reduce reached $hl_reached GB/s of $hl_floor"
  fi
}

[ -z "$hl_gpus" ] || hl_check_gpus
if [ -n "$hl_hcas" ] && [ -d "$hl_root/sys/class/infiniband" ]; then
  for hl_hca in $hl_hcas; do hl_check_hca "$hl_hca"; done
elif [ -n "$hl_hcas" ]; then
  hl_skip 'HCAs: there is no /sys/class/infiniband'
fi
if [ -n "$hl_memlock" ]; then
  hl_limit=$(sed -n 's/^Max locked memory  *\([a-z0-9]*\) .*/\1/p' "$hl_root/proc/self/limits" 2>/dev/null)
  case $hl_limit in
    '' | *[!0-9]*) ;; # unlimited
    *)
      hl_limit=$((hl_limit / 1024))
      [ "$hl_limit" -ge "$hl_memlock" ] || hl_blame "the memlock limit is $hl_limit KiB, too low for InfiniBand"
      ;;
  esac
fi
[ -z "$hl_floor" ] || hl_check_bandwidth "$@"
if [ -n "$hl_bad" ]; then
  printf 'hpclaunch-check %s bad %s\n' "$hl_node" "${hl_bad#; }"
else
  printf 'hpclaunch-check %s ok\n' "$hl_node"
fi
