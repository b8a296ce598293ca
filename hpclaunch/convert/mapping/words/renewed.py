"""Variables that a text gives another value, made of those that they had: what stands behind that names the
value that it means."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.readback.shell.values import Part, Unknown, Value, join

# Characters that stand for parts that are not known, and for the new values: nobody writes these.
_PARTS, _NEW = 0xF0000, 0xF8000


def renewed(exports: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    """The new values of those that had one before. What a rank has of Slurm under a name of mpirun's or of
    torchrun's had none: the command means what it is given."""
    return {name: value for name, value in exports if not _is_of_rank(name, value)}


def _is_of_rank(name: str, value: Value) -> bool:
    part = value[0] if len(value) == 1 else None
    return isinstance(part, Unknown) and (part.name == name or part.kind == "number" or is_slurms(part.name))


def need_old(exports: Sequence[tuple[str, Value]]) -> bool:
    """Whether one behind another needs the value that the other had before."""
    before: set[Part] = set()
    for name, value in exports:
        if not before.isdisjoint(value):
            return True
        before.add(Unknown("variable", name))
    return False


def by_new(value: Value, given: Mapping[str, Value]) -> Value | None:
    """The value as it is told where these have their new values, None where it needs one that they had."""
    olds: set[Part] = {Unknown("variable", name) for name in given}
    if olds.isdisjoint(map(whole, value)):
        return value
    splits = any(isinstance(part, Unknown) and part.splits for part in value)
    parts: list[Part] = []
    text = _text(value, parts)
    names = sorted(given, key=lambda name: -len(given[name]))
    for index, name in enumerate(names):
        text = text.replace(_text(given[name], parts), chr(_NEW + index))
    if any(chr(_PARTS + index) in text for index, part in enumerate(parts) if part in olds):
        return None
    found = (_part(char, parts, names) for char in text)
    return join(
        [structs.replace(part, splits=splits) if isinstance(part, Unknown) else part for part in found]
    )


def whole(part: Part) -> Part:
    """The part as it is within quotes."""
    return structs.replace(part, splits=False) if isinstance(part, Unknown) else part


def _text(value: Value, parts: list[Part]) -> str:
    """The value with a character for each part that is no text."""
    texts = []
    for part in map(whole, value):
        if not isinstance(part, str) and part not in parts:
            parts.append(part)
        texts.append(part if isinstance(part, str) else chr(_PARTS + parts.index(part)))
    return "".join(texts)


def _part(char: str, parts: Sequence[Part], names: Sequence[str]) -> Part:
    if ord(char) >= _NEW:
        return Unknown("variable", names[ord(char) - _NEW])
    return parts[ord(char) - _PARTS] if ord(char) >= _PARTS else char
