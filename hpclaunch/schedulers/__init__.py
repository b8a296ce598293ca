"""What talks to a scheduler: Slurm through its commands, or this machine. Nothing here renders."""
