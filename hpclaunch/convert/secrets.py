"""Values of secrets, kept out of the job file and the report: both are sent around."""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from hpclaunch.convert.draft import Draft, Fact, dotted
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.secret_texts import HIDDEN, SECRET, hide, values
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Finding

# A shorter value may be a part of anything; beside its name it is hidden all the same.
_TELLS = 6
_WHY = "a secret is taken from the submitter when the job is sent, and stands in no file"


def ask_instead(draft: Draft, reading: ShellReading) -> None:
    """A value of the job that has a secret in it becomes a secret's name, or a question: it would stand in a
    file. What else the draft says is without secrets then, too."""
    secrets = _values(reading)
    for fact in list(draft.facts.values()):
        text = fact.question or _text(fact.value)
        clean = _without(text, secrets)
        if clean == text:
            continue
        if fact.is_open:
            draft.facts[fact.key] = structs.replace(fact, question=clean)
        elif fact.key[0] == "env" and len(fact.key) == 2:
            _by_name(fact, draft)
        else:
            _ask(fact, text, clean, secrets, draft)
    draft.refused = _without(draft.refused, secrets)
    draft.hints = {key: _without(text, secrets) for key, text in draft.hints.items()}


def _by_name(fact: Fact, draft: Draft) -> None:
    del draft.facts[fact.key]
    draft.findings[:] = [each for each in draft.findings if each.key != dotted(fact.key)]
    name = str(fact.key[1])
    draft.put(("secrets", draft.count("secrets")), name, fact.places, name, why=_WHY)


def _ask(fact: Fact, text: str, clean: str, secrets: dict[str, str], draft: Draft) -> None:
    names = [name for value, name in {**values(text), **secrets}.items() if value in text]
    name = names[0] if names else "NAME"
    draft.findings[:] = [each for each in draft.findings if each.key != dotted(fact.key)]
    shown = " ".join(clean.split())
    question = f"the original has a secret in it ({shown}): let it read ${name}, and write secrets: [{name}]"
    draft.ask(fact.key, question, fact.places, name)


def _values(reading: ShellReading) -> dict[str, str]:
    """The names of secrets by their values, the longest first."""
    found: dict[str, str] = {}
    for source in (*reading.sources, *reading.beside):
        found.update(values(source.text))
    for each in reading.assigned:
        if SECRET.search(each.name):
            found.setdefault(known(each.value) or "", each.name)
    names = {value: name for value, name in found.items() if len(value) >= _TELLS}
    return dict(sorted(names.items(), key=lambda row: -len(row[0])))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))
    return " ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def _without(text: str, secrets: Iterable[str]) -> str:
    for value in secrets:
        text = text.replace(value, HIDDEN)
    return hide(text)


def without_values(findings: Iterable[Finding], reading: ShellReading) -> list[Finding]:
    """The findings, with *** for each secret."""
    secrets = _values(reading)
    return [
        structs.replace(
            each,
            what=_without(each.what, secrets),
            became=_without(each.became, secrets),
            why=_without(each.why, secrets),
            todo=_without(each.todo, secrets),
        )
        for each in findings
    ]
