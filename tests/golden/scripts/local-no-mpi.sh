#!/bin/bash -p
# on-the-host on this machine: 1 node of type dgx-a100, 8 ranks on each.
# Made by hpclaunch 0.1.0 from a job file and a site file: change those, and render again.

# shellcheck disable=SC2016 # what stands in single quotes is meant as it stands
set -u

# From the shell that submitted this, nothing else reaches the job. (-p above: not its functions either.)
# This script's own variables begin with hl_, which no variable of a job does.
for hl_name in $(compgen -e); do
  case $hl_name in
    PATH) ;;
    BASHOPTS | SHELLOPTS) ;; # readonly, and -p ignores them
    *) unset -v "$hl_name" ;;
  esac
done
hl_user=${SLURM_JOB_USER:-$(id -un)}
HOME=${HOME-~} USER=${USER-$hl_user} LOGNAME=${LOGNAME-$hl_user}
export HOME USER LOGNAME

hl_settings=(
  from=local
  rendezvous=torch
  cwd=/home/ada/jobs
  memlock=1048576 # KiB that InfiniBand must be able to pin
  # NAME/PCI/PORT/LINK of the compute HCAs: names as expected, addresses count
  'hcas=mlx5_0/0000:0c:00.0/1/InfiniBand
        mlx5_1/0000:12:00.0/1/InfiniBand
        mlx5_2/0000:4b:00.0/1/InfiniBand
        mlx5_3/0000:54:00.0/1/InfiniBand
        mlx5_6/0000:8d:00.0/1/InfiniBand
        mlx5_7/0000:94:00.0/1/InfiniBand
        mlx5_8/0000:ba:00.0/1/InfiniBand
        mlx5_9/0000:cc:00.0/1/InfiniBand'
  # for each rank how many it uses, and which, from the nearest on
  'near=1:0,1,2,3,4,5,6,7;
        1:1,0,2,3,4,5,6,7;
        1:2,3,0,1,4,5,6,7;
        1:3,2,0,1,4,5,6,7;
        1:4,5,6,7,0,1,2,3;
        1:5,4,6,7,0,1,2,3;
        1:6,7,4,5,0,1,2,3;
        1:7,6,4,5,0,1,2,3'
  # the CPUs of each rank
  'cpus=48-55,176-183;
        56-63,184-191;
        16-23,144-151;
        24-31,152-159;
        112-119,240-247;
        120-127,248-255;
        80-87,208-215;
        88-95,216-223'
  'membind=3;3;1;1;7;7;5;5' # the NUMA nodes of each rank's memory
)

hl_environment=(
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  'NCCL_SOCKET_IFNAME=^lo,docker0'
  OMP_NUM_THREADS=8
)

hl_command=(
  /bin/sh
  -c
  './step.sh | tee "step-$RANK.log"'
)
hl_port=$((61000 + $$ % 4500)) # above the ephemeral ports

stop() { # SIGNAL: to every rank that still runs
  local hl_pids
  mapfile -t hl_pids < <(jobs -pr)
  [[ -z ${hl_pids[*]-} ]] || kill -s "$1" "${hl_pids[@]}" 2>/dev/null
}

# One failing rank ends the job, with the status of the first that failed.
launch() {
  local hl_rank hl_status hl_first=0 hl_left=8 hl_interrupted
  trap 'hl_interrupted=1; stop TERM' TERM INT HUP
  set -m # without job control bash makes what it starts with & ignore SIGINT and SIGQUIT
  for ((hl_rank = 0; hl_rank < hl_left; hl_rank++)); do
    /bin/sh -c "$hl_wrapper" hpclaunch-rank \
      "${hl_settings[@]}" "rank=$hl_rank" "ranks=$hl_left" "port=$hl_port" \
      -- "${hl_environment[@]}" -- "${hl_command[@]/#/=}" </dev/null &
  done
  set +m # with job control "jobs -r" would leave out a rank that is stopped
  while ((hl_left)); do
    hl_interrupted=
    wait -n
    hl_status=$?
    if [[ -n $hl_interrupted ]]; then
      ((hl_first)) || hl_first=143
      continue
    fi
    ((hl_left--))
    if ((hl_status && !hl_first)); then
      hl_first=$hl_status
      stop TERM
    fi
  done
  return "$hl_first"
}

# What runs beside each rank and becomes its command: hpclaunch's own text, the parts that this job needs.
# -N reads it at once; -d '' would do so byte by byte, and the ranks wait for that.
IFS= read -r -N 131072 hl_wrapper <<'WRAPPER'
# Runs beside every rank, inside its container if it has one, and becomes the rank's command.
# Protocol 2: SETTING=value... -- NAME=value... -- =word...
# Each word of the command has a `=` before it, since srun takes a word `:` for a separator.
# Only what every /bin/sh has is used: dash, busybox, bash. Names begin with hl_ so that none of the image's
# own variables is touched.
set -uf # f: values such as dgx[001-140] are no file names

