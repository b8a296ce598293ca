"""What a script asks of Slurm, its srun commands, and the one that is the run."""
