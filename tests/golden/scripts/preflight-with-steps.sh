#!/bin/bash -p
# steps on superpod-a100: 2 nodes of type dgx-a100, 8 ranks on each.
# Made by hpclaunch 0.1.0 from a job file and a site file: change those, and render again.
#SBATCH --job-name=steps
#SBATCH --nodes=4  # 2 for the ranks, and 2 spare
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --exclusive  # the CPU masks below name cores of the whole node
#SBATCH --mem=0  # all of its memory
#SBATCH --time=02:00:00
#SBATCH --partition=batch
#SBATCH --no-requeue  # a job never runs twice by itself
#SBATCH --open-mode=append
#SBATCH --propagate=NONE  # the nodes' limits, not the login node's (memlock)
#SBATCH --signal=TERM@60  # the `after` steps have the last 60 s before the time limit
#SBATCH --no-kill  # a node that fails in the check is left out

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
    PATH | SLURM_CONF | SLURM_JOB* | SLURM_ARRAY_* | SLURM_SUBMIT_* | SLURM_CLUSTER_NAME | SLURMD_NODENAME) ;;
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

# The secrets came in a file for this job alone, as $2. It is read once.
if [[ ! -r ${2-} ]]; then
  echo "hpclaunch: the file with this job's secrets is gone or was read before: submit the job again" >&2
  exit 121
fi
while IFS= read -r -d '' hl_secret; do
  case $hl_secret in
    WANDB_API_KEY=*) export "${hl_secret?}" ;;
  esac
done <"$2"
rm -f -- "$2"

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
  '--container-image=nvcr.io#nvidia/mxnet:21.09-py3'
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
    # This job outlives a node that fails, and srun ends with 0 where all of its tasks were there.
    if [[ $hl_line == "srun: error: Node failure on "* ]]; then
      hl_cause=119
    fi
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

# Before the ranks start: the nodes that are good get them, the first 2 of 4.
hl_check_once=(
  --gres=gpu:8
  --overlap # a node that hangs in it keeps nothing from the ranks
  --cpu-bind=none
  --mem-bind=none
  --mpi=none
  --export=ALL
  --propagate=NONE
  --kill-on-bad-exit=0
)
hl_checked=(
  seconds=115
  gpus=8 # as many GPUs, and none with ECC errors
  # NAME/PCI/PORT/LINK/RATE, active and with that rate in Gb/s
  'hcas=mlx5_0/0000:0c:00.0/1/InfiniBand/200
        mlx5_1/0000:12:00.0/1/InfiniBand/200
        mlx5_2/0000:4b:00.0/1/InfiniBand/200
        mlx5_3/0000:54:00.0/1/InfiniBand/200
        mlx5_6/0000:8d:00.0/1/InfiniBand/200
        mlx5_7/0000:94:00.0/1/InfiniBand/200
        mlx5_8/0000:ba:00.0/1/InfiniBand/200
        mlx5_9/0000:cc:00.0/1/InfiniBand/200'
  memlock=1048576 # KiB that InfiniBand must be able to pin
)
hl_measured=(
  seconds=115
  floor=0 # GB/s that an all_reduce must reach
  -- all_reduce_perf -b 256M -e 256M -g 8
)
# An all_reduce over nodes goes the ways of the ranks: by their HCAs, and in their environment.
hl_linked=()
for hl_setting in "${hl_settings[@]}"; do
  case $hl_setting in from=* | hcas=* | near=*) hl_linked+=("$hl_setting") ;; esac
done

preflight() {
  hl_good=
  hl_good=$(/bin/sh -c "$hl_judge" hpclaunch-preflight "$hl_claim" 2 120 all "$hl_good" \
    "${hl_check_once[@]}" /bin/sh -c "$hl_check" hpclaunch-check "${hl_checked[@]}") || return
  hl_good=$(/bin/sh -c "$hl_judge" hpclaunch-preflight "$hl_claim" 2 120 all "$hl_good" \
    "${hl_check_once[@]}" "${hl_bare[@]}" /bin/sh -c "$hl_check" hpclaunch-check "${hl_measured[@]}") || return
  hl_good=$(/bin/sh -c "$hl_links" hpclaunch-links "$hl_claim" 2 120 0 "$hl_good" \
    "${hl_check_once[@]}" --mpi=pmix --kill-on-bad-exit=1 "${hl_bare[@]}" \
    /bin/sh -c "$hl_wrapper" hpclaunch-rank "${hl_linked[@]}" -- "${hl_environment[@]}" -- \
    =/bin/sh =-c "=$hl_together" =hpclaunch-together =all_reduce_perf =-b =1G =-e =1G =-g =8) || return
  hl_step+=(--nodelist="$hl_good")
  hl_nodes+=(--nodelist="$hl_good")
  hl_first_node=(--nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist="${hl_good%%,*}")
  # What reads Slurm's variables knows of these nodes alone.
  export SLURM_JOB_NODELIST="$hl_good" SLURM_JOB_NUM_NODES=2
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
hl_bare=("${hl_container[@]}") # of a check before them nothing is left
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
)

