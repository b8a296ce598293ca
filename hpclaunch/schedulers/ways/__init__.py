"""The ways to Slurm: its commands, its library in this process, its server."""
