"""Bash's grammar for long inputs: a text is read in one pass, some hundred thousand words in a second.

shfmt, which reads what `diff` is given, writes its tree as indented JSON, two hundred times the text: a
megabyte takes it twenty seconds. This makes the same statements (readback/shell/statements.py), with the
lines and the text of each, and the tests hold its results against shfmt's, and what it refuses against bash.
"""
