#!/bin/bash
# Stands in for the bind.sh of NVIDIA's MLPerf images, where each rank is already on its cores: what comes
# after `--` is run as it is.
while [[ $# -gt 0 && $1 != -- ]]; do shift; done
shift
exec "$@"
