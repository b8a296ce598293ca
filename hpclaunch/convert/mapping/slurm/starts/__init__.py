"""What else starts a script's ranks: mpirun, ssh, a launcher in a text, the script itself."""
