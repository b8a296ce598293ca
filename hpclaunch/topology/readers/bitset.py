"""Bit sets as the kernel, hwloc and NCCL write them: 32-bit words in hexadecimal, the highest first."""

import re

from hpclaunch.values.cpulist import HIGHEST


def numbers(text: str) -> tuple[int, ...]:
    """The numbers in a bit set: "0x1,0x00000003" is (0, 1, 32), and so is "00000001,00000003". Raises
    ValueError for what is none, or is above the highest CPU number."""
    words = [word.strip().lower().removeprefix("0x") for word in text.split(",")]
    if not all(re.fullmatch(r"[0-9a-f]{0,8}", word) for word in words) or not any(words):
        raise ValueError(f"{text[:40]!r} is not a bit set")
    if len(words) > (HIGHEST + 1) // 32:
        raise ValueError("a bit set with a number above the highest CPU")
    value = 0
    for word in words:
        value = (value << 32) | int(word or "0", 16)
    return tuple(number for number, bit in enumerate(reversed(bin(value)[2:])) if bit == "1")