# srun with these words. What tasks write goes straight to 4 and 3; only srun's own messages pass by first_cause.
run() {
  local hl_codes
  srun --error=/dev/fd/3 "$@" 2>&1 >&4 | first_cause
  hl_codes=("${PIPESTATUS[@]}")
  if ((hl_codes[0] && hl_codes[1] || hl_codes[1] == 119)); then return "${hl_codes[1]}"; fi
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

# What runs the check on nodes, and says which of them are good.
IFS= read -r -N 131072 hl_judge <<'WRAPPER'
# Checks nodes of this job and prints the good ones, in their order, with commas: CLAIM WANTED SECONDS all|first NODES
# SRUN-WORD... NODES "" are all of the job's; `first` prints no more than WANTED. What is bad is said, and noted beside
# CLAIM. Fails with 122 where fewer than WANTED are good.
set -u -f
hl_wanted=$2 hl_seconds=$3 hl_which=$4 hl_nodes=$5 hl_file=
[ -z "$1" ] || hl_file=${1%/*}/preflight
shift 5
hl_say() {
  printf 'hpclaunch: preflight: %s\n' "$1" >&2
  [ -z "$hl_file" ] || { printf '%s\n' "$1" >>"$hl_file"; } 2>/dev/null
}
if [ -z "$hl_nodes" ]; then
  hl_nodes=$SLURM_JOB_NODELIST
  [ -z "$hl_file" ] || { : >"$hl_file"; } 2>/dev/null # a job that starts again checks again
fi
hl_hosts=$(scontrol show hostnames "$hl_nodes") || exit 122
hl_ok=' ' hl_bad=' ' hl_left= hl_lacking=' ' hl_lacks= hl_has= hl_status=0 hl_rest=$hl_hosts
hl_blame() { # NODE WHY
  hl_bad="$hl_bad$1 "
  hl_say "$1 is left out: $2"
}
hl_note() { # NODE: it has been looked at
  case $hl_lacking in *" $1 "*) ;; *) hl_has=1 ;; esac
}
hl_hear() { # a line
  case $1 in
    'hpclaunch-check '*' ok')
      hl_host=${1#* }
      hl_ok="$hl_ok${hl_host% ok} "
      hl_note "${hl_host% ok}"
      ;;
    'hpclaunch-check '*' bad '*)
      hl_host=${1#* }
      hl_blame "${hl_host%% *}" "${hl_host#* bad }"
      hl_note "${hl_host%% *}"
      ;;
    'hpclaunch-check '*' skip all_reduce: '*)
      hl_host=${1#* }
      hl_lacking="$hl_lacking${hl_host%% *} " hl_lacks=${1#* skip }
      ;;
    'hpclaunch-check '*' skip '*)
      case $hl_left in *"|${1#* skip }|"*) return ;; esac
      hl_left="$hl_left|${1#* skip }|"
      hl_say "not checked: ${1#* skip }"
      ;;
    'srun: error: Task launch for '*' failed on node '*)
      hl_host=${1##* failed on node }
      hl_blame "${hl_host%%:*}" "nothing can be started there (${hl_host#*: })"
      hl_again=1
      ;;
    ?*) printf 'preflight: %s\n' "$1" >&2 ;; # who asks why the job ended looks for ranks there
  esac
}

# Where srun cannot start the check on a node it ends that of all others: they are asked once more.
for hl_round in 1 2 3; do
  hl_list= hl_count=0 hl_again=
  for hl_host in $hl_rest; do
    hl_list="$hl_list${hl_list:+,}$hl_host"
    hl_count=$((hl_count + 1))
  done
  [ "$hl_count" != 0 ] || break
  # srun ends on SIGTERM with all that it started, wherever that answers.
  hl_said=$(timeout -k 30 "$hl_seconds" srun --nodes="$hl_count" --ntasks="$hl_count" --ntasks-per-node=1 \
    --nodelist="$hl_list" --input=none "$@" 2>&1)
  hl_status=$?
  while IFS= read -r hl_line; do hl_hear "$hl_line"; done <<EOF
$hl_said
EOF
  [ -n "$hl_again" ] || break
  hl_more=
  for hl_host in $hl_rest; do
    case $hl_ok$hl_bad in *" $hl_host "*) ;; *) hl_more="$hl_more $hl_host" ;; esac
  done
  hl_rest=$hl_more
done

# A node without the program that others have is bad; without it anywhere nothing is measured.
if [ -n "$hl_has" ]; then
  for hl_host in $hl_lacking; do hl_blame "$hl_host" "$hl_lacks"; done
elif [ -n "$hl_lacks" ]; then
  hl_say "not checked: $hl_lacks"
fi
hl_why="it said nothing, and srun ended with status $hl_status"
case $hl_status in 124 | 137) hl_why="it said nothing within $hl_seconds s" ;; esac
hl_good= hl_have=0 hl_count=0
for hl_host in $hl_hosts; do
  hl_count=$((hl_count + 1))
  case $hl_bad in *" $hl_host "*) continue ;; esac
  case $hl_ok in
    *" $hl_host "*)
      hl_have=$((hl_have + 1))
      [ "$hl_which" = all ] || [ "$hl_have" -le "$hl_wanted" ] || continue
      hl_good="$hl_good${hl_good:+,}$hl_host"
      continue
      ;;
  esac
  hl_say "$hl_host is left out: $hl_why"
done
if [ "$hl_have" -lt "$hl_wanted" ]; then
  hl_say "only $hl_have of $hl_count nodes are good, and the ranks need $hl_wanted"
  exit 122
fi
[ "$hl_which" = all ] || hl_say "the ranks are on $hl_good"
printf '%s\n' "$hl_good"
WRAPPER

# What looks at a node.
IFS= read -r -N 131072 hl_check <<'WRAPPER'
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
WRAPPER

# What finds out which nodes are slow towards others, and what measures on each.
IFS= read -r -N 131072 hl_links <<'WRAPPER'
# Finds the nodes that are slow towards others and prints good ones, as `preflight` does: CLAIM WANTED SECONDS FLOOR NODES
# SRUN-WORD... The words measure an all_reduce with one task on a node, which must reach FLOOR GB/s. All nodes do it
# together, and mostly that is all. Else neighbours do by twos, all pairs at once; then each node of a slow pair with one
# of a good pair; and in the end those that the ranks get, together.
set -u -f
hl_wanted=$2 hl_seconds=$3 hl_floor=$4 hl_nodes=$5 hl_file=
[ -z "$1" ] || hl_file=${1%/*}/preflight
shift 5
hl_say() {
  printf 'hpclaunch: preflight: %s\n' "$1" >&2
  [ -z "$hl_file" ] || { printf '%s\n' "$1" >>"$hl_file"; } 2>/dev/null
}
hl_count_words() { hl_count=$#; }

hl_measure() { # NODE,NODE SRUN-WORD... Prints one line: NODE,NODE ok|slow|absent WHAT, or
# lacks NODE,NODE WHAT, of those that do not have the program
  hl_list=$1
  shift
  hl_count_words $(printf '%s\n' "$hl_list" | tr , ' ')
  # srun ends on SIGTERM with all that it started, wherever that answers.
  hl_said=$(timeout -k 30 "$hl_seconds" srun --nodes="$hl_count" --ntasks="$hl_count" --ntasks-per-node=1 \
    --nodelist="$hl_list" --input=none "$@" 2>&1)
  hl_status=$?
  hl_skip=$(printf '%s\n' "$hl_said" | sed -n 's/^hpclaunch-check \([^ ]*\) skip /\1 /p')
  hl_reached=$(printf '%s\n' "$hl_said" | sed -n 's/^# Avg bus bandwidth *: *\([0-9][0-9]*\).*/\1/p')
  hl_count_words $hl_reached
  hl_what="slow it failed with status $hl_status"
  case $hl_status in 124 | 137) hl_what="slow it said nothing within $hl_seconds s" ;; esac
  if [ -n "$hl_skip" ]; then
    hl_what=$(printf '%s\n' "$hl_skip" | head -n 1)
    hl_what="lacks $(printf '%s\n' "$hl_skip" | cut -d ' ' -f 1 | paste -s -d , -) ${hl_what#* }"
  elif [ "$hl_status" != 0 ]; then
    printf '%s\n' "$hl_said" | sed 's/^/preflight: /' >&2 # who asks why the job ended looks for ranks there
  elif [ "$hl_count" = 0 ]; then
    hl_what='slow it said no "# Avg bus bandwidth"'
  elif [ "$hl_count" != 1 ]; then
    hl_what='absent each node measured by itself: its program has no MPI, or not that of this Slurm'
  elif [ "$hl_reached" -lt "$hl_floor" ]; then
    hl_what="slow it reached $hl_reached GB/s of $hl_floor"
  else
    hl_what="ok $hl_reached"
  fi
  printf '%s %s\n' "$hl_list" "$hl_what"
}

