"""What a pod's text makes of its shell before it starts a launcher: files that it sources, modules and
environments that it loads. Ranks that the launcher starts in the same pod have it, and a step of the job has
a shell of its own: so each rank's command does it."""

import shlex
from collections.abc import Sequence

from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.running.launch import Launch
from hpclaunch.convert.manifests.running.units import Unit
from hpclaunch.convert.programs.environments import CONDAS, HOOK
from hpclaunch.readback.shell.values import known

_SOURCES = frozenset(("source", "."))
_PROGRAMS = _SOURCES | {"module", "ml"}
WHY = "each rank does it first, as the shell did that started the launcher"


def changes_shell(unit: Unit) -> bool:
    """Whether it is for the shell alone that reads it."""
    text = unit.text.strip().removesuffix(";").strip()
    words = [known(word) or "" for word in unit.words]
    if HOOK.fullmatch(text):
        return True
    is_environment = len(words) > 1 and words[0] in CONDAS and words[1] == "activate"
    return bool(unit.simple and words and (words[0] in _PROGRAMS or is_environment))


def numbers(workload: Workload, launch: Launch) -> Sequence[int]:
    """Which units of the text each rank does; none where the ranks are started in other pods, or where a file
    is named from a folder that is not the ranks' own."""
    shell = launch.shell
    is_of_pod = not workload.is_apart and bool(launch.outer) and launch.looped is None
    if shell is None or shell.launch is None or not is_of_pod:
        return ()
    there = shell.folders[shell.launch]
    return [
        number
        for number, unit in enumerate(shell.units[: shell.launch])
        if changes_shell(unit) and (shell.folders[number] == there or not _is_relative(unit))
    ]


def _is_relative(unit: Unit) -> bool:
    words = [known(word) or "" for word in unit.words]
    return len(words) > 1 and words[0] in _SOURCES and not words[1].startswith(("/", "~"))


def in_front(launch: Launch, chosen: Sequence[int], command: list[str] | str) -> list[str] | str:
    """The command behind these units, in the text's own shell."""
    if launch.shell is None or not chosen:
        return command
    its = [launch.shell.units[number].text.strip().removesuffix(";") for number in chosen]
    text = command if isinstance(command, str) else f"exec {shlex.join(command)}"
    return [launch.shell_words[0], "-c", "; ".join([*its, text])]
