"""Checks of texts that more than one document uses. Each raises ValueError with what would be right."""

from hpclaunch.spec.scalars import shown
from hpclaunch.values import cpulist

# No patterns here: compiling them would cost every `hpclaunch render` more than all its checks.


def name(text: str) -> str:
    """A name that is also good as a file name, a Slurm job name and a label."""
    body = text.replace("-", "").replace("_", "").replace(".", "")
    if not (text.isascii() and body.isalnum() and text[0].isalnum() and len(text) <= 128):
        raise ValueError(
            f"{shown(text)} is not a name: letters, digits, '.', '_' and '-', "
            "a letter or digit first, at most 128 characters"
        )
    return text


def line(text: str) -> str:
    """Text on one line that is not blank: what becomes an option of another program."""
    if not text.strip():
        raise ValueError("the text is empty; leave the key out instead")
    if min(text) < " " or "\x7f" in text:
        raise ValueError(f"{shown(text)} has a line break or another control character")
    return text


def are_digits(parts: list[str], widths: range) -> bool:
    """Is every part a decimal number with as many digits as `widths` allows?"""
    return all(part.isascii() and part.isdigit() and len(part) in widths for part in parts)


def absolute(text: str) -> str:
    """An absolute path."""
    if not text.startswith("/"):
        raise ValueError(f"{shown(text)} is not an absolute path: it must begin with /")
    return line(text)


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a kernel list that is not empty."""
    found = cpulist.parse(text)
    if not found:
        raise ValueError("the list is empty; write numbers such as 0-7,16")
    return found
