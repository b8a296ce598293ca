#!/bin/bash -p
# train on superpod-a100: 2 nodes of type dgx-a100, 8 ranks on each.
# Made by hpclaunch 0.1.0 from a job file and a site file: change those, and render again.
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --exclusive  # no other job on its nodes
#SBATCH --mem=0  # all of its memory
#SBATCH --time=01:00:00
#SBATCH --partition=batch
#SBATCH --no-requeue  # a job never runs twice by itself
#SBATCH --open-mode=append
#SBATCH --propagate=NONE  # the nodes' limits, not the login node's (memlock)

# shellcheck disable=SC2016 # what stands in single quotes is meant as it stands
set -u

# One submission is one run: a second job of it finds this link and starts no rank. A job that Slurm starts again
# finds its own, as do the tasks of an array. A script that is submitted by hand has no $1, and claims nothing.
hl_owner=${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID-}}
if [[ -n ${1-} ]] && ! hl_said=$(exec ln -sn -- "$hl_owner" "$1" 2>&1); then
  if ! hl_other=$(readlink -- "$1"); then
    echo "hpclaunch: nobody can tell whether this submission has run before: $hl_said" >&2
    exit 121
  elif [[ $hl_other != "$hl_owner" ]]; then
    echo "hpclaunch: job $hl_other of this submission came first, so job $hl_owner starts no rank" >&2
    exit 0
  fi
fi

# From the shell that submitted this, nothing else reaches the job. (-p above: not its functions either.)
# This script's own variables begin with hl_, which no variable of a job does.
for hl_name in $(compgen -e); do
  case $hl_name in
    PATH | SLURM_CONF | SLURM_JOB* | SLURM_ARRAY_* | SLURM_SUBMIT_* | SLURM_CLUSTER_NAME | SLURMD_NODENAME) ;;
    BASHOPTS | SHELLOPTS) ;; # readonly, and -p ignores them
    *) unset -v "$hl_name" ;;
  esac
done
hl_user=${SLURM_JOB_USER:-$(id -un)}
HOME=${HOME-~} USER=${USER-$hl_user} LOGNAME=${LOGNAME-$hl_user}
export HOME USER LOGNAME

# Hooks, the MPI plugin and daemons read these before a rank's own environment is set.
export OMPI_MCA_btl_tcp_if_include=ib0
export OMPI_MCA_btl='^openib'
export SLURM_PMIX_FENCE=ring # else MPI_Init ends before the ranks of other nodes are there, and Open MPI may crash

hl_step=(
  --nodes=2
  --ntasks=16
  --ntasks-per-node=8
  --distribution=block
  --gres=gpu:8
  --cpu-bind=none
  --mem-bind=none
  --mpi=pmix
  --export=ALL
  --propagate=NONE
  --kill-on-bad-exit=1 # one failing rank ends the job
  --open-mode=append
)

hl_container=(
  '--container-image=nvcr.io#nvidia/pytorch:24.07-py3'
  '--container-mounts=/raid/datasets/imagenet:/data:ro,/home/ada/jobs/results:/results'
  --container-workdir=/workspace
  --no-container-mount-home
  --no-container-remap-root
  --container-writable
  --no-container-entrypoint
  '--container-env=OMPI_MCA_btl_tcp_if_include,OMPI_MCA_btl' # else the image's own values win
)

hl_settings=(
  from=slurm
)

hl_environment=(
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  NCCL_SOCKET_IFNAME=ib0
  GLOO_SOCKET_IFNAME=ib0
  OMPI_MCA_btl_tcp_if_include=ib0
  NCCL_DEBUG=INFO
  'OMPI_MCA_btl=^openib'
)

hl_command=(
  python
  train.py
  --config
  large.toml
)

# srun names the rank that failed first, but returns the status of those it stopped after it (143).
# 128 + n for signal n, by its text in srun's messages.
hl_signals=(
  [1]=Hangup [2]=Interrupt [3]=Quit [4]="Illegal instruction" [5]="Trace/breakpoint trap" [6]=Aborted
  [7]="Bus error" [8]="Floating point exception" [9]=Killed [10]="User defined signal 1"
  [11]="Segmentation fault" [12]="User defined signal 2" [13]="Broken pipe" [14]="Alarm clock"
  [15]=Terminated [16]="Stack fault" [24]="CPU time limit exceeded" [25]="File size limit exceeded"
  [26]="Virtual timer expired" [27]="Profiling timer expired" [29]="I/O possible" [30]="Power failure"
  [31]="Bad system call"
)
first_cause() {
  local hl_line hl_said hl_cause=0 hl_signal
  while IFS= read -r hl_line; do
    printf '%s\n' "$hl_line" >&2
    ((hl_cause)) && continue
    [[ $hl_line == "srun: error: "*": task"*": "* ]] || continue
    hl_said=${hl_line#"srun: error: "*": task"*": "}
    case $hl_said in
      "Exited with exit code "*) hl_cause=${hl_said##* } ;;
      "Out Of Memory"*) hl_cause=137 ;;
      "Real-time signal "*) hl_cause=$((128 + 34 + ${hl_said//[!0-9]/})) ;;
      *)
        for hl_signal in "${!hl_signals[@]}"; do
          [[ $hl_said != "${hl_signals[hl_signal]}"* ]] || hl_cause=$((128 + hl_signal))
        done
        ;;
    esac
  done
  return "$hl_cause"
}

# What the ranks write goes straight to this job's output; only srun's own messages pass by first_cause.
launch() {
  local hl_codes
  srun "${hl_step[@]}" \
    "${hl_container[@]}" \
    --error=/dev/fd/3 \
    /bin/sh -c "$hl_wrapper" hpclaunch-rank \
    "${hl_settings[@]}" -- "${hl_environment[@]}" -- "${hl_command[@]/#/=}" \
    2>&1 >&4 | first_cause
  hl_codes=("${PIPESTATUS[@]}")
  if ((hl_codes[0] && hl_codes[1])); then return "${hl_codes[1]}"; fi
  return "${hl_codes[0]}"
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

launch 3>&2 4>&1
