#!/bin/bash -p
# steps on superpod-a100: 2 nodes of type dgx-a100, 8 ranks on each.
# Made by hpclaunch 0.1.0 from a job file and a site file: change those, and render again.
#SBATCH --job-name=steps
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --exclusive  # the CPU masks below name cores of the whole node
#SBATCH --mem=0  # all of its memory
#SBATCH --time=02:00:00
#SBATCH --partition=batch
#SBATCH --requeue  # it starts again where it lost a node, or its place to another job
#SBATCH --open-mode=append
#SBATCH --propagate=NONE  # the nodes' limits, not the login node's (memlock)
#SBATCH --signal=TERM@60  # the `after` steps have the last 60 s before the time limit

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
hl_claim=${1-}

# From the shell that submitted this, nothing else reaches the job. (-p above: not its functions either.)
# This script's own variables begin with hl_, which no variable of a job does.
for hl_name in $(compgen -e); do
  case $hl_name in
    PATH | SLURM_CONF | SLURM_JOB* | SLURM_ARRAY_* | SLURM_SUBMIT_* | SLURM_CLUSTER_NAME | SLURMD_NODENAME | SLURM_RESTART_COUNT) ;;
    HTTPS_PROXY) ;;
    BASHOPTS | SHELLOPTS) ;; # readonly, and -p ignores them
    *) unset -v "$hl_name" ;;
  esac
done
hl_user=${SLURM_JOB_USER:-$(id -un)}
HOME=${HOME-~} USER=${USER-$hl_user} LOGNAME=${LOGNAME-$hl_user}
export HOME USER LOGNAME

# Hooks, the MPI plugin and daemons read these before a rank's own environment is set.
export OMPI_MCA_btl_tcp_if_include=ib0
export SLURM_PMIX_FENCE=ring # else MPI_Init ends before the ranks of other nodes are there, and Open MPI may crash

# The secrets came in a file for this job alone, as $2. It stays until the job's last end.
if [[ ! -r ${2-} ]]; then
  echo "hpclaunch: the file with this job's secrets is gone or was read before: submit the job again" >&2
  exit 121
fi
while IFS= read -r -d '' hl_secret; do
  case $hl_secret in
    WANDB_API_KEY=*) export "${hl_secret?}" ;;
  esac
done <"$2"

# Where each local rank runs, and its memory: bit N for CPU N and NUMA node N.
hl_masks=(
  0xff000000000000000000000000000000ff000000000000                   # rank 0: CPUs 48-55,176-183; memory 3; GPU 0; mlx5_0
  0xff000000000000000000000000000000ff00000000000000                 # rank 1: CPUs 56-63,184-191; memory 3; GPU 1; mlx5_1
  0xff000000000000000000000000000000ff0000                           # rank 2: CPUs 16-23,144-151; memory 1; GPU 2; mlx5_2
  0xff000000000000000000000000000000ff000000                         # rank 3: CPUs 24-31,152-159; memory 1; GPU 3; mlx5_3
  0xff000000000000000000000000000000ff0000000000000000000000000000   # rank 4: CPUs 112-119,240-247; memory 7; GPU 4; mlx5_6
  0xff000000000000000000000000000000ff000000000000000000000000000000 # rank 5: CPUs 120-127,248-255; memory 7; GPU 5; mlx5_7
  0xff000000000000000000000000000000ff00000000000000000000           # rank 6: CPUs 80-87,208-215; memory 5; GPU 6; mlx5_8
  0xff000000000000000000000000000000ff0000000000000000000000         # rank 7: CPUs 88-95,216-223; memory 5; GPU 7; mlx5_9
)
printf -v hl_mask_list '%s,' "${hl_masks[@]}"
hl_memory=0x8,0x8,0x2,0x2,0x80,0x80,0x20,0x20

hl_step=(
  --nodes=2
  --ntasks=16
  --ntasks-per-node=8
  --distribution=block
  --gres=gpu:8
  --mpi=pmix
  --export=ALL
  --propagate=NONE
  --kill-on-bad-exit=1 # one failing rank ends the job
  --open-mode=append
)

hl_container=(
  --container-image=/lustre/images/nvcr.io+nvidia+mxnet+21.09-py3-fc04b35907695c3d.sqsh
  --container-mounts=/raid/datasets/imagenet:/data:ro
  --container-workdir=/workspace/image_classification
  --no-container-mount-home
  --no-container-remap-root
  --container-writable
  --no-container-entrypoint
  '--container-env=OMPI_MCA_btl_tcp_if_include,WANDB_API_KEY' # else the image's own values win
)

