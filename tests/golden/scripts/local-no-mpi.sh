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
HOME=${HOME-~} USER=${USER-$(id -un)} LOGNAME=${LOGNAME-$(id -un)}
export HOME USER LOGNAME

hl_settings=(
  from=local
  rendezvous=torch
  'ucx=mlx5_0:1;mlx5_1:1;mlx5_2:1;mlx5_3:1;mlx5_6:1;mlx5_7:1;mlx5_8:1;mlx5_9:1' # UCX_NET_DEVICES of each local rank
  memlock=1048576 # KiB that InfiniBand must be able to pin
  cwd=/home/ada/jobs
  'cpus=48-55,176-183;56-63,184-191;16-23,144-151;24-31,152-159;112-119,240-247;120-127,248-255;80-87,208-215;88-95,216-223' # the cores of each rank
  'membind=3;3;1;1;7;7;5;5' # the NUMA nodes of each rank's memory
)

hl_environment=(
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  'NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1'
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

# The same in every script: what runs beside each rank, and becomes its command.
IFS= read -r -d '' hl_wrapper <<'WRAPPER'
# Runs beside every rank, inside its container if it has one, and becomes the rank's command.
# Protocol 1: SETTING=value... -- NAME=value... -- =word...
# Each word of the command has a `=` before it, since srun takes a word `:` for a separator.
# Only what every /bin/sh has is used: dash, busybox, bash. Names begin with hl_ so that none of the image's
# own variables is touched.
set -u

hl_fail() {
  printf 'hpclaunch: rank %s: %s\n' "${hl_rank:-?}" "$1" >&2
  exit 121
}

hl_pick() { # hl_entry: entry $1, from 0, of the list $2 with `;` between
  hl_entry=$2
  hl_skip=$1
  while [ "$hl_skip" -gt 0 ]; do
    case $hl_entry in
      *';'*) hl_entry=${hl_entry#*;} ;;
      *) hl_entry= ;;
    esac
    hl_skip=$((hl_skip - 1))
  done
  hl_entry=${hl_entry%%;*}
}

hl_first_host() { # hl_host: the first of a Slurm node list: dgx003 of "dgx[003-140],login[1-2]"
  hl_list=$1
  hl_host=
  while :; do
    hl_head=${hl_list%%[[,]*}
    hl_host=$hl_host$hl_head
    hl_list=${hl_list#"$hl_head"}
    case $hl_list in
      '['*)
        hl_list=${hl_list#?}
        hl_group=${hl_list%%]*}
        hl_host=$hl_host${hl_group%%[-,]*}
        hl_list=${hl_list#*]}
        ;;
      *) break ;;
    esac
  done
}

hl_from= hl_rendezvous= hl_ucx= hl_memlock= hl_cwd= hl_cpus= hl_membind= hl_preferred= hl_root= hl_numactl=
while [ "$1" != -- ]; do
  case $1 in
    from=*) hl_from=${1#*=} ;;
    rendezvous=*) hl_rendezvous=${1#*=} ;;
    ucx=*) hl_ucx=${1#*=} ;;
    memlock=*) hl_memlock=${1#*=} ;;
    cwd=*) hl_cwd=${1#*=} ;;
    cpus=*) hl_cpus=${1#*=} ;;
    membind=*) hl_membind=${1#*=} ;;
    preferred=*) hl_preferred=${1#*=} ;;
    rank=*) hl_rank=${1#*=} ;;
    ranks=*) hl_ranks=${1#*=} ;;
    port=*) hl_port=${1#*=} ;;
    root=*) hl_root=${1#*=} ;; # where /dev is, for a made-up machine
    *) hl_fail "this wrapper speaks protocol 1 and does not know the setting $1" ;;
  esac
  shift
done
shift

