"""A real Slurm on this machine with fake nodes, to try anything on: no submission needs it."""
