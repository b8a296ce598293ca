"""What the commands of a job do that root alone may do: in an image of Docker or of a pod they were root,
unless the image says another user, and in a container of Pyxis ranks are who submits."""

import re
from collections.abc import Iterator

from hpclaunch.convert.draft import STEPS, Draft, Fact

_INSTALLS = re.compile(
    r"(?<!sudo )(?<![\w/.-])(?:apt-get|apt|yum|dnf|microdnf|apk|zypper|dpkg)\s+(?:-\S+\s+)*"
    r"(?:install|update|upgrade|add|in)\b|(?<![\w/.-])dpkg\s+-i\b"
)
_KEY = ("container", "remap_root")


def settle(draft: Draft) -> None:
    """Let the job be root in its container where it does such a thing; to be done when all else is told."""
    if ("image",) not in draft.facts or _KEY in draft.facts or _has_user(draft):
        return
    found = [(fact, match[0]) for fact in _commands(draft) for match in _INSTALLS.finditer(_text(fact))]
    if found:
        places = tuple(dict.fromkeys(place for fact, _ in found for place in fact.places))
        why = "the container's user was root, unless its image says another, and that needs it"
        draft.put(_KEY, True, places, found[0][1], why=why, kind="assumed")


def _has_user(draft: Draft) -> bool:
    return "user" in draft.hints or any(key[0] == "sites" and key[-1] == "user" for key in draft.facts)


def _commands(draft: Draft) -> Iterator[Fact]:
    for key, fact in draft.facts.items():
        is_step = key[0] in STEPS
        on_host = is_step and isinstance(fact.value, dict) and fact.value.get("where") == "host"
        if not fact.is_open and not on_host and (is_step or key == ("command",)):
            yield fact


def _text(fact: Fact) -> str:
    value = fact.value.get("run") if isinstance(fact.value, dict) else fact.value
    return value if isinstance(value, str) else " ".join(map(str, value or ()))
