"""What a container's command starts: hpclaunch's launcher, an mpirun of its own, or one process."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.rank.pod import launcher_text, worker_text
from hpclaunch.readback.kubernetes import mpirun, steps
from hpclaunch.readback.wrapper_words import WrapperWords, identity, wrapper_words
from hpclaunch.values.launch import Unbridged

_SHELL = ("/bin/sh", "-c")
_LAUNCHER, _WORKER, _RANK = "hpclaunch-launcher", "hpclaunch-worker", "hpclaunch-rank"

# The settings of the launcher's and the workers' texts (hpclaunch/rank/pod).
_OF_LAUNCHER = frozenset(("mpi", "hosts", "wait", "ssh", "kit", "home", "keys"))
_WITHOUT = "none"  # mpi=none: a pod's one rank, which no mpirun starts
_OF_WORKER = frozenset(("port", "keys", "kit", "home"))


class Starting(Struct, frozen=True):
    """What the first process of a pod comes to. `carries`: it is hpclaunch's launcher, of these `settings`,
    which gives its own variables to ranks. `started` is None where no mpirun starts them, and `rank` holds
    the words of each rank's command. `beside` is what else the launcher does, None for nothing."""

    rank: tuple[str, ...]
    started: mpirun.Started | None = None
    settings: tuple[tuple[str, str], ...] = ()
    carries: bool = False
    unread: tuple[str, ...] = ()
    unbridged: tuple[Unbridged, ...] = ()
    beside: steps.Beside | None = None


class Serving(Struct, frozen=True):
    """What the workers' own process is: the settings of hpclaunch's text, or what is strange about it."""

    settings: tuple[tuple[str, str], ...] = ()
    unbridged: tuple[Unbridged, ...] = ()


class Rank(Struct, frozen=True):
    """What a rank runs: its wrapper (as in Launch) with the words for it, or None and its command alone."""

    wrapper: str
    words: WrapperWords | None
    argv: tuple[str, ...]


def starting(words: Sequence[str]) -> Starting:
    """The command of the pod that starts the ranks, as the kubelet hands it over."""
    if tuple(words[:2]) == _SHELL and list(words[3:4]) == [_LAUNCHER]:
        return _own_launcher(words[2], words[4:])
    if words and mpirun.is_mpirun(words[0]):
        started = mpirun.read(words)
        return Starting(started.command, started, unread=started.unread)
    return Starting(tuple(words))


def rank(words: Sequence[str], ranks_per_node: int) -> Rank:
    """What one rank's command comes to."""
    if tuple(words[:2]) == _SHELL and list(words[3:4]) == [_RANK]:
        told = wrapper_words(words[4:], ranks_per_node)
        return Rank(identity(words[2], told.given), told, told.argv)
    return Rank("", None, tuple(words))


def serving(command: Sequence[str], args: Sequence[str]) -> Serving:
    """The workers' own process: one that only waits for ranks, as the operator's default, sshd, sleep, or
    hpclaunch's text do, or another."""
    words = (*command, *args)
    if tuple(words[:2]) == _SHELL and list(words[3:4]) == [_WORKER]:
        unread: list[str] = []
        settings = tuple(_settings(words[4:], _OF_WORKER, unread, "workers'").items())
        if not unread and words[2] == worker_text(words[4:]):
            return Serving(settings)
        why = "it is not the one that this hpclaunch has for these settings"
        return Serving(settings, (Unbridged("the workers' text", why),))
    if not words or words[0].rpartition("/")[2] in ("sshd", "sleep"):
        return Serving()
    why = "what it does before the ranks is not known"
    return Serving(unbridged=(Unbridged(f"the workers run {_shown(words)}", why),))


def _own_launcher(text: str, words: Sequence[str]) -> Starting:
    end = words.index("--") if "--" in words else len(words)
    unread: list[str] = []
    settings = _settings(words[:end], _OF_LAUNCHER, unread, "launcher's")
    command, more = steps.split(words[end + 1 :])
    beside = steps.beside(more) if more is not None else None
    unbridged = list(beside.unbridged) if beside else []
    if unread or text != launcher_text(words[:end], more is not None):
        why = "it is not the one that this hpclaunch has for these settings"
        unbridged.append(Unbridged("the launcher's text", why))
    unread += beside.unread if beside else ()
    started = None
    if command and settings.get("mpi") == _WITHOUT:
        return Starting(command, None, tuple(settings.items()), True, tuple(unread), tuple(unbridged), beside)
    if command:
        kind = mpirun.OPEN_MPI if settings.get("mpi") == "openmpi" else mpirun.HYDRA
        started = mpirun.read(command, kind)
        unread += started.unread
        if not mpirun.is_mpirun(command[0]):
            unread.append(f"{command[0]} is no mpirun that is known")
    else:
        unread.append("the launcher is given no command")
    return Starting(
        started.command if started else (),
        started,
        tuple(settings.items()),
        True,
        tuple(unread),
        tuple(unbridged),
        beside,
    )


def _settings(
    words: Sequence[str], known: frozenset[str], unread: list[str], whose: str
) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in known:
            unread.append(f"the {whose} text has no setting {word!r}")
        found[name] = value
    return found


def _shown(words: Sequence[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= 60 else f"{text[:60]}..."
