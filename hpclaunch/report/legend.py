"""What stands under a picture: whose colour is which, and what the signs mean."""

from collections.abc import Sequence

from hpclaunch.report import bands, devices, text
from hpclaunch.report.claims import Claims
from hpclaunch.report.scene import Group, Item, Rect, Text
from hpclaunch.values.outline import Outline

_SIZE = 10.5
_SWATCH = 18.0
_LEAST = 380.0  # the width of an entry that tells what its owner has
_FULL = 16  # owners of whom the legend tells what they have; the rank table tells it of more


def owners(x: float, y: float, width: float, claims: Claims | None) -> tuple[list[Item], float]:
    """A swatch for each owner, with what it has where there are not too many, and the height of it all."""
    if claims is None or not claims.entries:
        return [], 0.0
    everybody = list(claims.entries)
    if len(everybody) > _FULL:
        return _swatches(x, y, width, everybody, claims.noun)
    swatch = max(bands.room(text.named(claims.noun, (owner,))) for owner in everybody)
    groups, height = devices.flow(
        x,
        y,
        width,
        everybody,
        lambda x, y, w, owner: _entry(x, y, w, owner, swatch, claims),
        _LEAST,
        width,
        2,
    )
    return list(groups), height


def signs(x: float, y: float, width: float, machine: Outline) -> tuple[list[Item], float]:
    """What the signs of this picture mean, those alone that it has."""
    nodes = [numa for socket in machine.sockets for numa in socket.nodes]
    threads = max((len(core) for numa in nodes for core in numa.cores), default=0)
    sentences = [
        ("One cell is one CPU.", threads == 1),
        ("One cell is one CPU; the threads of a core stand one under the other.", threads > 1),
        ("A gap parts cores with different L3 caches.", any(len(set(numa.caches)) > 1 for numa in nodes)),
        ("Crossed out: reserved for the system.", bool(machine.reserved)),
        ("Dashed: adapters that carry no job's traffic.", any(hca.use != "compute" for hca in machine.hcas)),
    ]
    return paragraph(x, y, width, " ".join(words for words, shown in sentences if shown), _SIZE)


def paragraph(x: float, y: float, width: float, words: str, size: float) -> tuple[list[Item], float]:
    """Text broken into lines between words, and its height."""
    leading = size * 1.42
    lines = text.wrapped(words.split(), width, size)
    return (
        [Text(x, y + size + index * leading, line, size, ink="faint") for index, line in enumerate(lines)],
        leading * len(lines),
    )


def _entry(x: float, y: float, width: float, owner: int, swatch: float, claims: Claims) -> Group:
    parts = [text.printable(part) for part in claims.entries[owner]]
    lines = text.wrapped(parts, width - swatch - 8, _SIZE, " \u00b7 ")
    items = bands.band(x, y + 2, swatch, _SWATCH, (owner,), claims.noun, "")
    items += [Text(x + swatch + 8, y + 15 + 14 * index, line, _SIZE) for index, line in enumerate(lines)]
    height = max(_SWATCH + 4, 8.0 + 14 * len(lines))
    return Group(Rect(x, y, width, height, "entry", title=text.named(claims.noun, (owner,))), tuple(items))


def _swatches(
    x: float, y: float, width: float, everybody: Sequence[int], noun: str
) -> tuple[list[Item], float]:
    each = bands.room(str(max(everybody))) + 3
    columns = max(1, int(width // each))
    items: list[Item] = []
    for index, owner in enumerate(everybody):
        line, column = divmod(index, columns)
        left, top = x + column * each, y + line * (_SWATCH + 3)
        items += bands.band(left, top, each - 3, _SWATCH, (owner,), noun, "")
    return items, -(-len(everybody) // columns) * (_SWATCH + 3)
