"""The command line: one small file for each group of commands, and no logic."""
