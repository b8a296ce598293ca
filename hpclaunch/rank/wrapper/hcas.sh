# Every compute HCA (NAME/PCI/PORT/LINK) by its PCI address: names shift with each card that a node has more.
# Each rank pays for this before it begins. So no process is started, standard input is closed (to open a file
# then takes half the system calls), and no long word is cut: for dash that is more work than to read a file.
hl_take_entry() { # of $hl_entry, cut at each /
  hl_name=$1 hl_pci=$2 hl_number=$3 hl_link=$4
}

hl_find_hca() { # hl_hca: the name of the device at hl_folder; false where there is none
  hl_hca=$hl_name
  [ ! -d "$hl_folder/infiniband/$hl_hca" ] || return 0
  set +f
  for hl_device in "$hl_folder"/infiniband/*; do
    set -f
    [ ! -d "$hl_device" ] || { hl_hca=${hl_device##*/} && return 0; }
  done
  set -f
  return 1
}

hl_find_uverbs() { # hl_uverbs: the device for verbs of hl_hca, or nothing
  hl_uverbs=
  set +f
  for hl_device in "$hl_folder"/infiniband_verbs/*; do
    set -f
    hl_text=
    read -r hl_text <"$hl_device/ibdev"
    [ "$hl_text" != "$hl_hca" ] || hl_uverbs=${hl_device##*/}
  done
  set -f
}

hl_check_hca() { # hl_why: what keeps the port hl_number of the device hl_hca from being used, or nothing
  hl_why= hl_text='?'
  read -r hl_text <"$hl_folder/infiniband/$hl_hca/ports/$hl_number/state"
  case $hl_text in
    *': ACTIVE') ;;
    '?') hl_why=", has no port $hl_number" ;;
    *) hl_why=", port $hl_number is ${hl_text#*: }" ;;
  esac
  hl_text='?'
  read -r hl_text <"$hl_folder/infiniband/$hl_hca/ports/$hl_number/link_layer"
  case $hl_text in
    "$hl_link" | '?') ;;
    *) hl_why="$hl_why, port $hl_number is $hl_text instead of $hl_link" ;;
  esac
  hl_uverbs=uverbs${hl_hca##*_} hl_text= # mostly the numbers are the same
  read -r hl_text <"$hl_folder/infiniband_verbs/$hl_uverbs/ibdev"
  case $hl_text in "$hl_hca") ;; *) hl_find_uverbs ;; esac
  if [ -z "$hl_uverbs" ]; then
    hl_why="$hl_why, has no device for verbs (the kernel's module ib_uverbs)"
  elif ! hl_opens "$hl_root/dev/infiniband/$hl_uverbs"; then
    hl_why="$hl_why, /dev/infiniband/$hl_uverbs does not open"
  fi
}

hl_choose() { # hl_chosen: and the first $1 usable ones of the indexes $2
  hl_left=$1
  hl_order=$2,
  while [ "$hl_left" -gt 0 ] && [ -n "$hl_order" ]; do
    hl_index=${hl_order%%,*}
    hl_order=${hl_order#*,}
    hl_hca=
    for hl_entry in $hl_usable; do
      case $hl_entry in "$hl_index="*) hl_hca=${hl_entry#*=} ;; esac
    done
    [ -n "$hl_hca" ] || continue
    case "$hl_chosen " in *" $hl_hca "*) ;; *) hl_chosen="$hl_chosen $hl_hca" ;; esac
    hl_left=$((hl_left - 1))
  done
}

hl_ports() { # hl_list: NAME:PORT,... of the words NAME/PCI/PORT
  hl_list=
  for hl_hca; do
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
hl_all= hl_ifs=$IFS # all: NAME:PORT,...
for hl_entry in $hl_hcas; do
  IFS=/
  hl_take_entry $hl_entry
  IFS=$hl_ifs
  hl_folder=$hl_root/sys/bus/pci/devices/$hl_pci
  hl_hca=$hl_name hl_why=
  case $hl_found in
    '?') ;;
    here)
      hl_check_hca
      case $hl_why in
        ', has no port'*) if hl_find_hca; then hl_check_hca; else hl_why=', absent'; fi ;; # or another name
      esac
      ;;
    *) hl_why=', absent' ;;
  esac
  [ -z "$hl_why" ] || [ "$hl_from" = slurm ] || hl_try_virtual
  if [ -z "$hl_why" ]; then
    hl_usable="$hl_usable $hl_index=$hl_hca/$hl_pci/$hl_number"
    hl_all=$hl_all,$hl_hca:$hl_number
  else
    hl_bad="$hl_bad; $hl_hca ($hl_pci): ${hl_why#, }"
  fi
  hl_index=$((hl_index + 1))
done 2>/dev/null <&-

[ "$hl_found$hl_bad" = here ] || case $hl_hcas/$hl_found/$hl_usable in
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

[ -z "$hl_all" ] || export NCCL_IB_HCA="=${hl_all#,}"
hl_ports $hl_chosen
if [ -n "$hl_list" ]; then
  export UCX_NET_DEVICES="$hl_list"
  [ -z "$hl_openib" ] || export OMPI_MCA_btl_openib_if_include="$hl_list"
fi
