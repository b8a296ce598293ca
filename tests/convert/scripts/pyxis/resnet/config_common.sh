# What all sizes of the machine share.
export DGXNGPU=8
export DGXSOCKETCORES=64
export DGXNSOCKET=2
export DGXHT=2
export SLURM_NTASKS=${DGXNGPU}
export OMPI_MCA_btl="^openib"
export NCCL_SOCKET_IFNAME=ib0