hl_measure_pairs() { # SRUN-WORD... hl_said: a line for each of hl_pairs, of which no node is in two
  hl_said=$(
    for hl_pair in $hl_pairs; do hl_measure "$hl_pair" "$@" & done
    wait
  )
}

hl_fold() { # hl_pairs: the first of hl_ring with the last, and so on inwards; whoever is beside `.` is alone
  hl_pairs= hl_back= hl_left=0
  for hl_host in $hl_ring; do
    hl_back="$hl_host $hl_back" hl_left=$((hl_left + 1))
  done
  hl_left=$((hl_left / 2))
  set -- $hl_back
  for hl_host in $hl_ring; do
    [ "$hl_left" -gt 0 ] || break
    case " $hl_host $1 " in *' . '*) ;; *) hl_pairs="$hl_pairs $hl_host,$1" ;; esac
    hl_left=$((hl_left - 1))
    shift
  done
}

hl_turn() { # hl_ring with all but the first one place on, so that others meet
  set -- $hl_ring
  hl_first=$1 hl_back=$2
  shift 2
  hl_ring="$hl_first $* $hl_back"
}

hl_choose() { # hl_chosen: the first that are good, as many as the ranks need. All are named that are not
  hl_chosen= hl_have=0
  for hl_host in $hl_hosts; do
    case $hl_good in *" $hl_host "*) ;; *) continue ;; esac
    hl_have=$((hl_have + 1))
    [ "$hl_have" -gt "$hl_wanted" ] || hl_chosen="$hl_chosen${hl_chosen:+,}$hl_host"
  done
  [ "$hl_have" -lt "$hl_wanted" ] || return 0
  hl_say "only $hl_have of $hl_total nodes are good, and the ranks need $hl_wanted"
  exit 122
}

