export DGXNNODES=4
export WALLTIME=00:70:00
export DGXNGPU=8
export CONTAINER_PRELOAD_LUSTRE=1
export BERTDIR=/lustre/data/bert
export CHECKPOINTS=/lustre/results
export MAX_STEPS=800
export HF_TOKEN=abcdef
BERT_CMD="python -u run_pretraining.py --steps=${MAX_STEPS}"