# Who am I?
case $hl_from in
  slurm)
    hl_rank=$SLURM_PROCID hl_local=$SLURM_LOCALID hl_node=$SLURM_NODEID
    hl_ranks=$SLURM_STEP_NUM_TASKS hl_nodes=$SLURM_STEP_NUM_NODES
    hl_first_host "$SLURM_STEP_NODELIST"
    hl_port=$((61000 + (SLURM_JOB_ID * 7 + SLURM_STEP_ID) % 4500)) # above the ephemeral ports
    ;;
  openmpi)
    hl_rank=$OMPI_COMM_WORLD_RANK hl_local=$OMPI_COMM_WORLD_LOCAL_RANK hl_node=0
    hl_ranks=$OMPI_COMM_WORLD_SIZE hl_nodes=1 hl_host=127.0.0.1
    ;;
  local)
    hl_local=$hl_rank hl_node=0 hl_nodes=1 hl_host=127.0.0.1
    ;;
  *) hl_fail "no setting says where the rank's number comes from (from=$hl_from)" ;;
esac
hl_local_ranks=$((hl_ranks / hl_nodes))

for hl_device in "$hl_root"/dev/infiniband/uverbs*; do
  [ -n "$hl_memlock" ] && [ -e "$hl_device" ] || break
  hl_limit=$(ulimit -l)
  [ "$hl_limit" = unlimited ] || [ "$hl_limit" -ge "$hl_memlock" ] ||
    hl_fail "the memlock limit is $hl_limit KiB, too low for InfiniBand: set LimitMEMLOCK=infinity for slurmd and PropagateResourceLimitsExcept=MEMLOCK"
  break
done

if [ -n "$hl_ucx" ]; then
  hl_pick "$hl_local" "$hl_ucx"
  [ -z "$hl_entry" ] || export UCX_NET_DEVICES="$hl_entry"
fi

if [ "$hl_rendezvous" = torch ]; then
  [ "$hl_rank" != 0 ] || [ "$hl_node" = 0 ] ||
    hl_fail "rank 0 is on node $hl_node and not on $hl_host, where MASTER_ADDR points"
  export MASTER_ADDR="$hl_host" MASTER_PORT="$hl_port" RANK="$hl_rank" LOCAL_RANK="$hl_local"
  export WORLD_SIZE="$hl_ranks" LOCAL_WORLD_SIZE="$hl_local_ranks" NODE_RANK="$hl_node"
fi

# Where no scheduler binds: cores for this process and all that come of it, memory by numactl.
if [ -n "$hl_cpus" ]; then
  hl_pick "$hl_local" "$hl_cpus"
  if [ -n "$hl_entry" ] && ! taskset -pc "$hl_entry" $$ >/dev/null; then
    hl_fail "could not bind to the cores $hl_entry"
  fi
fi
if [ -n "$hl_membind$hl_preferred" ]; then
  if ! command -v numactl >/dev/null; then
    [ "$hl_rank" != 0 ] || printf 'hpclaunch: memory is not bound: there is no numactl\n' >&2
  elif [ -n "$hl_membind" ]; then
    hl_pick "$hl_local" "$hl_membind"
    hl_numactl=--membind=$hl_entry
  else
    hl_pick "$hl_local" "$hl_preferred"
    hl_numactl=--preferred=${hl_entry%%[-,]*} # it takes one node
  fi
fi

if [ -n "$hl_cwd" ]; then
  CDPATH='' cd -- "$hl_cwd" || hl_fail "cannot work in $hl_cwd"
  unset -v OLDPWD # dash exports it
fi

# The environment last: the job's PATH or LD_PRELOAD must not reach the tools above.
hl_tool=$(command -v numactl)
while [ "$1" != -- ]; do
  export "$1"
  shift
done
shift
for hl_word; do
  set -- "$@" "${hl_word#=}"
  shift
done
case $hl_numactl in
  '') exec "$@" ;;
  *) exec "$hl_tool" "$hl_numactl" -- "$@" ;;
esac
WRAPPER

launch
