"""Variables that reach the ranks -> `env`, `inherit`, `secrets`."""
