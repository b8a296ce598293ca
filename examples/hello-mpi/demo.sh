#!/usr/bin/env bash
# Runs examples/hello-mpi.yaml with 16 ranks and prints what each rank got beside what was planned: on two fake
# DGX A100 nodes under a real Slurm, or where that cannot be, on this machine's cores. `hpclaunch` and its
# Python must come first in PATH. Under CI nothing but Slurm counts.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
job=$here/../hello-mpi.yaml

say() { printf 'demo: %s\n' "$*" >&2; }

# Records and the sandbox of this run alone.
HPCLAUNCH_HOME=$(mktemp -d "${TMPDIR:-/tmp}/hpclaunch-demo.XXXXXX")
export HPCLAUNCH_HOME
sandbox=
cleanup() {
  if [[ -n $sandbox ]]; then hpclaunch sandbox down || true; fi
  rm -rf "$HPCLAUNCH_HOME"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The Python of the job file: another one would not have Debian's mpi4py.
has_mpi4py() { /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; }

sets=()
without_mpi() {
  say "without MPI: $1"
  sets+=(--set mpi=none)
}

sandbox=maybe # `up` may be interrupted half-way
if site=$(hpclaunch sandbox up --nodes 2 --node-type dgx-a100); then
  where="two fake DGX A100 nodes, under a real Slurm"
  has_mpi4py || without_mpi "/usr/bin/python3 has no mpi4py (package python3-mpi4py)"
else
  sandbox=
  [[ -z ${CI:-} ]] || { say "no sandbox, and this is CI" && exit 1; }
  site=local
  where="this machine's $(nproc) cores, without a scheduler: the sandbox's Slurm could not be started (see above)"
  sets+=(--set nodes=1 --set ranks_per_node=16)
  if ! has_mpi4py; then
    without_mpi "/usr/bin/python3 has no mpi4py (package python3-mpi4py)"
  elif ! command -v mpirun >/dev/null; then
    without_mpi "there is no mpirun (package openmpi-bin)"
  fi
  command -v numactl >/dev/null || sets+=(--set bind.memory=none)
  [[ -x /usr/bin/python3 ]] || sets+=(--set "command=[$(command -v python3), hello-mpi/hello.py]")
fi
say "16 ranks on $where"

plan=$HPCLAUNCH_HOME/plan.json log=$HPCLAUNCH_HOME/log
hpclaunch explain "$job" --site "$site" "${sets[@]}" --json >"$plan"
status=0
id=$(hpclaunch submit "$job" --site "$site" "${sets[@]}" --wait) || status=$?
[[ -n $id ]] || exit "$status"
hpclaunch logs "$id" >"$log"
if ((status)); then
  say "job $id failed with status $status; its output:"
  cat "$log" >&2
  exit "$status"
fi

records=()
if [[ $site != local ]]; then records=(--sandbox "$(dirname "$site")" --job "$id"); fi
python3 "$here/table.py" "$plan" "${records[@]}" <"$log"
