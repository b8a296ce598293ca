"""Pyxis's --container-mounts -> `mounts`.

SRC[:DST[:FLAGS]], with commas between; SRC begins with / or ., or is tmpfs or umount (pyxis args.c).
"""

import re
from collections.abc import Sequence
from posixpath import join as posix_join
from posixpath import normpath

from msgspec.structs import replace

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container import appended
from hpclaunch.convert.mapping.container.appended import Entry
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_batch, submitting
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.mapping.words.texts import path, split
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place

# Flags that change nothing of what a rank sees in a folder.
_USUAL = frozenset(
    {"rw", "rbind", "bind", "rprivate", "private", "x-create=auto", "x-create=dir", "x-create=file"}
)
_DEFAULT = frozenset({"rw", "rbind"})
_QUOTES = ("'", '"')
# Within double quotes a single one is kept (bash(1), "QUOTING"): "${MOUNTS:='/a:/b'}" has both in its value.
_IS_PART = "its quote is a character of the path, as a quote within quotes of the other kind is"
_RELATIVE = re.compile(r"\.\.?(?:[:/]|$)")
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


def put(
    reading: ShellReading, command: Command, asked: Sequence[Asked], tables: Sequence[Source], draft: Draft
) -> list[str]:
    """Put the mounts into the draft. `tables` are files with a mount on each line, for a launcher that makes
    its list of one. Returns the sources, as far as they are known."""
    entries: list[Entry] = []
    of_sbatch = of_batch(reading)
    for each in asked:
        folder = _folder(reading, command, of_sbatch, each)
        for value in split(each.value or (), ","):
            for entry in appended.entries(reading, Entry(value, each.places)):
                entries += [
                    replace(one, value=_from_folder(one.value, folder))
                    for one in _entries(reading, command, entry, tables, draft)
                ]
    by_target: dict[str, tuple[Entry, str | dict[str, object], str]] = {}
    for number, entry in enumerate(entries):
        read = _mount(entry, draft)
        if read is None:
            continue
        target, mount, source = read
        key = target if target and not entry.only else f"open {number}"
        if key in by_target:
            old = by_target.pop(key)[0]
            why = f"another mount has the target {target}, and the last one counts"
            draft.say("replaced", old.places, f"mount {shown(old.value)}", why=why)
        by_target[key] = (entry, mount, source)
    for entry, mount, _ in by_target.values():
        places = _lines(reading, command, entry)
        what = f"mount {shown(entry.value)}"
        if entry.only:
            question = f"SRC:DST for {shown(entry.value)}, which is mounted only where {entry.only}"
            todo = "write it in the job file, or take the line out of it where it is not to be mounted"
            draft.ask(("mounts", draft.count("mounts")), question, entry.places, what, todo=todo)
        elif mount:
            draft.add("mounts", mount, places, what)
        else:
            parts = [part.name for part in entry.value if isinstance(part, Unknown)]
            names = ", ".join(dict.fromkeys(parts))
            why = "no shell fills in its ~" if "~" in shown(entry.value) else "it is no path of one line"
            why = f"{names} is not told" if names else why
            loop = next((each for each in command.loops if each.variable in parts and each.count != 1), None)
            if loop is not None:
                why = f"{loop.variable} is another one in each round of the loop over {loop.over}, and all "
                why += "trials have the same mounts: the folder above it may be one"
            why = either_of(reading, entry.value) or why
            question = f"SRC:DST for {shown(entry.value)}, and {why}"
            draft.ask(("mounts", draft.count("mounts")), question, places, names or what)
    return [source for _, _, source in by_target.values() if source]


def _entries(
    reading: ShellReading, command: Command, entry: Entry, tables: Sequence[Source], draft: Draft
) -> list[Entry]:
    """The entry, or where it is the output of a command those of the file that the command reads."""
    if known(entry.value) == "":
        return []
    made = [part for part in entry.value if isinstance(part, Unknown) and part.kind in ("output", "input")]
    if not made or len(entry.value) > 1:
        return [entry]
    if not tables:
        draft.ask(
            ("mounts", draft.count("mounts")),
            f"the mounts that {made[0].name} gives",
            entry.places,
            shown(entry.value),
            todo="give the file that it reads (mounts.txt) too, or write the mounts in the job file",
        )
        return []
    values = dict(command.environment)
    found = []
    for table in tables:
        for number, text in enumerate(table.text.splitlines(), 1):
            line = text.strip().rstrip(",")
            if line and not line.startswith("#"):
                places = (Place(table.name, number), *_named(reading, line))
                found.append(Entry(_filled(reading, line, values), places))
    return found