hl_settings=(
  from=slurm
  memlock=1048576 # KiB that InfiniBand must be able to pin
  openib=1 # OMPI_MCA_btl_openib_if_include, for Open MPI 4 and older
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
)

hl_environment=(
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  NCCL_SOCKET_IFNAME=ib0
  GLOO_SOCKET_IFNAME=ib0
  OMPI_MCA_btl_tcp_if_include=ib0
  NCCL_DEBUG=INFO
  LD_PRELOAD=/opt/tools/libtrace.so
  ${HTTPS_PROXY+"HTTPS_PROXY=$HTTPS_PROXY"}
  HPCLAUNCH_RESTARTS="${SLURM_RESTART_COUNT-0}"
)

hl_command=(
  ./run_and_time.sh
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

hl_step+=(
  --cpu-bind="mask_cpu:${hl_mask_list%,}"
  --mem-bind="mask_mem:$hl_memory"
)

# A step with one task on each of its nodes.
hl_once=(
  --gres=gpu:8
  --cpu-bind=none
  --mem-bind=none
  --mpi=none
  --export=ALL
  --propagate=NONE
  --kill-on-bad-exit=1
  --open-mode=append
)
hl_nodes=(--nodes=2 --ntasks=2 --ntasks-per-node=1)
hl_first_node=(--nodes=1 --ntasks=1 --ntasks-per-node=1 --relative=0)

# All steps have one container on each node, by its name; `keep` removes it.
hl_name=hpclaunch-$SLURM_JOB_ID
hl_container+=(--container-name="$hl_name")

# What steps outside the container get. Names that change what commands do are left out.
hl_host_environment=(
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  CUDA_DEVICE_ORDER=PCI_BUS_ID
  NCCL_SOCKET_IFNAME=ib0
  GLOO_SOCKET_IFNAME=ib0
  OMPI_MCA_btl_tcp_if_include=ib0
  NCCL_DEBUG=INFO
  ${HTTPS_PROXY+"HTTPS_PROXY=$HTTPS_PROXY"}
  HPCLAUNCH_RESTARTS="${SLURM_RESTART_COUNT-0}"
)

# srun with these words. What tasks write goes straight to 4 and 3; only srun's own messages pass by first_cause.
run() {
  local hl_codes
  srun --error=/dev/fd/3 "$@" 2>&1 >&4 | first_cause
  hl_codes=("${PIPESTATUS[@]}")
  if ((hl_codes[0] && hl_codes[1])); then return "${hl_codes[1]}"; fi
  return "${hl_codes[0]}"
}

as_ranks() { # COMMAND...
  run "${hl_step[@]}" \
    "${hl_container[@]}" \
    /bin/sh -c "$hl_wrapper" hpclaunch-rank \
    "${hl_settings[@]}" -- "${hl_environment[@]}" "${hl_of_trial[@]}" -- "${@/#/=}"
}

launch() {
  as_ranks "${hl_command[@]}"
}

in_container() { # node|job|rank COMMAND...
  local hl_where=("${hl_nodes[@]}")
  case $1 in
    rank)
      as_ranks "${@:2}"
      return
      ;;
    job) hl_where=("${hl_first_node[@]}") ;;
  esac
  shift
  run "${hl_once[@]}" "${hl_where[@]}" "${hl_container[@]}" \
    /bin/sh -c "$hl_alone" hpclaunch-rank \
    from=slurm -- "${hl_environment[@]}" "${hl_of_trial[@]}" -- "${@/#/=}"
}

on_host() ( # node|job|rank COMMAND...
  unset -v WANDB_API_KEY SLURM_PMIX_FENCE
  hl_per=$1
  shift
  case $hl_per in
    job) # here, on the first node: also where Slurm starts no steps any more
      /bin/sh -c "$hl_host" hpclaunch-host /home/ada/jobs \
        "${hl_host_environment[@]}" "${hl_of_trial[@]}" -- "${@/#/=}" >&4 2>&3
      ;;
    node)
      run "${hl_once[@]}" "${hl_nodes[@]}" \
        /bin/sh -c "$hl_host" hpclaunch-host /home/ada/jobs \
        "${hl_host_environment[@]}" "${hl_of_trial[@]}" -- "${@/#/=}"
      ;;
    rank)
      hl_environment=("${hl_host_environment[@]}")
      hl_container=()
      as_ranks /bin/sh -c "$hl_host" hpclaunch-host /home/ada/jobs -- "${@/#/=}"
      ;;
  esac
)

