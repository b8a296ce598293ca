"""Keeping last-level caches whole where cores are divided: two ranks in one cache push out each other's
data."""

from collections.abc import Collection, Sequence

Core = tuple[int, ...]
Cores = tuple[Core, ...]


def regrouped(shares: Sequence[Cores], caches: Collection[frozenset[int]]) -> tuple[Cores, ...]:
    """Shares of the same sizes of the same cores, such that fewer of these caches have cores of several
    shares; the shares themselves where that cannot be had. The cores are those of one NUMA node, each in one
    share.

    The result is the best there is where caches have equally many of the cores: of a share of n cores no
    more than n // size of them are caches of its own, and each share gets that many before what is left of
    all others is divided. Where the sizes differ (CPUs are reserved), the smallest caches stay whole: for
    any set of caches that fits, as many of the smallest do. Whether they do is bin packing, and the largest
    into the first share with room finds a way nearly always, not always.
    """
    cores = sorted(core for share in shares for core in share)
    groups = [group for cache in caches if (group := tuple(core for core in cores if core[0] in cache))]
    groups.sort()
    home = {core: number for number, share in enumerate(shares) for core in share}
    whole = sum(len({home[core] for core in group}) == 1 for group in groups)
    sizes = [len(share) for share in shares]
    for count in range(len(groups), whole, -1):
        packed = _packed(sizes, sorted(groups, key=lambda group: (len(group), group))[:count])
        if packed is not None:
            return _filled(sizes, packed, cores)
    return tuple(shares)


def _packed(sizes: Sequence[int], groups: Sequence[Cores]) -> list[Cores] | None:
    """Each group in the first share with room for it, larger groups first; None where one has no room."""
    result: list[Cores] = [()] * len(sizes)
    for group in sorted(groups, key=lambda group: (-len(group), group)):
        roomy = (number for number, size in enumerate(sizes) if size - len(result[number]) >= len(group))
        number = next(roomy, None)
        if number is None:
            return None
        result[number] += group
    return result


def _filled(sizes: Sequence[int], packed: Sequence[Cores], cores: Sequence[Core]) -> tuple[Cores, ...]:
    """The shares with what is left of the cores, in order, up to their sizes."""
    taken = {core for share in packed for core in share}
    rest = iter([core for core in cores if core not in taken])
    return tuple(
        tuple(sorted((*share, *(next(rest) for _ in range(size - len(share))))))
        for share, size in zip(packed, sizes, strict=True)
    )