hl_root=${HPCLAUNCH_ROOT-}     # where /sys, /proc and /dev are, for a made-up machine
hl_master=${HPCLAUNCH_MASTER-} # of several pods the first, as their launcher tells it
unset -v HPCLAUNCH_ROOT HPCLAUNCH_MASTER
export hl_of_wrapper=1 # by it the tools that run here are told from the rank

hl_fail() {
  printf 'hpclaunch: rank %s: %s\n' "${hl_rank:-?}" "$1" >&2
  sleep 0.2 2>/dev/null # srun kills the other ranks at once, and with them drops what it has not read of this one
  exit 121
}

hl_warn() { # once for the node
  [ "$hl_local" != 0 ] || printf 'hpclaunch: %s: %s\n' "$hl_here" "$1" >&2
}

hl_pick() { # hl_entry: entry $1, from 0, of the list $2 with `;` between
  hl_skip=$1
  hl_ifs=$IFS IFS=';'
  set -- $2
  IFS=$hl_ifs
  shift $((hl_skip < $# ? hl_skip : $#))
  set -- ${1-} # without the white space that scripts have between entries
  hl_entry=${1-}
}

hl_read() { # hl_text: the first line of the file $1, "?" where it cannot be read
  hl_text='?'
  { read -r hl_text <"$1"; } 2>/dev/null || :
}

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

# Who am I?
case $hl_from in
  slurm)
    hl_rank=$SLURM_PROCID hl_local=$SLURM_LOCALID hl_node=$SLURM_NODEID
    hl_ranks=$SLURM_STEP_NUM_TASKS hl_nodes=$SLURM_STEP_NUM_NODES
    ;;
  openmpi)
    hl_rank=$OMPI_COMM_WORLD_RANK hl_ranks=$OMPI_COMM_WORLD_SIZE
    hl_divide "$OMPI_COMM_WORLD_LOCAL_RANK" "$OMPI_COMM_WORLD_LOCAL_SIZE"
    ;;
  hydra) # MPICH, Intel MPI
    hl_rank=$PMI_RANK hl_ranks=$PMI_SIZE
    hl_divide "$MPI_LOCALRANKID" "$MPI_LOCALNRANKS"
    ;;
  local) hl_local=$hl_rank hl_node=0 hl_nodes=1 ;;
  *) hl_fail "no setting says where the rank's number comes from (from=$hl_from)" ;;
esac
hl_local_ranks=$((hl_ranks / hl_nodes))
hl_name_node
[ "$hl_table" != other ] ||
  hl_fail "no node type of the site has the host $hl_here, so its cores and HCAs are not known; they have$hl_tables"

