# Every compute HCA (NAME/PCI/PORT/LINK) by its PCI address: names shift with each card that a node has more.
# No process is started for that, and nothing redirected twice: each rank pays for it before it begins.
hl_line() { # hl_text: as hl_read, where standard error goes nowhere
  hl_text='?'
  read -r hl_text <"$1"
}

# shellcheck disable=SC3013 # -ef: dash, busybox and bash have it, and POSIX since 2024
hl_is_at() { # is the device $1 at the PCI address hl_pci? Its folder has that name.
  [ "$hl_class/$1/device" -ef "$hl_class/$1/device/../$hl_pci" ]
}

hl_find_hca() { # hl_hca: the name of the device at hl_pci; false where there is none
  hl_hca=$hl_name
  ! hl_is_at "$hl_hca" || return 0
  set +f
  for hl_device in "$hl_class"/*; do
    set -f
    ! hl_is_at "${hl_device##*/}" || { hl_hca=${hl_device##*/} && return 0; }
  done
  set -f
  return 1
}

hl_check_hca() { # hl_why: what keeps the port hl_number of the device hl_hca from being used, or nothing
  hl_why=
  hl_folder=$hl_class/$hl_hca
  hl_line "$hl_folder/ports/$hl_number/state"
  case $hl_text in
    *': ACTIVE') ;;
    '?') hl_why=", has no port $hl_number" ;;
    *) hl_why=", port $hl_number is ${hl_text#*: }" ;;
  esac
  hl_line "$hl_folder/ports/$hl_number/link_layer"
  case $hl_text in
    "$hl_link" | '?') ;;
    *) hl_why="$hl_why, port $hl_number is $hl_text instead of $hl_link" ;;
  esac
  hl_uverbs=
  set +f
  for hl_device in "$hl_folder"/device/infiniband_verbs/*; do
    set -f
    hl_line "$hl_device/ibdev"
    [ "$hl_text" != "$hl_hca" ] || hl_uverbs=/dev/infiniband/${hl_device##*/}
  done
  set -f
  if [ -z "$hl_uverbs" ]; then
    hl_why="$hl_why, has no device for verbs (the kernel's module ib_uverbs)"
  elif ! hl_opens "$hl_root$hl_uverbs"; then
    hl_why="$hl_why, $hl_uverbs does not open"
  fi
}

hl_choose() { # hl_chosen: and the first $1 usable ones of the indexes $2
  hl_left=$1
  hl_order=$2,
  while [ "$hl_left" -gt 0 ] && [ -n "$hl_order" ]; do
    hl_index=${hl_order%%,*}
    hl_order=${hl_order#*,}
    case $hl_usable in *" $hl_index="*) ;; *) continue ;; esac
    hl_hca=${hl_usable#*" $hl_index="}
    hl_hca=${hl_hca%% *}
    case "$hl_chosen " in *" $hl_hca "*) ;; *) hl_chosen="$hl_chosen $hl_hca" ;; esac
    hl_left=$((hl_left - 1))
  done
}

hl_ports() { # hl_list: NAME:PORT,... of the words [INDEX=]NAME/PCI/PORT
  hl_list=
  for hl_hca; do
    hl_hca=${hl_hca#*=}
    hl_list=$hl_list,${hl_hca%%/*}:${hl_hca##*/}
  done
  hl_list=${hl_list#,}
}

hl_class=$hl_root/sys/class/infiniband
hl_found='?' # here, where the kernel shows which devices there are
if [ -d "$hl_class" ]; then
  hl_found=here
elif [ "$hl_from" != slurm ] && [ -d "$hl_root/sys/class" ]; then
  hl_found= # a pod that sees /sys and no such class has no HCA, and names of absent ones would stop UCX
fi

hl_usable= hl_bad= hl_index=0 # usable: INDEX=NAME/PCI/PORT with the index in the table
for hl_entry in $hl_hcas; do
  hl_name=${hl_entry%%/*} hl_rest=${hl_entry#*/}
  hl_pci=${hl_rest%%/*} hl_rest=${hl_rest#*/}
  hl_number=${hl_rest%/*} hl_link=${hl_rest#*/}
  hl_hca=$hl_name hl_why=
  case $hl_found in
    '?') ;;
    here) if hl_find_hca; then hl_check_hca; else hl_why=', absent'; fi ;;
    *) hl_why=', absent' ;;
  esac
  [ -z "$hl_why" ] || [ "$hl_from" = slurm ] || hl_try_virtual
  if [ -z "$hl_why" ]; then
    hl_usable="$hl_usable $hl_index=$hl_hca/$hl_pci/$hl_number"
  else
    hl_bad="$hl_bad; $hl_hca ($hl_pci): ${hl_why#, }"
  fi
  hl_index=$((hl_index + 1))
done 2>/dev/null

case $hl_hcas/$hl_found/$hl_usable in
  /*) ;; # nodes of this type have none
  */'?/'*) hl_bad='HCAs go by the names that the node type expects: there is no /sys/class/infiniband' ;;
  */) hl_bad="HCAs not used:${hl_bad#;}; none is left, so NCCL_IB_HCA and UCX_NET_DEVICES are not set" ;;
  *) [ -z "$hl_bad" ] || hl_bad="HCAs not used:${hl_bad#;}; ranks take the next nearest" ;;
esac
if [ -n "$hl_bad" ]; then
  [ -z "$hl_strict" ] || hl_fail "$hl_here: $hl_bad (bind.hcas is strict)"
  hl_warn "$hl_bad"
fi

hl_chosen= # this rank's, as NAME/PCI/PORT
hl_pick "$hl_local" "$hl_near"
if [ -n "$hl_entry" ]; then
  hl_choose "${hl_entry%%:*}" "${hl_entry#*:}"
elif [ -z "$hl_near" ]; then # on a part of a node: those of its GPUs
  for hl_gpu in $hl_own; do
    case $hl_gpu in -/*) continue ;; esac
    hl_nth "${hl_gpu%%/*}" $hl_gpus
    hl_choose 1 "${hl_entry##*|}"
  done
  # A rank without a GPU that is known may use them all.
  [ -n "$hl_chosen" ] || for hl_hca in $hl_usable; do hl_chosen="$hl_chosen ${hl_hca#*=}"; done
fi

hl_ports $hl_usable
[ -z "$hl_list" ] || export NCCL_IB_HCA="=$hl_list"
hl_ports $hl_chosen
if [ -n "$hl_list" ]; then
  export UCX_NET_DEVICES="$hl_list"
  [ -z "$hl_openib" ] || export OMPI_MCA_btl_openib_if_include="$hl_list"
fi
