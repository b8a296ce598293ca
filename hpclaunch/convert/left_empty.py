"""Variables that a script to be copied leaves empty (IMAGE=""), and without which it ends: whoever copies it
fills them in."""

import re
from collections.abc import Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.starts.ended import before_the_run
from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.values.conversion import Place

_NEAR = 8  # lines between a test and the `exit` that it leads to
_TEST = re.compile(
    r"-[zn]\s+\"?\$\{?(?P<test>[A-Za-z_]\w*)(?::?-)?\}?"
    r"|\"\$\{?(?P<same>[A-Za-z_]\w*)(?::?-)?\}?\"\s*={1,2}\s*(?:\"\"|'')"
)
_EMPTY = r"^(?P<before>\s*(?:(?:export|readonly|declare)\s+)?{name}=)(?:\"\"|'')?(?P<behind>\s*(?:;|#|$))"


def filled(sources: Sequence[Source], reading: ShellReading, draft: Draft) -> list[Source] | None:
    """The sources with a variable that nobody gave for those that the script's end is about; None where it
    does not end for that."""
    end = before_the_run(reading)
    text = next((each.text for each in sources if end is not None and each.name == end.place.file), "")
    if end is None or not text:
        return None
    lines = text.split("\n")
    near = lines[max(end.place.line - _NEAR, 0) : end.place.line]
    tests = next((found for line in reversed(near) if (found := list(_TEST.finditer(line)))), [])
    names = {found["test"] or found["same"] for found in tests}
    changed = False
    for name in sorted(names):
        empty = re.compile(_EMPTY.format(name=name))
        for number, line in enumerate(lines):
            if assigned := empty.match(line):
                # What the script has from outside under its own name would be exported too.
                given = name if "export" in assigned["before"] else f"{name}_VALUE"
                lines[number] = f'{assigned["before"]}"${{{given}}}"{line[assigned.start("behind") :]}'
                _say(given, line, Place(end.place.file, number + 1), draft)
                changed = True
    if not changed:
        return None
    text = "\n".join(lines)
    return [structs.replace(each, text=text) if each.name == end.place.file else each for each in sources]


def _say(name: str, line: str, place: Place, draft: Draft) -> None:
    why = "whoever copies the script fills it in: the script ends where it is empty"
    todo = f"fill it in, or convert again with --env {name}=VALUE"
    draft.say("repaired", [place], line.strip(), became=f"${{{name}}}", why=why, todo=todo)
    draft.to_fill_in.add(name)
