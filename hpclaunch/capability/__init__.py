"""What each version of Slurm and Pyxis can do: tables in `data/`, read by `tables`."""
