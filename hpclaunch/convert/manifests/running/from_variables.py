"""A launcher that a shell has in a variable: `$LAUNCH train.py`, `eval "$CMD"`, `sh -c "$CMD"`."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from hpclaunch.convert.manifests.running import shelltext
from hpclaunch.convert.manifests.running.shelltext import LAUNCHERS, ShellText
from hpclaunch.convert.manifests.running.units import Unit, bare
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.readback.shell.values import Unknown, Value, known

# What a shell makes nothing of but the words between the blanks.
_PLAIN = re.compile(r"[\w ./:=,@%+-]+")


def read(text: str, variables: Mapping[str, str | None]) -> tuple[str, ShellText | None]:
    """The parts of a text, and the text in which a launcher stands in the place of its variable. Where a
    variable may be one and nobody can tell its words, the text has a launcher that depends on more."""
    parsed = shelltext.read(text)
    if parsed is None or parsed.launch is not None or parsed.nested:
        return text, parsed
    told = {**variables, **{name: value for name, value, _ in parsed.exported}}
    started = [(unit, name) for unit in parsed.units for name in _started(unit)]
    hiding = [(unit, name) for unit, name in started if name in told and _may_launch(told[name])]
    if not hiding:
        return text, parsed
    values = {name: told[name] or "" for _, name in hiding}
    if all(map(_PLAIN.fullmatch, values.values())):
        made = text
        for name, value in values.items():
            made = _with_value(made, name, value)
        again = shelltext.read(made)
        if again is not None and again.launch is not None:
            return made, again
    return text, replace(parsed, nested=(hiding[0][0].words,))


def _started(unit: Unit) -> Iterator[str]:
    """The variables whose words are the program that a command starts, or its text."""
    words = bare(unit.words)
    if not words:
        return
    yield from _names(words[:1])
    program = (known(words[0]) or "").rpartition("/")[2]
    if program == "eval" or (program in SHELLS and any(_gives_text(word) for word in words[1:-1])):
        yield from _names(words[1:])


def _gives_text(word: Value) -> bool:
    option = known(word) or ""
    return option.startswith("-") and not option.startswith("--") and "c" in option


def _names(words: Sequence[Value]) -> Iterator[str]:
    for word in words:
        first = word[0] if word else ""
        if isinstance(first, Unknown) and first.kind == "variable":
            yield first.name


def _may_launch(text: str | None) -> bool:
    if text is None:
        return True  # what the config map has, or another object
    found = layers([(word,) for word in text.split()])
    return any(layer.program in LAUNCHERS for layer in found) or shelltext.has_launcher(text)


def _with_value(text: str, name: str, value: str) -> str:
    """The text with the words of a variable in its place, as the shell has them."""
    used = rf"\$(?:{name}\b|\{{{name}\}})"
    text = re.sub(rf"\beval[ \t]+(\"?){used}\1(?=[\s;&|]|$)", lambda _: value, text)
    before = rf"\b(?:{'|'.join(map(re.escape, SHELLS))})[ \t]+-[a-z]*c[ \t]+"
    text = re.sub(rf"{before}(\"?){used}\1(?=[\s;&|]|$)", lambda _: value, text)
    return re.sub(used, lambda _: value, text)
