"""Pieces of the shell's text: their lines, paths and commands that a job file can say, loops over hosts."""