keep() {
  srun --overlap "${hl_nodes[@]}" --cpu-bind=none --mpi=none --gres=none --export=ALL --propagate=NONE \
    /bin/sh -c "$hl_keep" hpclaunch-keep "$hl_name"
}

announce() { # WHAT COMMAND...
  local hl_code
  printf 'hpclaunch: %s\n' "$1" >&3
  "${@:2}"
  hl_code=$?
  ((hl_code == 0)) || printf 'hpclaunch: %s failed with status %s\n' "$1" "$hl_code" >&3
  return "$hl_code"
}

run_step() { # TITLE required|optional node|job|rank container|host COMMAND...
  local hl_code
  printf 'hpclaunch: %s\n' "$1" >&3
  case $4 in
    container) in_container "$3" "${@:5}" ;;
    host) on_host "$3" "${@:5}" ;;
  esac
  hl_code=$?
  ((hl_code == 0)) && return 0
  if [[ $2 == optional ]]; then
    printf 'hpclaunch: %s failed with status %s; it is optional\n' "$1" "$hl_code" >&3
    return 0
  fi
  printf 'hpclaunch: %s failed with status %s\n' "$1" "$hl_code" >&3
  return "$hl_code"
}

# What is told apart by trial: HPCLAUNCH_TRIAL=..., and its seed.
hl_of_trial=()