hl_end() {
  hl_say "the ranks are on $hl_chosen"
  printf '%s\n' "$hl_chosen"
  exit 0
}

if [ -z "$hl_nodes" ]; then # nothing else was checked
  hl_nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -s -d ,) || exit 122
  [ -z "$hl_file" ] || { : >"$hl_file"; } 2>/dev/null
fi
hl_hosts=$(printf '%s\n' "$hl_nodes" | tr , ' ')
hl_count_words $hl_hosts
hl_total=$hl_count hl_good=" $hl_hosts "
# A node without the program that others have is bad; without it anywhere nothing is measured. srun may have ended
# nodes that lack it too before they said so.
hl_lacking=' ' hl_more=$hl_nodes
while :; do
  hl_said=$(hl_measure "$hl_more" "$@")
  hl_what=${hl_said#* } hl_back=$hl_more hl_more=
  case $hl_what in lacks*) ;; *) break ;; esac
  hl_what=${hl_what#lacks }
  hl_lacking="$hl_lacking$(printf '%s\n' "${hl_what%% *}" | tr , ' ') " hl_lacks=${hl_what#* }
  for hl_host in $hl_hosts; do
    case $hl_lacking in *" $hl_host "*) ;; *) hl_more="$hl_more${hl_more:+,}$hl_host" ;; esac
  done
  if [ -z "$hl_more" ] || [ "$hl_more" = "$hl_back" ]; then
    hl_what="absent $hl_lacks" hl_lacking=' '
    break
  fi
