"""The srun commands of a script, and the one that is the run."""
