"""Values of secrets, kept out of the job file and the report: both are sent around."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import structs

from hpclaunch.convert.defects.access import SECRET
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.reading import Assigned
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Finding

HIDDEN = "***"
# A shorter value may be a part of anything; beside its name it is hidden all the same.
_TELLS = 6
_NAMED = re.compile(r"\b(\w+)(=|: )(\"[^\"$]*\"|'[^']*'|[^\s\"';|&$][^\s\"';|&]*)")


def ask_instead(draft: Draft, assigned: Sequence[Assigned]) -> None:
    """A value of the job that has a secret's value in it becomes a question: it would stand in a file."""
    for value, name in _values(assigned).items():
        for fact in list(draft.facts.values()):
            if not fact.is_open and value in _text(fact.value):
                how = f"let the command read ${name}, and write secrets: [{name}]"
                question = f"the original has the value of {name} in it: {how}"
                draft.ask(fact.key, question, fact.places, name)


def _values(assigned: Sequence[Assigned]) -> dict[str, str]:
    """The names of secrets by their values."""
    found = {known(each.value) or "": each.name for each in assigned if SECRET.search(each.name)}
    return {value: name for value, name in found.items() if len(value) >= _TELLS}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(map(_text, value.values()))
    return "\n".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def without_values(findings: Iterable[Finding], assigned: Sequence[Assigned]) -> list[Finding]:
    """The findings, with *** for the value of each variable whose name says that it is a secret."""
    longest = sorted(_values(assigned), key=len, reverse=True)

    def hidden(text: str) -> str:
        for value in longest:
            text = text.replace(value, HIDDEN)
        return _NAMED.sub(_unnamed, text) if "=" in text or ": " in text else text

    return [
        structs.replace(
            each,
            what=hidden(each.what),
            became=hidden(each.became),
            why=hidden(each.why),
            todo=hidden(each.todo),
        )
        for each in findings
    ]


def _unnamed(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}{HIDDEN}" if SECRET.search(found[1]) else found[0]
