# Starts the ranks from the launcher's container, and becomes mpirun.
# Protocol 1: SETTING=value... -- mpirun WORD...
# Only what every /bin/sh has is used: dash, busybox, bash. Names begin with hl_ so that none of the image's
# own variables is touched.
set -uf

hl_fail() {
  printf 'hpclaunch: launcher: %s\n' "$1" >&2
  exit 121
}

hl_mpi= hl_hosts= hl_wait=60 hl_ssh= hl_kit= hl_home= hl_keys=
while [ "$1" != -- ]; do
  case ${1%%=*} in
    mpi | hosts | wait | ssh | kit | home | keys) eval "hl_${1%%=*}=\${1#*=}" ;;
    *) hl_fail "this text speaks protocol 1 and does not know the setting $1" ;;
  esac
  shift
done
shift
[ -z "$hl_home" ] || export HOME="$hl_home"
hl_mpirun=$1
shift
command -v "$hl_mpirun" >/dev/null ||
  hl_fail "the image has no $hl_mpirun (mpi: $hl_mpi): take one that has it, or say which MPI it has"