# Output and errors of a trial go together, to its own file and to the job's output.
run_trial() { # COUNT stop|keep_going SEED first|random FIRST LOG: the trial hl_trial
  local hl_seed hl_code hl_tee hl_wait hl_log=${6//'{trial}'/$hl_trial} hl_said="trial $hl_trial of $1"
  hl_of_trial=("HPCLAUNCH_TRIAL=$hl_trial")
  if [[ -n $3 ]]; then
    if [[ $4 == first ]]; then
      hl_seed=$(($5 + hl_trial - 1))
    else
      hl_seed=$(($(od -A n -N 4 -t u4 /dev/urandom) & 0x7fffffff))
    fi
    hl_of_trial+=("$3=$hl_seed")
    hl_said+=", $3=$hl_seed"
  fi
  if [[ $hl_log == */* ]]; then mkdir -p -- "${hl_log%/*}/" || return; fi
  : >"$hl_log" || return # before hours of work, not after them
  {
    (one_run 3>&1 4>&1 2>&1)
    hl_code=$?
  } > >(trap '' TERM INT HUP && exec tee -- "$hl_log" >&4)
  hl_tee=$!
  # What a step left running may hold the log open for ever. It writes on, and the trial has ended without it.
  for hl_wait in 0 0.01 0.05 0.2 0.5 1 1 1 1; do
    sleep "$hl_wait"
    kill -0 "$hl_tee" 2>/dev/null || break
  done
  if kill -0 "$hl_tee" 2>/dev/null; then
    printf 'hpclaunch: trial %s ended, and something that it started still writes to %s\n' "$hl_trial" "$hl_log" >&3
  elif ((!hl_code)); then
    wait "$hl_tee" # fails where the log could not be written
    hl_code=$?
  fi
  return "$hl_code"
}

one_run() {
  printf 'hpclaunch: %s\n' "$hl_said" >&3
  run_step 'before_each 1: drop caches' optional node host \
    /bin/sh -c 'sync && sudo /sbin/sysctl vm.drop_caches=3' || return
  run_step 'before_each 2: log the clear caches' required job container \
    python -c 'import mlperf_logger; mlperf_logger.clear()' || return
  launch
}

all_runs() {
  announce 'import of docker://nvcr.io#nvidia/mxnet:21.09-py3 to /lustre/images/nvcr.io+nvidia+mxnet+21.09-py3-fc04b35907695c3d.sqsh' run "${hl_once[@]}" \
    "${hl_first_node[@]}" /bin/sh -c "$hl_import" hpclaunch-import /lustre/images/nvcr.io+nvidia+mxnet+21.09-py3-fc04b35907695c3d.sqsh 'docker://nvcr.io#nvidia/mxnet:21.09-py3' || return
  announce 'stage_in: /lustre/datasets/imagenet to /raid/datasets/imagenet' run "${hl_once[@]}" \
    "${hl_nodes[@]}" /bin/sh -c "$hl_stage_in" hpclaunch-stage-in /lustre/datasets/imagenet /raid/datasets/imagenet /lustre/datasets/imagenet || return
  run_step 'setup 1: packages' required node container \
    /bin/sh -c 'pip install --no-deps mlperf-logging' || return
  run_step 'setup 2: bandwidth' optional rank container all_reduce_perf_mpi -b 128K -e 64M || return
  local hl_code hl_first=0
  for hl_trial in {1..5}; do
    run_trial 5 stop SEED random 0 '/home/ada/jobs/results/{trial}.log'
    hl_code=$?
    if ((hl_code)); then
      ((hl_first)) || hl_first=$hl_code
      printf 'hpclaunch: trial %s failed with status %s\n' "$hl_trial" "$hl_code" >&3
      break
    fi
  done
  return "$hl_first"
}

main() {
  local hl_status
  trap : TERM INT HUP # a cancelled job goes on until it is killed: what is left to do may still be done
  all_runs
  hl_status=$?
  hl_of_trial=()
  run_step 'after 1: cp -r /results /scratch/results' required job container \
    cp -r /results /scratch/results || hl_status=$((hl_status ? hl_status : $?))
  run_step 'after 2: tidy up' required node host /bin/sh -c 'rm -rf /raid/scratch/steps' || hl_status=$((hl_status ? hl_status : $?))
  return "$hl_status"
}
trap : TERM INT HUP

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

# The same for a step that is alone on its node.
IFS= read -r -N 131072 hl_alone <<'WRAPPER'
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

# What starts a step outside the container.
IFS= read -r -N 131072 hl_host <<'WRAPPER'
# Runs a command of the job outside its container: FOLDER NAME=value... -- =word...
set -u
CDPATH='' cd -- "$1" 2>/dev/null || cd /
unset -v OLDPWD # dash exports it
shift
while [ "$1" != -- ]; do
  export "$1"
  shift
done
shift
for hl_word; do
  set -- "$@" "${hl_word#=}"
  shift
done
exec "$@"
WRAPPER

# What imports the image, once for all jobs.
IFS= read -r -N 131072 hl_import <<'WRAPPER'
# Imports an image to a file that all nodes see: FILE URI. What is there already is taken as it is. FILE.json tells what
# it is, and .NAME.used-UID when a user last asked for it.
set -u
hl_file=$1 hl_uri=$2
hl_folder=${hl_file%/*} hl_name=${hl_file##*/}
hl_fail() {
  printf 'hpclaunch: %s\n' "$1" >&2
  exit 121
}
# Before the look at the file: who removes what is no longer used looks at it once more when the file is out of sight.
touch -- "$hl_folder/.$hl_name.used-$(id -u)" 2>/dev/null
[ ! -e "$hl_file" ] || exit 0
mkdir -p -- "$hl_folder" || hl_fail "no folder for shared images can be made: $hl_folder"
# Of two jobs the second waits, and finds the image there. The lock ends with this process.
{ true >>"$hl_folder/.$hl_name.lock"; } 2>/dev/null || hl_fail "nothing can be written to $hl_folder"
exec 9>>"$hl_folder/.$hl_name.lock"
hl_part=$hl_folder/.$hl_name.part-${SLURM_JOB_ID:-0}-$$
if flock -n 9 || { echo "hpclaunch: another job imports it: waiting" >&2 && flock 9; }; then
  [ ! -e "$hl_file" ] || exit 0
  rm -f -- "$hl_folder/.$hl_name.part-"* # of a job that was killed
else
  # A file system without locks: who is last gives the name, to the same image.
  echo "hpclaunch: $hl_folder knows no locks: another job that imports the image now is not waited for" >&2
fi
trap 'rm -f -- "$hl_part" "$hl_part.json"' EXIT
trap 'exit 143' TERM INT HUP
# The registry's digest of what a tag stands for now, where Enroot and registry tell it; else the file's own hash.
case $hl_uri in
  *@sha256:*) hl_digest=sha256:${hl_uri##*@sha256:} ;;
  *) hl_digest=$(timeout 60 enroot digest "$hl_uri" 2>/dev/null 9>&- </dev/null) || hl_digest= ;;
esac
case $hl_digest in
  *[!0-9a-f:sh]*) hl_digest= ;;
  sha256:????????????????????????????????????????????????????????????????) ;;
  *) hl_digest= ;;
