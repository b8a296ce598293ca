"""How many nodes, ranks and GPUs a script under Slurm has."""
