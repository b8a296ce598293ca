#!/bin/bash
if [ -n "${SLURM_LOCALID-}" ]; then
    CMD=( ./bind.sh --cpu=exclusive --ib=single --cluster=selene -- python -u )
else
    CMD=( python -u -m torch.distributed.launch --nproc_per_node=$DGXNGPU )
fi
"${CMD[@]}" train.py --data $DATADIR --nodes $DGXNNODES
