"""What answers a question: --env, where a variable that nobody gave is behind it."""

import re

from msgspec import structs

from hpclaunch.convert.draft import Draft, dotted
from hpclaunch.convert.mapping.words.texts import NAMES_OF_HERE
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.lenient import is_others
from hpclaunch.values.names import acts_on_commands

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_HERE = re.compile(rf"\$\(pwd(?: -[PL])?\)|\$\{{?(?:{'|'.join(NAMES_OF_HERE)})\b")
_MOST = 200  # variables by way of which a value is made
_MOST_SHOWN = 2
_OF_SUBMISSION = "the folder where the script was submitted"


def put(reading: ShellReading, draft: Draft) -> None:
    """Say of each question that is answered by --env which variables it needs."""
    keys = {dotted(key): key for key in draft.facts}
    for number, each in enumerate(draft.findings):
        if each.kind != "question" or each.todo != draft.answer(each.key):
            continue
        text = f"{each.what} {each.why}"
        names = _missing(reading, text)
        here = _HERE.search(text)
        given = [f"--env {name}=VALUE" for name in names[:_MOST_SHOWN]]
        why = each.why
        if here:
            given = ["--env PWD=/FOLDER"]
            shown = here[0] + ("}" if here[0].startswith("${") else "")
            why = f"{why}; {shown} is {_OF_SUBMISSION}"
        if given:
            answer = each.todo.replace(", or give ", ", give ")
            todo = f"{answer}, or convert again with {' '.join(given)}"
            draft.findings[number] = structs.replace(each, why=why, todo=todo)
            key = keys.get(each.key)
            if key is not None and draft.facts[key].is_open:
                draft.facts[key] = structs.replace(draft.facts[key], question=why)


def _missing(reading: ShellReading, text: str) -> list[str]:
    """The variables that nobody gave, of those that the text names and that these are made of."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = _WORD.findall(text)[::-1]
    while waiting and len(seen) < _MOST:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        given = reading.given(name)
        if not given and name in reading.wanted and not (is_others(name) or acts_on_commands(name)):
            found[name] = None
        waiting += [used for each in given for used in each.uses]
    return list(found)
