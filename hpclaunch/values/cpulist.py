"""Sets of CPUs (or NUMA nodes) in the kernel's list form and in Slurm's mask form.

The list form is that of /sys/devices/system/cpu: "48-55,176-183". The mask form is what `srun
--cpu-bind=mask_cpu:` takes: hexadecimal, bit N is CPU N.
"""

from collections.abc import Iterable

HIGHEST = 65_535


def parse(text: str) -> tuple[int, ...]:
    """The numbers of a kernel list, in the order written: "0-2,8" is (0, 1, 2, 8).

    Raises ValueError for anything else than decimal numbers and rising ranges, for a number given
    twice, and for one above 65535.
    """
    numbers: list[int] = []
    for part in text.split(","):
        if not part.strip():
            if text.strip():
                raise ValueError(f"an empty part in the CPU list {text!r}")
            return ()
        first, dash, last = part.strip().partition("-")
        if not (first.isascii() and first.isdigit()) or (dash and not (last.isascii() and last.isdigit())):
            raise ValueError(f"{part.strip()!r} is neither a number nor a range such as 48-55")
        low, high = int(first), int(last or first)
        if high < low:
            raise ValueError(f"the range {part.strip()} runs backwards")
        if high > HIGHEST:
            raise ValueError(f"{high} is above {HIGHEST}")
        numbers.extend(range(low, high + 1))
        if len(numbers) > HIGHEST + 1:
            break  # some stand twice; a long text of wide ranges would fill the memory first
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"a number stands twice in {text!r}")
    return tuple(numbers)


def format_list(numbers: Iterable[int]) -> str:
    """The shortest kernel list, rising: (176, 48, 49) is "48-49,176"."""
    parts: list[str] = []
    ordered = sorted(set(numbers))
    start = 0
    for index, number in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != number + 1:
            first = ordered[start]
            parts.append(str(first) if first == number else f"{first}-{number}")
            start = index + 1
    return ",".join(parts)


def format_in_order(numbers: Iterable[int]) -> str:
    """A kernel list that keeps the order: (0, 1, 2, 9, 8) is "0-2,9,8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(map(format_list, runs))


def format_mask(numbers: Iterable[int]) -> str:
    """The mask in hexadecimal: (0, 4) is "0x11"."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return hex(mask)
