"""Readers: what one capture of a machine shows, by its format. None of them guesses."""
