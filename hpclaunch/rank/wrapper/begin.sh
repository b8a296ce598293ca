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
