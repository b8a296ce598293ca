"""The cores of a NUMA node: a cell for each CPU, the threads of a core one under the other."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from hpclaunch.report import bands, text
from hpclaunch.report.claims import Claims
from hpclaunch.report.scene import Item
from hpclaunch.values.outline import NumaOutline

_CELL_MIN, _CELL_MAX = 11.0, 30.0
_CACHE_GAP = 3.0
_LINE = 0.7  # between the threads of a core
_BLOCK = 26.0  # the height of a core
_THREAD_MIN = 13.0

Owners = tuple[int, ...] | None  # of one CPU: None where jobs may not use it
Key = tuple[Owners, ...]  # of the threads of a core


class _Grid(Struct, frozen=True):
    """Cores in rows of `columns`, each `cell` wide; `gaps` has the gap before each core in its row."""

    columns: int
    cell: float
    gaps: tuple[float, ...]


class _Run(Struct, frozen=True):
    """Cores side by side in one row whose threads have the same owners: from `start`, before `end`."""

    start: int
    end: int
    key: Key


def cells(
    x: float, y: float, width: float, numa: NumaOutline, claims: Claims | None, reserved: frozenset[int]
) -> tuple[list[Item], float]:
    """The cells with the numbers of their owners on them, and the height that they take."""
    if not numa.cores:
        return [], 0.0
    keys = [_key(core, claims, reserved) for core in numa.cores]
    threads = max(map(len, numa.cores))
    row = max(_THREAD_MIN, _BLOCK / threads)
    grid = _best(width, keys, numa.caches)
    items: list[Item] = []

    def place(core: int) -> tuple[float, float]:
        line, column = divmod(core, grid.columns)
        return x + column * grid.cell + grid.gaps[core], y + line * (row * threads + 3)

    for index, core in enumerate(numa.cores):
        left, top = place(index)
        for thread, cpu in enumerate(core):
            owners = keys[index][thread]
            title = f"CPU {cpu}: {_whose(owners, claims)}"
            items += bands.colours(
                left,
                top + thread * row,
                grid.cell - 1,
                row - _LINE,
                owners or (),
                title,
                "reserved" if owners is None else "idle",
            )
    runs = list(_runs(keys, grid.columns))
    word = _words(runs, numa, claims, grid)
    for run in runs:
        left, top = place(run.start)
        right = place(run.end - 1)[0] + grid.cell - 1
        for thread, owners in enumerate(run.key[:1] if len(set(run.key)) == 1 else run.key):
            height = (len(run.key) if len(set(run.key)) == 1 else 1) * row - 1
            items += bands.label(
                (left + right) / 2, top + thread * row + height / 2, word(run, owners), owners or ()
            )
    lines = -(-len(keys) // grid.columns)
    return items, lines * (row * threads + 3) - 4


def _key(core: tuple[int, ...], claims: Claims | None, reserved: frozenset[int]) -> Key:
    owners = claims.cpus if claims else {}
    return tuple(None if cpu in reserved else owners.get(cpu, ()) for cpu in core)


def _whose(owners: Owners, claims: Claims | None) -> str:
    if owners is None:
        return "reserved for the system"
    if claims is None:
        return "free for jobs"
    if owners:
        return text.named(claims.noun, owners)
    return "any rank" if claims.anywhere else f"no {claims.noun}"


def _best(width: float, keys: Sequence[Key], caches: Sequence[int]) -> _Grid:
    """The fewest rows, of equal length, in which every run of cores has room for its owners' numbers."""
    for rows in range(1, len(keys) + 1):
        grid = _grid(width, -(-len(keys) // rows), keys, caches)
        if grid.cell >= _CELL_MIN and _readable(grid, keys):
            break
    return grid


def _grid(width: float, columns: int, keys: Sequence[Key], caches: Sequence[int]) -> _Grid:
    gaps: list[float] = []
    for core in range(len(keys)):
        first = core % columns == 0
        apart = bool(caches) and not first and caches[core] != caches[core - 1]
        gaps.append(0.0 if first else gaps[-1] + _CACHE_GAP * apart)
    needed = max(_needed(key) for key in keys)
    cell = min(max(_CELL_MAX, needed), (width - max(gaps)) / columns)
    return _Grid(columns, cell, tuple(gaps))


def _readable(grid: _Grid, keys: Sequence[Key]) -> bool:
    """Whether each stretch of equal cores has its numbers on it at least once."""
    widest: dict[int, float] = {}
    needed: dict[int, float] = {}
    stretch = 0
    for run in _runs(keys, grid.columns):
        if run.start and keys[run.start - 1] != run.key:
            stretch = run.start
        needed[stretch] = _needed(run.key)
        widest[stretch] = max(widest.get(stretch, 0.0), (run.end - run.start) * grid.cell)
    return all(widest[start] >= needed[start] for start in needed)


def _needed(key: Key) -> float:
    """The width that the numbers of the owners take."""
    return max(bands.room(text.short(owners)) + 1 if owners else 0.0 for owners in key)


def _runs(keys: Sequence[Key], columns: int) -> Iterator[_Run]:
    start = 0
    for end in range(1, len(keys) + 1):
        if end == len(keys) or end % columns == 0 or keys[end] != keys[start]:
            yield _Run(start, end, keys[start])
            start = end


def _words(
    runs: Sequence[_Run], numa: NumaOutline, claims: Claims | None, grid: _Grid
) -> Callable[[_Run, Owners], str]:
    """What stands on a run: the owners, in words where that fits on every run of this NUMA node; without
    claims the CPUs."""

    def room(run: _Run) -> float:
        return (run.end - run.start) * grid.cell

    def fitting(run: _Run, word: str) -> str:
        return word if bands.room(word) <= room(run) else ""

    if claims is None:
        # The head of the NUMA node tells those of a single row.
        rows = len(runs) > 1
        return lambda run, owners: fitting(run, _cpus(run, numa)) if rows and owners == () else ""
    noun = claims.noun
    in_words = all(
        bands.room(text.named(noun, owners)) <= room(run) for run in runs for owners in run.key if owners
    )

    def word(run: _Run, owners: Owners) -> str:
        if owners:
            return fitting(run, text.named(noun, owners) if in_words else text.short(owners))
        return fitting(run, "reserved" if owners is None else "any rank" if claims.anywhere else "")

    return word


def _cpus(run: _Run, numa: NumaOutline) -> str:
    return text.brief([cpu for core in numa.cores[run.start : run.end] for cpu in core])
