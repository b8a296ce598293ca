# For bash, on a node of a running job and outside any container: RANK RANKS =word... runs the command where that
# rank of the job runs: in its container, its folder and its environment.
set -u
hl_rank=$1 hl_ranks=$2
shift 2
hl_fail() {
  printf 'hpclaunch: %s: %s\n' "${SLURMD_NODENAME-}" "$1" >&2
  exit 121
}

# The processes of the rank are those with its number in a step of so many ranks. Not those of this step, nor what
# waits beside the ranks, nor tools of the wrapper. The first of them is it, but not while it is the wrapper, which
# has not all of the environment.
# A process may end, or become another program and so be without an environment for a moment, while it is looked at.
hl_of_rank() { # is process $1 one? hl_variables: its environment
  local hl_variable hl_job='' hl_step='' hl_number='' hl_tasks=''
  { mapfile -d '' -t hl_variables <"/proc/$1/environ"; } 2>/dev/null || return
  for hl_variable in "${hl_variables[@]}"; do
    case $hl_variable in
      SLURM_JOB_ID=*) hl_job=${hl_variable#*=} ;;
      SLURM_STEP_ID=*) hl_step=${hl_variable#*=} ;;
      SLURM_PROCID=*) hl_number=${hl_variable#*=} ;;
      SLURM_STEP_NUM_TASKS=*) hl_tasks=${hl_variable#*=} ;;
      hl_of_wrapper=1) return 1 ;;
    esac
  done
  [[ $hl_job == "$SLURM_JOB_ID" && $hl_number == "$hl_rank" && $hl_tasks == "$hl_ranks" ]] || return
  [[ -n $hl_step && $hl_step != "$SLURM_STEP_ID" ]]
}
hl_find() { # hl_process: the rank's first process, and hl_variables; hl_begins: it is the wrapper still
  local hl_folder hl_each hl_words hl_name hl_value
  local -A hl_parents=() hl_wraps=()
  hl_process='' hl_begins=''
  for hl_folder in /proc/[0-9]*; do
    hl_each=${hl_folder#/proc/}
    hl_of_rank "$hl_each" || continue
    { mapfile -d '' -t hl_words <"$hl_folder/cmdline"; } 2>/dev/null || continue
    [[ ${hl_words[3]-} != hpclaunch-keep ]] || continue
    [[ ${hl_words[3]-} != hpclaunch-rank ]] || hl_wraps[$hl_each]=
    { while read -r hl_name hl_value; do
      [[ $hl_name != PPid: ]] || hl_parents[$hl_each]=$hl_value
    done <"$hl_folder/status"; } 2>/dev/null
  done
  for hl_each in "${!hl_parents[@]}"; do
    hl_of_rank "${hl_parents[$hl_each]}" && continue
    [[ -z ${hl_wraps[$hl_each]+x} ]] && hl_process=$hl_each || hl_begins=1
  done
  hl_of_rank "${hl_process:-none}" || hl_process=
}
for hl_left in {59..0}; do
  hl_find
  [[ -z $hl_process ]] || break
  [[ -n $hl_begins || $hl_left -gt 56 ]] || break
  sleep 0.5
done
[[ -n $hl_process ]] || hl_fail "rank $hl_rank does not run here: perhaps it has not begun, or has ended"

# The environment goes by a pipe: an argument would show secrets in the process list. What starts processes of MPI is
# the rank's alone.
hl_quoted=
for hl_variable in "${hl_variables[@]}"; do
  hl_name=${hl_variable%%=*}
  [[ $hl_name =~ ^[A-Za-z_][A-Za-z0-9_]*$ && $hl_name != PMI_* && $hl_name != PMIX_* ]] || continue
  hl_value=${hl_variable#*=}
  hl_quoted+="export $hl_name='${hl_value//\'/\'\\\'\'}'"$'\n'
done

hl_enter=()
for hl_space in user mnt; do
  if [[ $(readlink "/proc/$hl_process/ns/$hl_space") != "$(readlink "/proc/$$/ns/$hl_space")" ]]; then
    [[ $hl_space == user ]] && hl_option=--user || hl_option=--mount
    hl_enter+=("$hl_option")
  fi
done
if ((${#hl_enter[@]})); then
  hl_tool=$(type -P nsenter) || hl_fail "nsenter is not there, so nothing can be run in the rank's container"
  hl_enter=("$hl_tool" --preserve-credentials "${hl_enter[@]}" --wd "--target=$hl_process" --)
else
  cd -P -- "/proc/$hl_process/cwd" || hl_fail "the folder of the rank cannot be entered"
fi

exec 9< <(printf '%s' "$hl_quoted")
for hl_name in $(compgen -e); do
  case $hl_name in
    BASHOPTS | SHELLOPTS) ;;
    *) unset -v "$hl_name" ;;
  esac
done
# shellcheck disable=SC2016 # the shell of the container reads it
exec "${hl_enter[@]}" /bin/sh -c '
  hl_text=
  while IFS= read -r hl_line <&9; do
    hl_text="$hl_text$hl_line
"
  done
  exec 9<&-
  unset -v PWD OLDPWD SHLVL _
  eval "$hl_text"
  unset -v hl_text hl_line
  for hl_word; do
    set -- "$@" "${hl_word#=}"
    shift
  done
  exec "$@"
' hpclaunch-inside "$@"
