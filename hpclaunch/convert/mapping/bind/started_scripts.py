"""Scripts that the script of a rank starts in turn: by name, or by a variable that the launcher exports."""

import re
from collections.abc import Iterator, Sequence
from os.path import basename

from hpclaunch.convert.reading import Source
from hpclaunch.readback.shell.values import Value, shown

_NAME = re.compile(r"[\w.+-]+")
_READ = re.compile(r"\$\{?([A-Za-z_]\w*)")
_COMMENT = re.compile(r"^\s*#.*", re.MULTILINE)


def through(
    first: Sequence[Source], scripts: Sequence[Source], environment: Sequence[tuple[str, Value]]
) -> list[Source]:
    """`first`, and those of `scripts` that their texts name, and the texts of these, each once.
    `environment`: what the launcher exports to the run."""
    others = {basename(each.name): each for each in reversed(scripts)}
    for each in first:
        others.pop(basename(each.name), None)
    exported = dict(environment)
    found = list(first)
    for source in found:
        for name in _named(source.text, exported):
            if name in others:
                found.append(others.pop(name))
    return found


def _named(text: str, exported: dict[str, Value]) -> Iterator[str]:
    code = _COMMENT.sub("", text)
    yield from dict.fromkeys(_NAME.findall(code))
    for variable in dict.fromkeys(_READ.findall(code)):
        if variable in exported:
            yield basename(shown(exported[variable]))
