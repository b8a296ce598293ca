"""Values of secrets, kept out of the job file and the report: both are sent around."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from hpclaunch.convert.draft import Draft, Fact
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import Assigned, Command
from hpclaunch.convert.secrets.names import is_object, is_secret
from hpclaunch.convert.secrets.texts import HIDDEN, hide, values
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.spec.job import Job
from hpclaunch.values.conversion import Finding

# A shorter value may be a part of anything; beside its name it is hidden all the same.
_TELLS = 6
_SHORT = 400  # characters: what a program takes a secret from is a line
_AT_ONCE = 200  # texts: most have no secret
FROM_SUBMITTER = "a secret is taken from the submitter when the job is sent, and stands in no file"


class Secrets:
    """The secrets of texts as they were given, before any of it was mended, and of variables, by their
    values."""

    def __init__(
        self, texts: Iterable[str], assigned: Sequence[Assigned] = (), more: Mapping[str, str] | None = None
    ):
        """`more`: further values, each with its name."""
        self._variables = sum(is_secret(name) for name in {each.name for each in assigned})
        self._take(_values(texts, assigned, more or {}))

    def learn(self, texts: Iterable[str]) -> None:
        """Take those of further texts as well: what a command is given by way of variables stands beside the
        option that tells what it is only where the command is evaluated."""
        found = _values(("\n".join(dict.fromkeys(texts)),), (), {})
        if not found.keys() <= self._names.keys():
            self._take({**found, **self._names})

    def _take(self, names: dict[str, str]) -> None:
        self._names = dict(sorted(names.items(), key=lambda row: -len(row[0])))
        # By how they begin: a text is gone through once, however many there are.
        self._by_beginning: dict[str, list[str]] = {}
        for value in self._names:
            self._by_beginning.setdefault(value[:_TELLS], []).append(value)

    def __len__(self) -> int:
        return len(self._names) + self._variables

    def names(self, text: str) -> dict[str, str]:
        """Those that are in a text, each with its name, the longest of a place."""
        return {value: self._names[value] for _, value in self._within(text)}

    def without(self, text: str) -> str:
        """The text with *** for each of them, and for what looks like one."""
        parts: list[str] = []
        behind = 0
        for at, value in self._within(text):
            # One may begin within another: of a text that was mended there are two readings.
            if at >= behind:
                parts += [text[behind:at], HIDDEN]
            behind = max(behind, at + len(value))
        return hide("".join((*parts, text[behind:])))

    def _within(self, text: str) -> Iterator[tuple[int, str]]:
        """Where each of them begins, and the longest that does."""
        for at in range(len(text) - _TELLS + 1 if self._by_beginning else 0):
            beginning = self._by_beginning.get(text[at : at + _TELLS], ())
            value = next((value for value in beginning if text.startswith(value, at)), "")
            if value:
                yield at, value


def of_commands(commands: Iterable[Command]) -> Iterator[str]:
    """The texts of commands as they are evaluated, where their texts name variables, with what they read."""
    for each in commands:
        given = known(each.stdin) if each.stdin is not None else None
        if "$" in each.written or given:
            words = " ".join(map(_word, each.words))
            yield f"{words} <<< {_quoted(given.strip())}" if given and len(given) <= _SHORT else words


def _word(word: Value) -> str:
    return _quoted(shown(word))


def _quoted(text: str) -> str:
    return f"'{text}'" if " " in text and "'" not in text else text


def without_programs(assigned: Iterable[Assigned], commands: Iterable[Command]) -> list[Assigned]:
    """The variables that may be secrets: the path of what a command starts is none, PW=/opt/qe/bin/pw.x."""
    started = {known(layer.words[0]) for each in commands for layer in layers(each.words) if layer.words}
    return [each for each in assigned if "/" not in (text := known(each.value) or "") or text not in started]


def ask_instead(draft: Draft, secrets: Secrets) -> None:
    """A value of the job that has a secret in it becomes a secret's name, or a question: it would stand in a
    file. What else the draft says is without secrets then, too."""
    texts = [(fact, fact.question or _text(fact.value)) for fact in draft.facts.values()]
    secrets.learn(text for _, text in texts)
    cleaned = _cleaned((text for _, text in texts), secrets)
    for fact, text in texts:
        if text not in cleaned:
            continue
        clean = cleaned[text]
        if fact.is_open:
            draft.facts[fact.key] = structs.replace(fact, question=clean)
        elif fact.key[0] == "env" and len(fact.key) == 2:
            _by_name(fact, draft)
        else:
            _ask(fact, text, clean, secrets, draft)
    draft.refused = secrets.without(draft.refused)
    draft.hints = {key: _clean(value, secrets) for key, value in draft.hints.items()}


def _clean(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, dict):
        return {key: _clean(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each, secrets) for each in value]
    return secrets.without(value) if isinstance(value, str) else value


def _by_name(fact: Fact, draft: Draft) -> None:
    del draft.facts[fact.key]
    draft.unsay(fact.key)
    name = str(fact.key[1])
    draft.put(("secrets", draft.count("secrets")), name, fact.places, name, why=FROM_SUBMITTER)


def _ask(fact: Fact, text: str, clean: str, secrets: Secrets, draft: Draft) -> None:
    names = [name for value, name in {**values(text), **secrets.names(text)}.items()]
    name = names[0] if names else "NAME"
    draft.unsay(fact.key)
    shown = " ".join(clean.split())
    question = f"the original has a secret in it ({shown}): let it read ${name}, and write secrets: [{name}]"
    draft.ask(fact.key, question, fact.places, name)


def _values(texts: Iterable[str], assigned: Sequence[Assigned], more: Mapping[str, str]) -> dict[str, str]:
    """The names of secrets by their values."""
    found: dict[str, str] = {}
    for text in texts:
        found.update(values(text))
    for each in assigned:
        value = known(each.value) or ""
        if is_secret(each.name) and not is_object(each.name.upper(), value):
            found.setdefault(value, each.name)
    for value, name in more.items():
        if values(f"{name}='{value}'"):  # of a path and of a number it has none
            found.setdefault(value, name)
    return {value: name for value, name in found.items() if len(value) >= _TELLS and not _is_a_key(value)}


def _is_a_key(value: str) -> bool:
    """Whether it is a word of each job file: hidden everywhere it would take what the report says of keys.
    Beside its name, or the option that gives it, it is hidden all the same."""
    return any(value in key for key in Job.__struct_fields__)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(map(_text, value.values()))
    return " ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)


def without_values(findings: Sequence[Finding], secrets: Secrets) -> list[Finding]:
    """The findings, with *** for each secret."""
    clean = _cleaned((text for each in findings for text in _texts(each)), secrets)
    return [
        _without_values(each, clean) if clean and not clean.keys().isdisjoint(_texts(each)) else each
        for each in findings
    ]


def _texts(finding: Finding) -> tuple[str, str, str, str]:
    return finding.what, finding.became, finding.why, finding.todo


def _without_values(finding: Finding, clean: dict[str, str]) -> Finding:
    what, became, why, todo = (clean.get(text, text) for text in _texts(finding))
    return structs.replace(finding, what=what, became=became, why=why, todo=todo)


def _cleaned(texts: Iterable[str], secrets: Secrets) -> dict[str, str]:
    """The texts that have secrets, and what they are without them."""
    found: dict[str, str] = {}
    waiting = list(dict.fromkeys(texts))
    for start in range(0, len(waiting), _AT_ONCE):
        some = waiting[start : start + _AT_ONCE]
        together = "\n".join(some)  # no secret goes on in another line, but for keys that have their own
        if secrets.without(together) != together:
            found.update((text, clean) for text in some if (clean := secrets.without(text)) != text)
    return found
