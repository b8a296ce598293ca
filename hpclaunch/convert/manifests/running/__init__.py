"""What the pods of a launch run: texts for a shell, launchers, steps around them, who binds the ranks."""
