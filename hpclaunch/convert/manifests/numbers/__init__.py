"""How many nodes, GPUs and ranks a manifest starts."""
