#!/bin/bash
#SBATCH -J words -N 2 -t 1:00:00 --gres=gpu:8 --ntasks-per-node=8
IFS=, read -ra parts <<< "a,b,,c,"; export SECOND=${parts[1]} FOURTH=${parts[3]} COUNT=${#parts[@]}
read -r -a blanks <<< " one  two "; export TWO=${blanks[1]}
before=$IFS; IFS=:; read -a pair <<< "x:y"; IFS=$before; export RIGHT=${pair[1]}
hosts=($(scontrol show hostnames $SLURM_JOB_NODELIST))
export OTHER=${hosts[1]}
srun --mpi=pmix ./serve --peer ${hosts[1]}