def _folder(reading: ShellReading, command: Command, of_sbatch: Sequence[Asked], each: Asked) -> Value:
    """Where srun or sbatch is called, () where that is the folder of the job file: that of submission, which
    nobody tells, or the one to which sbatch was to go (--chdir), where the job file is to be put. A container
    of sbatch begins there before the script goes anywhere: Pyxis leaves a relative source as it is
    (`add_mount` of its args.c) until the container is made."""
    submitted = reading.last("PWD")
    goes = any(one.name == "chdir" for one in of_sbatch)
    told = submitted.value if submitted is not None and known(submitted.value) and not goes else ()
    if each not in of_sbatch:
        return command.folder or told
    submits = submitting(reading)
    return (submits[-1].folder if submits and not goes else ()) or told


def _from_folder(entry: Value, folder: Value) -> Value:
    """An entry whose source is relative, with the path that it has by the folder."""
    first = entry[0] if entry else ""
    if not folder or not isinstance(first, str) or not _RELATIVE.match(first):
        return entry
    source, colon, rest = first.partition(":")
    if not colon and len(entry) == 1:
        return entry  # without a target it is none
    here = path(folder)
    if here is not None and (colon or len(entry) == 1):
        below = normpath(posix_join(here, source))
        whole = below if below.startswith(("/", "..")) or below == "." else f"./{below}"
        return join([whole, colon + rest, *entry[1:]])
    return join([*folder, "/", *entry])


def _named(reading: ShellReading, line: str) -> list[Place]:
    names = [one or other for one, other in _VARIABLE.findall(line)]
    return [each.place for name in names if (each := reading.last(name))]


def _filled(reading: ShellReading, line: str, values: dict[str, Value]) -> Value:
    """The line as envsubst makes it."""
    parts: list[Part] = []
    start = 0
    for found in _VARIABLE.finditer(line):
        name = found[1] or found[2]
        assigned = reading.last(name)
        default: Value = assigned.value if assigned is not None else (Unknown("variable", name),)
        parts += [line[start : found.start()], *values.get(name, default)]
        start = found.end()
    return join([*parts, line[start:]])


def _lines(reading: ShellReading, command: Command, entry: Entry) -> tuple[Place, ...]:
    """The lines behind this entry, and not those behind the others of the same option."""
    own = {entry.places[0]: None}
    used = reading.origin(command)
    text = shown(entry.value)
    for each in reading.assigned:
        value = known(each.value)
        if each.place in used and value and len(value) > 1 and value in text:
            own[each.place] = None
    return tuple(own) if len(own) > 1 else entry.places


def _mount(entry: Entry, draft: Draft) -> tuple[str, str | dict[str, object], str] | None:
    """The target, the mount as the job file has it ("": it is not told), and its source; None where it is
    none, and a finding says so."""
    source_value, *others = split(entry.value, ":")
    source = path(source_value)
    what = f"mount {shown(entry.value)}"
    if known(source_value) in ("tmpfs", "umount"):
        why = (
            "a job file has no mount of that kind"
            if known(source_value) == "tmpfs"
            else "nothing is taken away"
        )
        todo = f"pass it on by sites.NAME.srun only if the job has no other mounts: {shown(entry.value)}"
        draft.say("left", entry.places, what, why=why, todo=todo)
        return None
    target = path(others[0]) if others and others[0] else source
    if source is None or target is None or "\n" in source + target:
        return target or "", "", ""
    is_quoted = any(text[:1] in _QUOTES or text[-1:] in _QUOTES for text in (source, target))
    if is_quoted or not source.startswith(("/", ".")):
        why = _IS_PART if is_quoted else "Pyxis takes no source that does not begin with / or ."
        draft.ask(
            ("mounts", draft.count("mounts")), f"SRC:DST for {shown(entry.value)}: {why}", entry.places, what
        )
        return None
    flags = (known(others[1]) or "?").split("+") if len(others) > 1 and others[1] else []
    strange = [flag for flag in flags if flag not in _USUAL and flag != "ro"]
    if strange:
        why = f"a mount of a job is read-only or not; it has no flag {', '.join(strange)}"
        draft.say("left", entry.places, what, why=why, todo="see whether the job needs it")
    of_no_weight = [flag for flag in flags if flag in _USUAL - _DEFAULT]
    if of_no_weight:
        why = "a job's mounts have Pyxis's own flags for mounts below them and for their place in the image"
        draft.say("without effect", entry.places, f"{', '.join(of_no_weight)} of {what}", why=why)
    if target.startswith("."):
        return target, "", ""
    if not source.startswith((".", "/")) or ":" in source or ":" in target:
        return target, {"source": source, "target": target, "read_only": "ro" in flags}, source
    return target, f"{source}:{target}" + (":ro" if "ro" in flags else ""), source