done
if [ "$hl_lacking" != ' ' ]; then
  for hl_host in $hl_lacking; do hl_say "$hl_host is left out: $hl_lacks"; done
  hl_hosts=$(printf '%s\n' "$hl_back" | tr , ' ')
  hl_good=" $hl_hosts "
  hl_count_words $hl_hosts
  [ "$hl_count" -ge "$hl_wanted" ] || hl_choose
  hl_total=$hl_count
fi
case $hl_what in
  ok*) hl_choose && hl_end ;;
  absent*)
    hl_say "not checked: all_reduce between nodes: ${hl_what#* }"
    hl_choose && hl_end
    ;;
esac
hl_say "an all_reduce over all $hl_total nodes: ${hl_what#* }"

# Each with its neighbour, who is often on the same switch. No good pair in that: each with another, a few times.
hl_front= hl_back= hl_first= hl_good=' '
[ $((hl_total % 2)) = 0 ] || hl_first=.
for hl_host in $hl_hosts; do
  if [ -z "$hl_first" ]; then
    hl_first=$hl_host
  else
    hl_front="$hl_front $hl_first" hl_back="$hl_host $hl_back" hl_first=
  fi
done
hl_ring="$hl_front $hl_back" hl_again=0
while [ "$hl_good" = ' ' ] && [ "$hl_total" -gt 2 ] && [ "$hl_again" -lt 5 ]; do
  hl_fold
  hl_measure_pairs "$@"
  while read -r hl_pair hl_what; do
    case $hl_what in
      ok*) hl_good="$hl_good${hl_pair%,*} ${hl_pair#*,} " ;;
      *) hl_say "an all_reduce of ${hl_pair%,*} and ${hl_pair#*,}: ${hl_what#* }" ;;
    esac
  done <<HL_END
$hl_said
HL_END
  hl_again=$((hl_again + 1))
  hl_turn
done

hl_known= hl_rest=
for hl_host in $hl_hosts; do
  case $hl_good in *" $hl_host "*) hl_known="$hl_known $hl_host" ;; *) hl_rest="$hl_rest $hl_host" ;; esac
done
if [ -z "$hl_known" ]; then
  for hl_host in $hl_rest; do hl_say "$hl_host is left out: with no other node it is fast enough"; done
  hl_choose
fi
while [ -n "$hl_rest" ]; do
  hl_pairs= hl_more= hl_free=$hl_known
  for hl_host in $hl_rest; do
    if [ -z "$hl_free" ]; then
      hl_more="$hl_more $hl_host"
      continue
    fi
    hl_free=${hl_free# }
    hl_pairs="$hl_pairs ${hl_free%% *},$hl_host"
    case $hl_free in *' '*) hl_free=" ${hl_free#* }" ;; *) hl_free= ;; esac
  done
  hl_measure_pairs "$@"
  while read -r hl_pair hl_what; do
    case $hl_what in
      ok*) hl_good="$hl_good${hl_pair#*,} " ;;
      *) hl_say "${hl_pair#*,} is left out: an all_reduce with ${hl_pair%,*}: ${hl_what#* }" ;;
    esac
  done <<HL_END
$hl_said
HL_END
  hl_rest=$hl_more
done

hl_choose
hl_said=$(hl_measure "$hl_chosen" "$@")
hl_what=${hl_said#* }
case $hl_what in ok*) hl_end ;; esac
hl_say "the network is slow between the nodes: all $hl_wanted of the ranks together: ${hl_what#* }"
exit 122
WRAPPER
IFS= read -r -N 131072 hl_together <<'WRAPPER'
# On each of several nodes before the ranks start, as a task of one MPI world: becomes COMMAND... Where that is plain
# all_reduce_perf, the one that NVIDIA's images have built with MPI comes first.
set -u
if [ "$1" = all_reduce_perf ] && command -v all_reduce_perf_mpi >/dev/null 2>&1; then
  shift
  set -- all_reduce_perf_mpi "$@"
fi
if ! command -v -- "$1" >/dev/null 2>&1; then
  printf 'hpclaunch-check %s skip there is no %s\n' "${SLURMD_NODENAME-}" "$1"
  exit 127
fi
exec "$@"
WRAPPER

# The standard input of `keep` ends with all that `main` has started.
hl_codes=(122)
preflight && {
  main 3>&2 4>&5 5>&- | keep >&2 5>&-
  hl_codes=("${PIPESTATUS[@]}")
} 5>&1
exit "${hl_codes[0]}"