hl_first_host() { # hl_master: the first of a Slurm node list: dgx003 of "dgx[003-140],login[1-2]"
  hl_list=$1
  hl_master=
  while :; do
    hl_head=${hl_list%%[[,]*}
    hl_master=$hl_master$hl_head
    hl_list=${hl_list#"$hl_head"}
    case $hl_list in
      '['*)
        hl_list=${hl_list#?}
        hl_group=${hl_list%%]*}
        hl_master=$hl_master${hl_group%%[-,]*}
        hl_list=${hl_list#*]}
        ;;
      *) break ;;
    esac
  done
}

if [ "$hl_from" = slurm ]; then
  hl_first_host "$SLURM_STEP_NODELIST"
  hl_port=$((61000 + (SLURM_JOB_ID * 7 + SLURM_STEP_ID) % 4500)) # above the ephemeral ports
else
  hl_master=${hl_master:-127.0.0.1}
fi
[ "$hl_rank" != 0 ] || [ "$hl_node" = 0 ] ||
  hl_fail "rank 0 is on node $hl_node and not on $hl_master, where MASTER_ADDR points"
export MASTER_ADDR="$hl_master" MASTER_PORT="$hl_port" RANK="$hl_rank" LOCAL_RANK="$hl_local"
export WORLD_SIZE="$hl_ranks" LOCAL_WORLD_SIZE="$hl_local_ranks" NODE_RANK="$hl_node"

# CAP_IPC_LOCK lifts the memlock limit, as in pods that run as root. Under Slurm it does not tell: jobs of Pyxis
# have it in a user namespace, where it does not count.
hl_has_ipc_lock() { # bit 14 of CapEff
  hl_key=
  {
    while [ "$hl_key" != CapEff: ] && read -r hl_key hl_value; do :; done <"$hl_root/proc/self/status"
  } 2>/dev/null
  case $hl_key/$hl_value in CapEff:/*[4-7c-f]???) ;; *) return 1 ;; esac
}

hl_find_limit() { # hl_limit: how many KiB this process may pin, or "unlimited"
  hl_limit=
  {
    while read -r hl_key hl_word hl_value hl_number hl_text; do
      case "$hl_key $hl_word $hl_value $hl_number" in
        'Max locked memory unlimited') hl_limit=unlimited && break ;;
        'Max locked memory '*) hl_limit=$((hl_number / 1024)) && break ;;
      esac
    done <"$hl_root/proc/self/limits"
  } 2>/dev/null
  [ -n "$hl_limit" ] || hl_limit=$(ulimit -l)
  [ "$hl_from" = slurm ] || ! hl_has_ipc_lock || hl_limit=unlimited
}

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

hl_opens() { # does the device $1 open? Its mode does not tell: a cgroup may refuse root too. Standard error says why not.
  [ -e "$1" ] && true <>"$1"
}

# In a pod with SR-IOV it is not the card that can be used, but one of its virtual functions.
hl_try_virtual() { # hl_hca, hl_why: the first virtual function of the card at hl_pci that can be used, if any can
  hl_card=$hl_hca$hl_why
  hl_list=$(
    set +f
    for hl_device in "$hl_class"/*; do
      CDPATH='' cd -P -- "$hl_device/device/physfn" 2>/dev/null && [ "${PWD##*/}" = "$hl_pci" ] &&
        printf '%s ' "${hl_device##*/}"
    done
  )
  for hl_hca in $hl_list; do
    hl_folder=$hl_class/$hl_hca/device
    hl_check_hca
    [ -n "$hl_why" ] || return 0
  done
  hl_hca=${hl_card%%,*} hl_why=,${hl_card#*,}
}

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

# Cores for this process and all that come of it, memory by numactl. Empty: not bound.
hl_pick "$hl_local" "$hl_cpus"
hl_bind=$hl_entry
hl_pick "$hl_local" "$hl_membind"
hl_nodes=$hl_entry
hl_pick "$hl_local" "$hl_preferred"
hl_prefer=${hl_entry%%[-,]*} # numactl takes one node
if [ -n "$hl_part" ]; then
  hl_list= hl_numbers=
  for hl_core in $hl_own_cores; do
    hl_list=$hl_list,${hl_core#*:}
    hl_number=${hl_core%%:*}
    hl_number=${hl_number#*.}
    case "$hl_numbers," in *",$hl_number,"*) ;; *) hl_numbers=$hl_numbers,$hl_number ;; esac
  done
  hl_numbers=${hl_numbers#,}
  case ,$hl_part, in *,cpus,*) hl_bind=${hl_list#,} ;; esac
  case ,$hl_part, in
    *,membind,*) hl_nodes=$hl_numbers ;;
    *,preferred,*) hl_prefer=${hl_numbers%%,*} ;;
  esac
fi
if [ -n "$hl_bind" ]; then
  if ! command -v taskset >/dev/null; then
    hl_warn "neither cores nor memory are bound: there is no taskset"
    hl_nodes= hl_prefer=
  elif [ -n "$hl_besteffort" ]; then
    hl_try_cores
  elif ! taskset -pc "$hl_bind" $$ >/dev/null; then
    hl_fail "could not bind to the cores $hl_bind"
  fi
fi
if [ -n "$hl_nodes$hl_prefer" ]; then
  if command -v numactl >/dev/null; then
    hl_tool=$(command -v numactl) # the job's PATH may have none
    hl_policy=--membind=$hl_nodes
    [ -n "$hl_nodes" ] || hl_policy=--preferred=$hl_prefer
    [ -z "$hl_besteffort" ] || hl_try_policy
  else
    hl_warn "memory is not bound: there is no numactl"
  fi
fi

if [ -n "$hl_cwd" ]; then
  CDPATH='' cd -- "$hl_cwd" || hl_fail "cannot work in $hl_cwd"
  unset -v OLDPWD # dash exports it
fi

# The environment last: the job's PATH or LD_PRELOAD must not reach the tools above.
while [ "$1" != -- ]; do
  export "$1"
  shift
done
shift
for hl_word; do
  set -- "$@" "${hl_word#=}"
  shift
done
[ -z "$hl_policy" ] || set -- "$hl_tool" "$hl_policy" -- "$@"
unset -v hl_of_wrapper
[ "$hl_from" != hydra ] || hl_stay "$@"
exec "$@"
WRAPPER

launch
