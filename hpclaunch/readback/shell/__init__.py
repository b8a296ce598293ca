"""Bash, read without running it: a script's statements, and what its commands would be given.

shfmt knows the grammar: `parse` makes statements of its syntax tree, and `words` the pieces of words by
bash's rules of quoting. `expand` gives what a word becomes, and `evaluate` walks the statements with
variables whose text is known or not.

Inside, text is what bash sees in the C locale: bytes, one character for each (Latin-1). `inside` and
`outside` go between that and Python's text.
"""


def inside(text: str) -> str:
    """Python's text as bytes, one character each."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def outside(text: str) -> str:
    """The reverse. Bytes that are no UTF-8 become what os.fsdecode makes of them."""
    if text.isascii():
        return text
    return text.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
