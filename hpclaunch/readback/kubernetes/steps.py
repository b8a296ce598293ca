"""What hpclaunch's launcher does beside starting the ranks once, from its words (hpclaunch/rank/pod)."""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.readback.wrapper_words import OWN, identity
from hpclaunch.values.launch import Unbridged
from hpclaunch.values.steps import Step, Trials

_SHELL = "/bin/sh"
_ALONE = "hpclaunch-step"
_WHEN, _PER = ("setup", "before_each", "after"), ("node", "job", "rank")
_OF_TRIALS = ("trials", "seed", "first_seed", "keep_going")


class Beside(Struct, frozen=True):
    """The steps in the order in which they run; `alone` are the settings of the wrapper of those that are
    alone on a node or in the job."""

    steps: tuple[Step, ...] = ()
    trials: Trials | None = None
    alone: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unbridged: tuple[Unbridged, ...] = ()


def split(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The words that start the ranks, and those after them, None where there are none. The rank wrapper's
    have two --, and after them all begin with a = but the -- that ends them; with groups of ranks they have
    more, and there are no steps."""
    before = ("", *words)
    shell = next((at for at, word in enumerate(words) if word == _SHELL and before[at] != "-wdir"), None)
    if shell is None:
        return tuple(words), None
    at = shell
    settings = words[shell : _dashes(words, shell)]
    if any(word.startswith("groups=") for word in settings):
        return tuple(words), None
    for _ in range(3):
        end = _dashes(words, at)
        if end is None:
            return tuple(words), None
        at = end + 1
    return tuple(words[: at - 1]), tuple(words[at:])


def beside(words: Sequence[str]) -> Beside:
    """Of the words after those that start the ranks."""
    end = _dashes(words, 0)
    if end is None:
        return Beside(unread=("no -- ends the launcher's words before its steps",))
    alone, unbridged = _alone(words[:end])
    unread: list[str] = []
    given: dict[str, str] = {}
    groups: list[list[str]] = []
    for word in words[end + 1 :]:
        name, equals, value = word.partition("=")
        if name in _WHEN and value in _PER:
            groups.append([word])
        elif groups:
            groups[-1].append(word)
        elif equals and name in _OF_TRIALS and name not in given:
            given[name] = value
        else:
            unread.append(f"the launcher has no step or setting {word!r}")
    steps = tuple(_step(group, unread) for group in groups)
    if not alone and any(step.per != "rank" for step in steps):
        unread.append("the launcher is not told how a step is started that is alone on its node")
    return Beside(
        steps=tuple(sorted(steps, key=lambda step: _WHEN.index(step.when))),
        trials=_trials(given, unread),
        alone=alone,
        unread=tuple(unread),
        unbridged=unbridged,
    )


def _dashes(words: Sequence[str], start: int) -> int | None:
    return next((at for at in range(start, len(words)) if words[at] == "--"), None)


def _alone(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[Unbridged, ...]]:
    if not words:
        return (), ()
    settings = tuple(words[4:])
    if (*words[:2], *words[3:4]) != (_SHELL, "-c", _ALONE) or identity(words[2], settings) != OWN:
        why = "it is not the one that this hpclaunch has for these settings"
        return settings, (Unbridged("the text beside steps", why),)
    return settings, ()


def _step(words: Sequence[str], unread: list[str]) -> Step:
    when, _, per = words[0].partition("=")
    title, optional = "", False
    argv = []
    for word in words[1:]:
        if word.startswith("="):
            argv.append(word[1:])
        elif word.startswith("title=") and not argv:
            title = word.removeprefix("title=")
        elif word.startswith("optional=") and not argv:
            optional = True
        else:
            unread.append(
                f"the launcher's step {title or words[0]} has a word that it does not know: {word!r}"
            )
    if not title or not argv:
        unread.append(f"a step of the launcher, {words[0]}, has no {'command' if title else 'title'}")
    return Step(when, title, tuple(argv), "container", per, optional)  # type: ignore[arg-type]


def _trials(given: dict[str, str], unread: list[str]) -> Trials | None:
    if not given:
        return None
    for name in ("trials", "first_seed"):
        number = given.get(name, "1" if name == "first_seed" else "")
        if not (number.isascii() and number.isdigit() and len(number) < 20):
            unread.append(f"{name}= of the launcher is no number")
            return None
    first = given.get("first_seed")
    return Trials(
        count=int(given["trials"]),
        seed=given.get("seed", ""),
        first_seed=int(first) if first is not None else None,
        keep_going="keep_going" in given,
    )
