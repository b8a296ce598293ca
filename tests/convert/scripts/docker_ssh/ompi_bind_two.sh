#!/bin/bash
case ${OMPI_COMM_WORLD_LOCAL_RANK} in
0)
  export OMPI_MCA_btl_openib_if_include=mlx5_0
  exec numactl --physcpubind=0-9,40-49 --membind=0 "${@}"
  ;;
1)
  export OMPI_MCA_btl_openib_if_include=mlx5_1
  exec numactl --physcpubind=20-29,60-69 --membind=1 "${@}"
  ;;
*)
  echo "no such rank"
  exit 1
  ;;
esac
