"""Bit sets in hexadecimal: 32-bit words, the highest first, as the kernel, hwloc and NCCL write them, or one
long number, as `lscpu -x` does."""

import re

from hpclaunch.values.cpulist import HIGHEST


def numbers(text: str) -> tuple[int, ...]:
    """The numbers in a bit set: "0x1,0x00000003" is (0, 1, 32), and so is "00000001,00000003". Raises
    ValueError for what is none, or is above the highest CPU number."""
    words = [word.strip().lower().removeprefix("0x") for word in text.split(",")]
    if not all(re.fullmatch(r"[0-9a-f]{0,8}", word) for word in words) or not any(words):
        raise ValueError(f"{text[:40]!a} is not a bit set")
    if len(words) > (HIGHEST + 1) // 32:
        raise ValueError("a bit set with a number above the highest CPU")
    value = 0
    for word in words:
        value = (value << 32) | int(word or "0", 16)
    return _bits(value)


def of_one_number(text: str) -> tuple[int, ...]:
    """The numbers in a bit set without words: "0x100000003" is (0, 1, 32). Raises ValueError as `numbers`."""
    digits = text.removeprefix("0x")
    if len(digits) > (HIGHEST + 1) // 4 or not re.fullmatch(r"[0-9a-fA-F]+", digits):
        raise ValueError(f"{text[:40]!a} is not a CPU mask in hexadecimal")
    return _bits(int(digits, 16))


def _bits(value: int) -> tuple[int, ...]:
    return tuple(number for number, bit in enumerate(reversed(bin(value)[2:])) if bit == "1")
