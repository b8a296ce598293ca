"""A broken indentation -> the likeliest one that the API allows.

A key belongs to a parent whose type has it. Of several the one counts that fits the columns of the text best,
and after that the innermost. Line by line the best few ways are kept, since a later line may show that an
earlier one was taken wrongly.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.manifests.text import api
from hpclaunch.convert.manifests.text.lines import Line, Note
from hpclaunch.convert.manifests.text.pieces import Piece, cut

_MOST_PIECES = 3000
_KEPT = 16
_MOST_OPEN = 40
_DEEPEST = 60  # objects in objects
_MOST_TRIED = 400_000

# What a way costs: a column that does not fit, a key that the parent's type has not, one that stands twice, a
# value where another kind of value belongs, an object or list left empty, an item without what it needs, and
# each open parent that is passed by.
_COLUMN, _UNKNOWN, _TWICE, _KIND, _EMPTY, _MISSING, _PASSED = 1.0, 6.0, 20.0, 8.0, 1.2, 0.4, 0.01
_EMPTY_MAP = 0.5  # of any keys: labels, limits
_NEAR = 0.05


class _Frame(Struct, frozen=True):
    """An open parent: an object or a list of this type. `parent_column` is its key's, `column` that of what
    is in it (-1: nothing yet), `indent` where its entries are written."""

    kind: str
    is_list: bool
    parent_column: int
    column: int
    indent: int
    seen: frozenset[str]
    name: str


class _Way(Struct, frozen=True):
    """How the lines so far may stand. `indent` and `parent` are those of the last piece; `moved`: its column
    does not say so; `other`: a parent that the columns allow as well."""

    cost: float
    frames: tuple[_Frame, ...]
    before: "_Way | None" = None
    indent: int = 0
    parent: str = ""
    moved: bool = False
    other: str = ""


class Indented(Struct, frozen=True):
    """The lines with another indentation, what was changed, and how many keys found no parent."""

    lines: tuple[Line, ...]
    notes: tuple[Note, ...]
    strangers: int


def repaired(lines: Sequence[Line], kind: str) -> Indented | None:
    """The lines of one object of this type in an indentation that YAML reads. None where there is none, or
    too much."""
    pieces = cut(lines)
    if not pieces or len(pieces) > _MOST_PIECES:
        return None
    # Where all lines are indented alike, that is no child of anything.
    left = min(piece.column for piece in pieces)
    ways = [_Way(0.0, (_Frame(kind, False, left - 1, -1, 0, frozenset(), ""),))]
    tried = 0
    for piece in pieces:
        following = [each for way in ways for each in _next(way, piece)]
        tried += sum(min(len(way.frames), _MOST_OPEN) for way in ways)
        if not following or tried > _MOST_TRIED:
            return None
        ways = _best(following)
    chain: list[_Way] = []
    way: _Way | None = ways[0]
    while way is not None and way.before is not None:
        chain.append(way)
        way = way.before
    chain.reverse()
    out = [line for piece, way in zip(pieces, chain, strict=True) for line in _written(piece, way)]
    strangers = sum(
        1 for before, after in zip([None, *chain], chain, strict=False) if _is_strange(before, after)
    )
    return Indented(tuple(out), tuple(_notes(pieces, chain, out)), strangers)


def _best(ways: list[_Way]) -> list[_Way]:
    """The cheapest, one for each set of open parents."""
    found: dict[tuple[_Frame, ...], _Way] = {}
    for way in sorted(ways, key=lambda each: each.cost):
        found.setdefault(way.frames, way)
        if len(found) == _KEPT:
            break
    return list(found.values())


def _is_strange(before: _Way | None, after: _Way) -> bool:
    return after.cost - (before.cost if before else 0.0) >= _UNKNOWN


def _next(way: _Way, piece: Piece) -> list[_Way]:
    """The ways to go on with a piece."""
    if len(way.frames) > _DEEPEST:
        return []
    found = []
    for index in range(len(way.frames) - 1, max(-1, len(way.frames) - 1 - _MOST_OPEN), -1):
        frame = way.frames[index]
        each = _item(way, index, frame, piece) if piece.dashes else _entry(way, index, frame, piece)
        if each is not None:
            found.append(each)
    if len(found) > 1:
        found.sort(key=lambda each: each.cost)
        best, second = found[:2]
        if second.cost - best.cost < _NEAR and second.parent != best.parent:
            found[0] = _replaced(best, other=second.parent or "the object itself")
    return found


def _entry(way: _Way, index: int, frame: _Frame, piece: Piece) -> _Way | None:
    """A key in an open object."""
    if piece.key is None or (frame.is_list and frame.kind != api.ANY):
        return None
    below = api.below(frame.kind, piece.key)
    cost = 0.0 if below is not None else _UNKNOWN
    if frame.kind in api.FREE and below is not None:
        cost += 0.3  # a type that has the key by name comes before one that takes any
    cost += _kind_cost(piece, below)
    if piece.key in frame.seen:
        cost += _TWICE
    fits = piece.column == frame.column if frame.column >= 0 else piece.column > frame.parent_column
    if frame.kind == api.ANY and not fits:
        return None  # where anything may stand, only the columns tell what does
    cost += 0.0 if fits else _COLUMN
    cost += _closing(way.frames, index)
    entered = _replaced_frame(frame, piece.column, frame.seen | {piece.key})
    frames = (*way.frames[:index], entered)
    if piece.is_open:
        frames = (*frames, _opened(below or api.ANY, frame, piece.column, frame.indent, piece.key))
    return _Way(way.cost + cost, frames, way, frame.indent, frame.name, not fits)


def _item(way: _Way, index: int, frame: _Frame, piece: Piece) -> _Way | None:
    """An item in an open list."""
    if not frame.is_list and not (frame.kind == api.ANY and not frame.seen):
        return None
    kind = api.item(frame.kind)
    if kind is None:
        return None
    fits = piece.column == frame.column if frame.column >= 0 else piece.column >= frame.parent_column
    if frame.kind == api.ANY and not fits:
        return None
    cost = (0.0 if fits else _COLUMN) + _closing(way.frames, index)
    kept = _replaced_frame(frame, piece.column, frame.seen)
    frames: tuple[_Frame, ...] = (*way.frames[:index], kept)
    inner = piece.column + 2 * piece.dashes
    indent = frame.indent + 2 * piece.dashes
    if piece.key is None:
        if kind not in (api.TEXT, api.ANY) and piece.value[:1] not in ("{", "*", ""):
            cost += _KIND
        if piece.value == "":
            opened = _Frame(kind, False, piece.column, -1, indent, frozenset(), frame.name)
            frames = (*frames, opened)
        return _Way(way.cost + cost, frames, way, frame.indent, frame.name, not fits)
    if kind == api.TEXT:
        return _Way(way.cost + cost + _KIND, frames, way, frame.indent, frame.name, not fits)
    below = api.below(kind, piece.key)
    cost += (0.0 if below is not None else _UNKNOWN) + _kind_cost(piece, below)
    member = _Frame(kind, False, piece.column, inner, indent, frozenset((piece.key,)), frame.name)
    frames = (*frames, member)
    if piece.is_open:
        frames = (*frames, _opened(below or api.ANY, member, inner, indent, piece.key))
    return _Way(way.cost + cost, frames, way, frame.indent, frame.name, not fits)


def _kind_cost(piece: Piece, kind: str | None) -> float:
    """A scalar where an object belongs, or an object where a scalar does."""
    if kind is None or piece.is_open or piece.value[:1] in ("[", "{", "*"):
        return 0.0
    return _KIND if kind not in (api.TEXT, api.ANY) and piece.value.strip() not in ("null", "~") else 0.0


def _opened(kind: str, frame: _Frame, column: int, indent: int, key: str) -> _Frame:
    name = f"{frame.name}.{key}" if frame.name else key
    is_list = api.item(kind) is not None and kind != api.ANY
    # Items of a list stand below their key: `- ` takes the place of the next two columns.
    return _Frame(kind, is_list, column, -1, indent if is_list else indent + 2, frozenset(), name)


def _closing(frames: tuple[_Frame, ...], index: int) -> float:
    """What it costs to leave the parents inside of this one."""
    cost = 0.0
    for frame in frames[index + 1 :]:
        cost += _PASSED
        if frame.column < 0 and frame.kind not in (api.TEXT, api.ANY):
            cost += _EMPTY_MAP if frame.kind in api.FREE else _EMPTY
        cost += _MISSING * sum(
            key not in frame.seen for key in api.REQUIRED.get(frame.kind, ()) if not frame.is_list
        )
    return cost


def _replaced_frame(frame: _Frame, column: int, seen: frozenset[str]) -> _Frame:
    return _Frame(
        frame.kind,
        frame.is_list,
        frame.parent_column,
        column,
        frame.indent,
        seen,
        frame.name,
    )


def _replaced(way: _Way, other: str) -> _Way:
    return _Way(way.cost, way.frames, way.before, way.indent, way.parent, way.moved, other)


def _written(piece: Piece, way: _Way) -> Iterator[Line]:
    yield Line(piece.line.number, f"{' ' * way.indent}{'- ' * piece.dashes}{piece.content}")
    inside = way.indent + 2 * piece.dashes + 2
    if piece.block:
        least = min((line.column for line in piece.rest if line.text.strip()), default=0)
        for line in piece.rest:
            yield Line(line.number, f"{' ' * inside}{line.text[least:]}" if line.text.strip() else "")
    else:
        for line in piece.rest:
            yield Line(line.number, f"{' ' * inside}{line.text.strip()}")


def _notes(pieces: Sequence[Piece], chain: Sequence[_Way], out: Sequence[Line]) -> Iterator[Note]:
    before = {piece.line.number: piece.column for piece in pieces}
    changed = tuple(
        line.number for line in out if line.number in before and line.column != before[line.number]
    )
    if changed:
        yield Note(
            "an indentation that is not the API's", "an even one, by the parents that the API allows", changed
        )
    groups: list[tuple[str, str, list[str], list[int]]] = []
    for piece, way in zip(pieces, chain, strict=True):
        if not way.moved and not way.other:
            continue
        name = piece.key or piece.content[:30]
        if groups and groups[-1][:2] == (way.parent, way.other):
            groups[-1][2].append(name)
            groups[-1][3].append(piece.line.number)
        else:
            groups.append((way.parent, way.other, [name], [piece.line.number]))
    for parent, other, names, numbers in groups:
        shown = ", ".join(dict.fromkeys(names))
        yield Note(
            f"the indentation of {shown if len(shown) <= 80 else shown[:77] + '...'}",
            f"below {parent or 'the object itself'}",
            tuple(numbers),
            f"the API allows it below {other} as well: the nearest was taken" if other else "",
        )
