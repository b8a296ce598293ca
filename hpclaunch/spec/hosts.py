"""Host lists such as dgx[001-140]: how many hosts, and which.

Every `hpclaunch render` counts hosts, and importing ClusterShell.NodeSet costs 7 ms of it. NodeSet also reads
@groups and set operators, which Slurm's host lists do not have. The tests compare the two.
"""

from itertools import product

LIMIT = 100_000

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def count(hosts: str) -> int:
    """How many hosts the list names. Raises ValueError as `expand` does."""
    return len(expand(hosts))


def expand(hosts: str) -> list[str]:
    """The names in the order written: "a[01-02],b" is a01, a02, b.

    Raises ValueError for a list that is empty or not well formed, a host named twice, and more than
    100,000 hosts.
    """
    names: list[str] = []
    for part in _parts(hosts):
        pieces = _pieces(part)
        size = len(names)
        total = 1
        for piece in pieces:
            total *= len(piece)
        if size + total > LIMIT:
            raise ValueError(f"the host list names more than {LIMIT:,} hosts")
        names.extend(map("".join, product(*pieces)))
    if len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the host {twice} stands twice in the list")
    return names


def _parts(hosts: str) -> list[str]:
    """The list cut at the commas that are not inside brackets."""
    parts = [""]
    inside = False
    for character in hosts:
        if character == "," and not inside:
            parts.append("")
            continue
        if character in "[]":
            if inside == (character == "["):
                raise ValueError("the brackets of the host list do not match")
            inside = not inside
        parts[-1] += character
    if inside:
        raise ValueError("the brackets of the host list do not match")
    if not all(parts):
        raise ValueError("the host list is empty, or a part of it is")
    return parts


def _pieces(part: str) -> list[list[str]]:
    """What a name is built from: a list of choices for each bracket, and one choice for the text between."""
    pieces: list[list[str]] = []
    for index, text in enumerate(part.replace("]", "[").split("[")):
        if index % 2:
            pieces.append(_numbers(text))
            continue
        strange = next((character for character in text if character not in _NAME), None)
        if strange:
            raise ValueError(f"{strange!r} cannot stand in a host name; write dgx[001-140] or dgx001,dgx002")
        pieces.append([text])
    if not pieces[0][0] or not (pieces[0][0][0].isalnum()):
        raise ValueError(f"the host name {part!r} does not begin with a letter or a digit")
    return pieces


def _numbers(ranges: str) -> list[str]:
    numbers: list[str] = []
    for one in ranges.split(","):
        low, dash, high = one.partition("-")
        high = high if dash else low
        if not all(text.isascii() and text.isdigit() for text in (low, high)):
            raise ValueError(f"{one!r} is not a range of host numbers, such as 001-140")
        if len(high) > 12 or len(low) > 12 or len(numbers) + int(high) - int(low) >= LIMIT:
            raise ValueError(f"the host list names more than {LIMIT:,} hosts")
        if int(high) < int(low):
            raise ValueError(f"the range {one} runs backwards")
        numbers.extend(str(number).zfill(len(low)) for number in range(int(low), int(high) + 1))
    return numbers