esac
enroot import --output "$hl_part" -- "$hl_uri" 9>&- || hl_fail "enroot could not import $hl_uri: status $?"
hl_hash=
[ -n "$hl_digest" ] || hl_hash=$(sha256sum <"$hl_part") || hl_fail "$hl_part cannot be read"
{
  printf '{"image": "%s", "digest": "%s", "sha256": "%s", ' "$hl_uri" "$hl_digest" "${hl_hash%% *}"
  printf '"imported": "%s"}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
} >"$hl_part.json" || hl_fail "nothing can be written to $hl_folder"
# A name for a file of which the disk has a part only would outlast a node that stops now.
sync "$hl_part" "$hl_part.json" || hl_fail "the disk of $hl_folder may not have all of the image"
mv -f -- "$hl_part.json" "$hl_file.json" || hl_fail "nothing can be written to $hl_folder"
mv -f -- "$hl_part" "$hl_file" || hl_fail "$hl_file cannot be given its name"
touch -- "$hl_folder/.$hl_name.used-$(id -u)" 2>/dev/null || :
WRAPPER

# What copies folders to a node.
IFS= read -r -N 131072 hl_stage_in <<'WRAPPER'
# Under Slurm: the folders to copy to are made where they are not there.
HPCLAUNCH_NODE=${SLURMD_NODENAME-}
# srun ends the step with the first copy that fails, and drops what it has not read of it: the reason.
trap '[ $? = 0 ] || sleep 0.2 2>/dev/null' EXIT
hl_number=0
for hl_word; do
  hl_number=$((hl_number + 1))
  [ $((hl_number % 3)) != 2 ] || mkdir -p -- "$hl_word" || exit 121
done
# Copies folders to a worker's node before its ranks start, each once. Runs in an init container.
# Protocol 1: SOURCE TARGET NAME... with a name for each source, by which the target knows that it has it.
# Only what every /bin/sh has is used: dash, busybox, bash; and find, with cp or rsync.
set -uf
umask 022

hl_say() {
  printf 'hpclaunch: stage_in on %s: %s\n' "${HPCLAUNCH_NODE:-this node}" "$1" >&2
}

hl_is_staged() { # is the source called $2 in the target $1 to its last file?
  while read -r hl_line; do
    [ "$hl_line" != "$2" ] || return 0
  done 2>/dev/null <"$1/.hpclaunch-staged"
  return 1
}

hl_copy() { # what is in the folder $1 to the folder $2, whose own mode and times may be another's
  hl_tool='cp -af'
  # Not as root busybox's cp would have a line for each file, since owners cannot be kept.
  [ "$(id -u)" = 0 ] || cp --version >/dev/null 2>&1 || hl_tool='cp -RPf'
  ! command -v rsync >/dev/null || hl_tool='rsync -a'
  # shellcheck disable=SC2016 # for the other shell
  find "$1" -mindepth 1 -maxdepth 1 ! -name '.hpclaunch-staged*' -exec \
    /bin/sh -c 'tool=$1 to=$2 && shift 2 && exec $tool -- "$@" "$to/"' sh "$hl_tool" "$2" {} +
}

hl_stage() { # the folder $1 to the folder $2, under the name $3
  if [ ! -d "$1" ]; then
    hl_say "there is no folder $3"
    return 121
  fi
  # Of two jobs on one node the second waits, and finds all there. The lock ends with this process.
  if ! { true >>"$2/.hpclaunch-staged.lock"; } 2>/dev/null; then
    hl_say "nothing can be written to the folder that $3 is to be copied to"
    return 121
  fi
  exec 9>>"$2/.hpclaunch-staged.lock"
  if command -v flock >/dev/null; then
    flock 9 || return
  else
    hl_say "the image has no flock: another job that copies $3 here now is not waited for"
  fi
  if hl_is_staged "$2" "$3"; then
    hl_say "$3 is there already"
    return 0
  fi
  hl_say "copying $3"
  hl_copy "$1" "$2" || return
  # The name last, and at once: what was cut short before has none, and is copied again.
  {
    ! [ -e "$2/.hpclaunch-staged" ] || cat "$2/.hpclaunch-staged"
    printf '%s\n' "$3"
  } >"$2/.hpclaunch-staged.new" && mv -f "$2/.hpclaunch-staged.new" "$2/.hpclaunch-staged"
}

