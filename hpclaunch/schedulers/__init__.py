"""What talks to a scheduler: Slurm through its commands, Kubernetes through its API, or this machine. Nothing
here renders."""
