"""Variables that the launcher's shell has of files which its text sources before mpirun: -x hands them on."""

import posixpath
from collections.abc import Collection, Iterator, Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running import shelltext
from hpclaunch.convert.manifests.running.launch import DEFAULT, Launch
from hpclaunch.convert.manifests.running.mounted_scripts import NO_SCRIPTS, Script
from hpclaunch.convert.manifests.running.prepared import changes_shell
from hpclaunch.convert.manifests.running.units import Unit
from hpclaunch.readback.shell.values import Unknown, Value, known
from hpclaunch.values.conversion import Place

_SOURCES = frozenset(("source", "."))


def variables(
    launch: Launch,
    scripts: Mapping[str, Script],
    names: Collection[str],
    first: Collection[str],
    draft: Draft,
) -> dict[str, Variable]:
    """Those of `names` that files which are given set, where the text sources them; what is known only where
    the file runs is asked for. `first` are the names that the launcher's container has by itself."""
    found: dict[str, Variable] = {}
    for unit in _before(launch):
        text, place = scripts.get(_file_of(unit), ("", None))
        read = shelltext.read(text) if text and place is not None else None
        if read is None or place is None:
            continue
        for name, value, line in _exports(read):
            if name not in names:
                continue
            at = Place(place.file, line + 1, line + 1)
            told, is_default = _told(value)
            if told is None:
                found.pop(name, None)
                question = f"the value of {name}: {place.file} makes it, of what is known only where it runs"
                draft.ask(("env", name), question, [at], f"export {name}")
            elif not is_default:
                found[name] = Variable(name, told, at)
            elif name not in found and name not in first:
                found[name] = Variable(name, told, at)
                why = "no line of the manifest sets it, and the image may"
                draft.say("assumed", [at], f"the default of {name}", became=told or "nothing", why=why)
    return found


def unread(launch: Launch, scripts: Mapping[str, Script] = NO_SCRIPTS) -> str:
    """The statement before the launcher that changes its shell by a text that is not there, "" for none."""
    units = (unit for unit in _before(launch) if not scripts.get(_file_of(unit), ("",))[0])
    return next((unit.text.strip().removesuffix(";") for unit in units), "")


def _before(launch: Launch) -> Iterator[Unit]:
    shell = launch.shell
    if shell is not None and shell.launch is not None:
        yield from filter(changes_shell, shell.units[: shell.launch])


def _file_of(unit: Unit) -> str:
    words = [known(word) or "" for word in unit.words]
    return posixpath.basename(words[1]) if len(words) > 1 and words[0] in _SOURCES else ""


def _exports(text: shelltext.ShellText) -> Iterator[tuple[str, Value, int]]:
    """What a text exports, in its order: no value where it sets the name in a way that depends on more."""
    yield from ((name, (value,), line) for name, value, line in text.exported if name not in text.own)
    for unit in text.units:
        if unit.by_export:
            yield from ((name, value, unit.line) for name, value in unit.exports)
        yield from ((name, (), unit.line) for name in sorted(unit.sets))


def _told(value: Value) -> tuple[str | None, bool]:
    """The text of a value, and whether it is only the default of its own name: ${NAME:-TEXT}."""
    part = value[0] if len(value) == 1 else None
    default = DEFAULT.fullmatch(part.name) if isinstance(part, Unknown) else None
    if default is not None:
        return default["value"], True
    return (known(value), False) if value else (None, False)
