"""What Slurm and Pyxis take from #SBATCH lines and from srun's command line."""