trap 'exit 143' TERM INT # as a container's first process the shell has no default for them
while [ $# -ge 3 ]; do
  hl_stage "$1" "$2" "$3" &
  wait $!
  hl_status=$?
  if [ "$hl_status" != 0 ]; then
    hl_say "$3 was not copied: status $hl_status"
    exit "$hl_status"
  fi
  shift 3
done
WRAPPER

# What removes the container from a node in the end.
IFS= read -r -N 131072 hl_keep <<'WRAPPER'
# Waits until its standard input ends, as it does with the job's script, and removes the container $1 from this
# node. A signal is Slurm's word that a job is cancelled or near its limit; what else runs may still use it then.
set -u
trap '' HUP INT QUIT ABRT ALRM TERM USR1 USR2
while read -r hl_line; do :; done
# Pyxis' names, where it keeps a container for its job (container_scope=job) and where it does not.
for hl_name in "pyxis_$1" "pyxis_${SLURM_JOB_ID-}_$1"; do
  if enroot list 2>/dev/null | grep -qxF -- "$hl_name"; then
    enroot remove --force -- "$hl_name" ||
      printf 'hpclaunch: %s: the container %s was not removed\n' "${SLURMD_NODENAME-}" "$hl_name" >&2
  fi
done
WRAPPER

# Tells others of this job. It takes 12 s at the most, and what becomes of it changes nothing of the job.
# Of what the command writes the first 64 KiB reach the log.
notify() { # start|end STATE STATUS|null
  local hl_now hl_json hl_record=${hl_claim%/*}
  TZ=UTC printf -v hl_now '%(%FT%TZ)T' -1
  printf -v hl_json '{"event":"%s","state":"%s","exit_status":%s,"job_id":"%s","hosts":"%s","restarts":%s,"time":"%s","tag":"%s",%s}' \
    "$1" "$2" "$3" "${SLURM_ARRAY_JOB_ID+${SLURM_ARRAY_JOB_ID}_}${SLURM_ARRAY_TASK_ID-$SLURM_JOB_ID}" \
    "$SLURM_JOB_NODELIST" "${SLURM_RESTART_COUNT-0}" "$hl_now" "${hl_record##*/}" \
    '"name":"steps","site":"superpod-a100","scheduler":"slurm","nodes":2,"ranks_per_node":8,"gpus_per_node":8,"image":"nvcr.io/nvidia/mxnet:21.09-py3","minutes":120'
  (
    CDPATH='' cd -- /home/ada/jobs 2>&1 || cd /
    printf '%s\n' "$hl_json" |
      timeout --signal=KILL 10 /bin/sh -c 'trap "" TERM; exec "$@"' hpclaunch-tells \
        ./tell.sh 'a b' 2>&1 |
      timeout --signal=KILL 12 /bin/sh -c 'trap "" TERM; head -c 65536; more=$(head -c 1 | wc -c)
        [ "$more" -eq 0 ] || printf "\nhpclaunch: more of this is left out\n"; wc -c >/dev/null' hpclaunch-hears
    exit "${PIPESTATUS[1]}"
  ) >&2 2>/dev/null || # bash would show all of the text that it saw killed
    echo "hpclaunch: nobody was told of the job's $1: status $? (137: it took too long)" >&2
}

# The standard input of `keep` ends with all that `main` has started.
{
  main 3>&2 4>&5 5>&- | keep >&2 5>&-
  hl_codes=("${PIPESTATUS[@]}")
} 5>&1
hl_status="${hl_codes[0]}"

trap '' TERM INT HUP # slurmd sends SIGTERM once more at a time limit, or where another job takes the nodes

# Why the job ends with the status $1, as Slurm has it; UNKNOWN where Slurm does not say.
fate() {
  local hl_shown
  hl_fate=COMPLETED
  (($1)) || return 0
  hl_shown=$(timeout --signal=KILL 10 /bin/sh -c 'trap "" TERM; exec "$@"' hpclaunch-asks \
    scontrol --oneliner show job "$SLURM_JOB_ID" 2>/dev/null)
  case $hl_shown in
    *" Restarts=$((${SLURM_RESTART_COUNT-0} + 1)) "*) hl_fate=REQUEUED ;;
    *" PreemptTime="[0-9]*) hl_fate=PREEMPTED ;;
    *" JobState=RUNNING "*) hl_fate=FAILED ;; # nobody else has ended it
    *" Reason=TimeLimit "*) hl_fate=TIMEOUT ;;
    *" Reason=NodeDown "*) hl_fate=NODE_FAIL ;;
    *" JobState="*) hl_fate=CANCELLED ;;
    *) hl_fate=UNKNOWN ;;
  esac
}
fate "$hl_status"

# Another start of this job reads the secrets again.
case $hl_fate in
  COMPLETED | FAILED) rm -f -- "$2" ;;
esac
notify end "$hl_fate" "$hl_status"
exit "$hl_status"
