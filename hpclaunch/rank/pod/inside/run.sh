# For sh, in a container where ranks of a running job are: RANK RANKS =word... runs the command with the environment
# and in the folder of the process that has both as variables, such as OMPI_COMM_WORLD_RANK=3 and
# OMPI_COMM_WORLD_SIZE=16; with neither of the first process, which then is the rank.
# Only what every /bin/sh has is used, with tr and sed.
set -u
hl_rank=$1 hl_ranks=$2
shift 2
hl_line='
'
hl_fail() {
  printf 'hpclaunch: %s\n' "$1" >&2
  exit 121
}

hl_variables() { # of process $1, one on each line; a line break in a value is \001
  { tr '\n\0' '\001\n' <"/proc/$1/environ"; } 2>/dev/null
}

hl_wraps() { # is process $1 the wrapper of a rank, which has not become it yet, or waits beside it?
  hl_text=$({ tr '\n\0' ' \n' <"/proc/$1/cmdline" | sed -n 4p; } 2>/dev/null)
  [ "$hl_text" = hpclaunch-rank ]
}

hl_find() { # hl_process: the first process of the rank; hl_begins: it is the wrapper still
  hl_process='' hl_begins='' hl_found=' '
  if [ -z "$hl_rank" ]; then
    if hl_wraps 1; then hl_begins=1; else hl_process=1; fi
    return
  fi
  for hl_folder in /proc/[0-9]*; do
    hl_each=${hl_folder#/proc/}
    hl_text=$hl_line$(hl_variables "$hl_each")$hl_line
    case $hl_text in *"$hl_line$hl_rank$hl_line"*) ;; *) continue ;; esac
    case $hl_text in *"$hl_line$hl_ranks$hl_line"*) ;; *) continue ;; esac
    # Not the wrapper, nor a tool that it runs: they have not all of its environment.
    case $hl_text in
      *"${hl_line}hl_of_wrapper=1$hl_line"*) hl_begins=1 ;;
      *) if hl_wraps "$hl_each"; then hl_begins=1; else hl_found="$hl_found$hl_each "; fi ;;
    esac
  done
  for hl_each in $hl_found; do
    hl_parent=$({ sed -n 's/^PPid:[^0-9]*//p' "/proc/$hl_each/status"; } 2>/dev/null)
    case $hl_found in *" $hl_parent "*) ;; *) hl_process=$hl_each && break ;; esac
  done
}
hl_left=60
hl_find
while [ -z "$hl_process" ] && [ -n "$hl_begins" ] && [ "$hl_left" -gt 0 ]; do
  sleep 1
  hl_left=$((hl_left - 1))
  hl_find
done
[ -n "$hl_process" ] ||
  hl_fail "the rank${hl_rank:+ with $hl_rank} does not run here: perhaps it has not begun, or has ended"

# The environment goes by a pipe: an argument would show secrets in the process list. What starts processes of MPI is
# the rank's alone, and some names are a shell's own.
hl_text=$(hl_variables "$hl_process" | LC_ALL=C sed -n \
  -e '/^[A-Za-z_][A-Za-z0-9_]*=/!d' -e '/^PMIX*_/d' \
  -e '/^UID=/d' -e '/^EUID=/d' -e '/^PPID=/d' -e '/^BASHOPTS=/d' -e '/^SHELLOPTS=/d' \
  -e "s/'/'\\\\''/g" -e "s/=/='/" -e "s/\$/'/" -e 's/^/export /p' | tr '\001' '\n')
[ -n "$hl_text" ] || hl_fail 'the environment of the rank cannot be read: is it of another user?'
case ${TERM-} in
  '' | *[!A-Za-z0-9._+-]*) ;;
  *) [ ! -t 0 ] || hl_text="$hl_text${hl_line}export TERM='$TERM'" ;;
esac
cd -P -- "/proc/$hl_process/cwd" || hl_fail 'the folder of the rank cannot be entered'
# shellcheck disable=SC2016 # the inner shell reads it
exec env -i /bin/sh -c '
  hl_text=
  while IFS= read -r hl_line <&9; do
    hl_text="$hl_text$hl_line
"
  done
  exec 9<&-
  unset -v PWD OLDPWD SHLVL _ IFS
  eval "$hl_text"
  unset -v hl_text hl_line
  for hl_word; do
    set -- "$@" "${hl_word#=}"
    shift
  done
  unset -v hl_word
  exec "$@"
' hpclaunch-inside "$@" 9<<HL_END
$hl_text
HL_END
