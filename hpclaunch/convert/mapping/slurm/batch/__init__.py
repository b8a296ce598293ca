"""What a script asks of sbatch, option by option."""
