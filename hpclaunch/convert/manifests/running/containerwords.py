"""The words of a container's command, as the kubelet gives them: $(NAME) has the container's value."""

import posixpath
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from hpclaunch.convert.manifests.objects.workload import COMMAND
from hpclaunch.convert.manifests.pods.environment import is_endless
from hpclaunch.convert.manifests.running import mounted_scripts
from hpclaunch.convert.manifests.running.mounted_scripts import Script
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.readback.kubelet import expand
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known
from hpclaunch.values.conversion import Place

_OPEN, _CLOSE = "\ue000", "\ue001"  # around a name whose value the manifest does not tell
_ALL = 100_000
NO_SCRIPTS: Mapping[str, Script] = MappingProxyType({})


class Word(Struct, frozen=True):
    """A word of a container's command, with its lines, and as `text_place` what they are of a text."""

    value: Value
    place: Place
    text_place: Place | None = None


def read(
    container: Field, variables: Mapping[str, str | None], scripts: Mapping[str, Script] = NO_SCRIPTS
) -> list[Word]:
    """The words of `command` and `args`. `variables` are the container's own by their names, None for those
    whose value the manifest does not tell, and `scripts` files that are mounted, by their paths."""
    words = [
        Word(_expanded(word.text(), variables), word.place, word.text_place)
        for key in COMMAND
        if (field := container.get(key)) is not None
        for word in field.items(_ALL)
    ]
    return _opened(words, scripts)


def _opened(words: list[Word], scripts: Mapping[str, Script]) -> list[Word]:
    """The words, where they start such a file, as of the shell that is given its text: bash -c TEXT FILE."""
    at = mounted_scripts.started([known(word.value) for word in words], scripts) if scripts else None
    if at is None:
        return words
    file = words[at]
    text, place = scripts[posixpath.normpath(known(file.value) or "")]
    shell = words[:at] or [Word(("bash",), file.place)]
    return [*shell, Word(("-c",), file.place), Word((text,), file.place, place), *words[at:]]


def _expanded(text: str, variables: Mapping[str, str | None]) -> Value:
    if _OPEN in text or "$" not in text:
        return (text,) if text else ()
    names = {
        name: value if value is not None else f"{_OPEN}{name}{_CLOSE}" for name, value in variables.items()
    }
    if is_endless(text, names):
        return (Unknown("input", "a word that would grow beyond all measure"),)
    found: list[Part] = []
    for number, piece in enumerate(expand(text, names).split(_OPEN)):
        name, closed, rest = piece.partition(_CLOSE)
        if number and closed:
            found += [Unknown("variable", name), rest]
        else:
            found.append(piece)
    return join(found)
