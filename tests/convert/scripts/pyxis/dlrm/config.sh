export PGNNODES=4
export PGNGPU=8
export WALLTIME=UNLIMITED
export SBATCH_OTHER_PARAMS="--switches 2"
