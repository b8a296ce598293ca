"""Scripts in scripts, and scripts of several programs."""
