"""Slurm's forms of a time, of nodes, of GPUs and of bindings."""

import re

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_ENDLESS = ("-1", "infinite", "unlimited")
_GRES = re.compile(r"(?:gres[/:])?gpu(?::([^:=(]+(?=[:=(]|$)))?(?:[:=](\d{1,6}))?(?:\([^)]*\))?")
_MOST_CPUS = 65_536
_MOST_DIGITS = 6  # of a number of GPUs


def seconds(text: str) -> int:
    """A time limit in seconds, 0 for none: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
    days-hours:minutes, days-hours:minutes:seconds (sbatch(1), --time). Slurm rounds up to whole minutes.
    Raises ValueError."""
    if text.lower() in _ENDLESS:
        return 0
    found = _TIME.fullmatch(text)
    if not found or len(text) > 40:
        raise ValueError(f"{text!r} is no time of Slurm")
    days, one, two, three = (int(group) if group else 0 for group in found.groups())
    if found[1] is not None:
        whole = days * 86400 + one * 3600 + two * 60 + three
    elif found[4] is not None:
        whole = one * 3600 + two * 60 + three
    else:
        whole = one * 60 + two
    return -(-whole // 60) * 60


def count(text: str) -> int:
    """A number of nodes or tasks: 16, 2k, or 4-4. Raises ValueError, also for a range (4-8)."""
    found = re.fullmatch(r"(\d{1,9})([kKmM]?)(?:-(\d{1,9})([kKmM]?))?", text)
    if not found:
        raise ValueError(f"{text!r} is no number")
    scale = {"": 1, "k": 1024, "m": 1024 * 1024}
    least = int(found[1]) * scale[found[2].lower()]
    if found[3] and int(found[3]) * scale[found[4].lower()] != least:
        raise ValueError(f"{text!r} is a range: how many come is known only when the job starts")
    return least


def gpus_of_gres(text: str) -> tuple[int, str, list[str]]:
    """How many GPUs a --gres gives on each node, their type ("" for any), and its parts about other
    things."""
    number, kind, others = 0, "", []
    for part in filter(None, text.split(",")):
        found = _GRES.fullmatch(part)
        if not found:
            others.append(part)
            continue
        name, amount = found[1] or "", found[2]
        if amount is None and name.isdecimal() and len(name) > _MOST_DIGITS:
            others.append(part)
            continue
        if amount is None and name.isdecimal():
            name, amount = "", name
        number += int(amount or 1)
        kind = kind or name
    return number, kind, [part for part in others if part.lower() != "none"]


def gpus(text: str) -> tuple[int, str]:
    """The same for --gpus and its like, which are [TYPE:]NUMBER. Raises ValueError."""
    kind, _, number = text.rpartition(":")
    if not number.isdigit() or len(number) > _MOST_DIGITS:
        raise ValueError(f"{text!r} is no number of GPUs")
    return int(number), kind


def masks(text: str) -> list[tuple[int, ...]]:
    """The numbers of each mask of a list: hexadecimal, bit N is N; mask*4 stands for four of them. Raises
    ValueError."""
    found: list[tuple[int, ...]] = []
    for mask, times in _repeated(text):
        if not re.fullmatch(r"(0[xX])?[0-9a-fA-F]+", mask) or len(mask) > _MOST_CPUS // 4:
            raise ValueError(f"{mask!r} is no mask")
        bits = f"{int(mask, 16):b}"[::-1]
        found += [tuple(index for index, bit in enumerate(bits) if bit == "1")] * times
    return found


def numbers(text: str) -> list[tuple[int, ...]]:
    """Each number of a map, as of map_cpu. Raises ValueError."""
    found: list[tuple[int, ...]] = []
    for number, times in _repeated(text):
        value = int(number, 16) if number.lower().startswith("0x") else int(number)
        if not 0 <= value < _MOST_CPUS:
            raise ValueError(f"{number!r} is no CPU")
        found += [(value,)] * times
    return found


def _repeated(text: str) -> list[tuple[str, int]]:
    found = []
    for part in text.split(","):
        value, star, times = part.partition("*")
        if star and not (times.isdigit() and 0 < int(times) <= 1024):
            raise ValueError(f"{part!r} is not repeated a number of times")
        found.append((value, int(times or 1)))
    return found
