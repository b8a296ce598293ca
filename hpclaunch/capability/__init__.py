"""What each version can do: of Slurm and Pyxis (tables in `data/`, read by `tables`), and of Kubernetes."""
