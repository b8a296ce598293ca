"""Dividing a node's GPUs and cores among its ranks, by counting alone."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def runs(items: Sequence[T], parts: int) -> tuple[tuple[T, ...], ...]:
    """`items` in `parts` contiguous runs, the larger ones first: 8 in 3 is 3, 3, 2.

    Where there are fewer items than parts, neighbouring parts share one: 2 in 4 is 0, 0, 1, 1.
    Without items every part is empty.
    """
    if not items:
        return ((),) * parts
    if len(items) < parts:
        return tuple((items[part * len(items) // parts],) for part in range(parts))
    size, larger = divmod(len(items), parts)
    result = []
    start = 0
    for part in range(parts):
        end = start + size + (part < larger)
        result.append(tuple(items[start:end]))
        start = end
    return tuple(result)


def gpus_of_ranks(gpus: int, ranks: int) -> tuple[tuple[int, ...], ...]:
    """The GPU indices of each local rank.

    Fewer ranks than GPUs: contiguous runs, the larger first. More: blocks, rank r on GPU floor(r*G/R). One
    rank more than a multiple of the GPUs: that last rank is a helper without a GPU.
    """
    if gpus == 0:
        return ((),) * ranks
    if ranks <= gpus:
        return runs(range(gpus), ranks)
    working = ranks - 1 if ranks % gpus == 1 else ranks
    owners = tuple((rank * gpus // working,) for rank in range(working))
    return owners + ((),) * (ranks - working)
