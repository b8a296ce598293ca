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
