"""What the pods of a launch run: texts for a shell, launchers, steps around them."""
