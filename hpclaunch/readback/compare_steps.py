"""Whether two launches do the same beside starting their ranks: steps, trials, data brought near."""

import os.path
from collections.abc import Iterable

from hpclaunch.readback.place import NOTHING, Form, Side, beside, form_text
from hpclaunch.values.launch import Difference
from hpclaunch.values.steps import StageIn, Step, Trials

_NO_HOST = "Kubernetes has no host to run it on"
_SHOWN = 80


def steps(a: Side, b: Side) -> list[Difference]:
    """Each step, by its title, then the order of those that both have."""
    mine, theirs = _by_title(a.launch.steps), _by_title(b.launch.steps)
    mixed = a.launch.scheduler != b.launch.scheduler
    found = []
    for key in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(key), theirs.get(key)
        what = f"step {key[0]}" if key[1] == 0 else f"step {key[0]} ({key[1] + 1})"
        if one is None or other is None:
            only = one or other
            assert only is not None
            values = (_command(one), _command(other))
            on_host = mixed and only.where == "host"
            found.append(beside(what, values, "unbridged" if on_host else "difference", _NO_HOST * on_host))
            continue
        for field, values in (
            ("when", (one.when, other.when)),
            ("command", (_command(one), _command(other))),
            ("where", (one.where, other.where)),
            ("per", (one.per, other.per)),
            ("optional", (_yes(one.optional), _yes(other.optional))),
        ):
            same = one.argv == other.argv if field == "command" else values[0] == values[1]
            if not same:
                found.append(beside(f"{what}: {field}", values))
    orders = [[title for title in of if title in mine and title in theirs] for of in (mine, theirs)]
    if orders[0] != orders[1]:
        texts = (", then ".join(title for title, _ in order) for order in orders)
        found.append(beside("order of steps", texts))
    return found


def trials(a: Side, b: Side) -> list[Difference]:
    """How often the ranks are started, and with which seeds."""
    one, other = a.launch.trials, b.launch.trials
    if one is None or other is None:
        counts = ("1, and no trial" if each is None else str(each.count) for each in (one, other))
        return [] if one is other else [beside("trials", counts)]
    found = []
    for what, values in (
        ("trials", (str(one.count), str(other.count))),
        ("seeds of trials", (_seeds(one), _seeds(other))),
        ("trials go on after a failure", (_yes(one.keep_going), _yes(other.keep_going))),
    ):
        if values[0] != values[1]:
            found.append(beside(what, values))
    if a.launch.scheduler != b.launch.scheduler:
        on_pods = "the launcher's"
        logs = (on_pods if s.launch.scheduler == "kubernetes" else _log(t) for s, t in ((a, one), (b, other)))
        why = "the launcher's log has all trials, each after a line with its number"
        found.append(beside("logs of trials", logs, "place", why))
    elif one.log != other.log:
        found.append(beside("logs of trials", (_log(one), _log(other))))
    return found


def staged(a: Side, b: Side) -> list[Difference]:
    """What is copied to each node, by its place in the job."""
    mine, theirs = a.launch.stage_in, b.launch.stage_in
    found = []
    for index in range(max(len(mine), len(theirs))):
        one, other = (each[index] if index < len(each) else None for each in (mine, theirs))
        what = f"stage_in {index + 1}"
        if one is None or other is None:
            found.append(beside(what, (_shown(one), _shown(other))))
            continue
        for side, forms in (
            ("source", (_form(one.source, one.source_volume), _form(other.source, other.source_volume))),
            ("target", (_form(one.target, one.target_volume), _form(other.target, other.target_volume))),
        ):
            if forms[0] == forms[1]:
                continue
            names = sorted(_names(forms[0], a) & _names(forms[1], b))
            why = f"both are the site's volume {names[0]}" if names else ""
            found.append(beside(f"{what}: {side}", forms, "place" if names else "difference", why))
    return found


def _by_title(found: Iterable[Step]) -> dict[tuple[str, int], Step]:
    """By title; of several with one title by their number too."""
    by_title: dict[tuple[str, int], Step] = {}
    for step in found:
        count = sum(title == step.title for title, _ in by_title)
        by_title[step.title, count] = step
    return by_title


def _command(step: Step | None) -> str:
    if step is None:
        return NOTHING
    words = step.argv[2:] if step.argv[:2] == ("/bin/sh", "-c") else step.argv
    text = " ".join(word if word.isprintable() else repr(word) for word in words)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _seeds(trials: Trials) -> str:
    if not trials.seed:
        return "none"
    return f"{trials.seed}, {'random' if trials.first_seed is None else f'from {trials.first_seed} on'}"


def _log(trials: Trials) -> str:
    return trials.log or "NAME-JOBID-trial-N.log"


def _form(path: str, volume: str) -> str:
    return os.path.normpath(path) if path else volume


def _names(form: str, side: Side) -> set[str]:
    """The site's volumes that are this."""
    return {name for name, each in side.place.volumes.items() if _of_volume(each) == form}


def _of_volume(form: Form) -> str:
    kind, source, folder = form
    return os.path.normpath(os.path.join(source, folder.strip("/"))) if kind == "path" else form_text(form)


def _shown(staged: StageIn | None) -> str:
    if staged is None:
        return NOTHING
    source = _form(staged.source, staged.source_volume)
    return f"{source} to {_form(staged.target, staged.target_volume)}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
