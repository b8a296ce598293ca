source $(dirname ${BASH_SOURCE[0]})/config_common.sh
export DGXNNODES=2
WALLTIME_MINUTES=8
export WALLTIME=$(( 3 * WALLTIME_MINUTES + 10 ))
export BATCHSIZE=408
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\.sh$//' )
export LR="10.5"
export EXTRA_PARAMS='--label "a b"'
export SBATCH_NETWORK=sharp
