"""`$DOCKER run ...` where the variable is docker, nvidia-docker or podman, as the script finds them."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.made import alternatives
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import DOCKERS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, program_of

_FIRST = 4  # words of a command among which the engine is: others stand before it (sudo, time -p)
_MOST = 8  # values of one variable
# Options of docker run by which a container has the GPUs of its node, and one of nvidia-docker needs none.
_FOR_GPUS = ("--gpus", "--runtime")


def settled(reading: ShellReading, draft: Draft) -> ShellReading:
    """The reading with one engine in the place of such a variable: which of them it is changes no more of the
    launch than whether it lets GPUs in, and that which does is taken."""
    taken: dict[str, tuple[str, ...]] = {}
    commands: list[Command] = []
    for command in reading.commands:
        name = next(_either(command.words), "")
        if name and name not in taken:
            taken[name] = _one_of(reading, name)
        words = tuple(_with(command.words, name, taken[name])) if name and taken[name] else command.words
        if words != command.words and any(each.program.startswith("docker ") for each in layers(words)):
            _say(reading, command, name, taken[name], draft)
            command = structs.replace(command, words=words)
        commands.append(command)
    return structs.replace(reading, commands=tuple(commands)) if any(taken.values()) else reading


def _either(words: Sequence[Value]) -> Iterator[str]:
    for word in words[:_FIRST]:
        part = word[0] if len(word) == 1 else ""
        if isinstance(part, Unknown) and part.kind == "either" and part.name.isidentifier():
            yield part.name


def _one_of(reading: ShellReading, name: str) -> tuple[str, ...]:
    """The words of the engine that is taken, nothing where the variable may be anything else, or something
    that differs in more than GPUs."""
    given = reading.given(name)
    texts = [known(each.value) if each.array is None else None for each in given[: _MOST + 1]]
    several = [text.split() for text in texts if text]
    if len(several) != len(given) or len(given) > _MOST:
        return ()
    if not several or any(program_of([(words[0],)]) not in DOCKERS for words in several):
        return ()
    if any(_without_gpus(words) != _without_gpus(several[0]) for words in several):
        return ()
    return tuple(next((words for words in several if _lets_in(words)), several[0]))


def _lets_in(words: Sequence[str]) -> bool:
    return words[0].endswith("nvidia-docker") or any(word.startswith(_FOR_GPUS) for word in words)


def _without_gpus(words: Sequence[str]) -> list[str]:
    """What stands behind the engine."""
    rest = list(words[1:])
    for option in _FOR_GPUS:
        while option in rest:
            del rest[rest.index(option) : rest.index(option) + 2]
    return [word for word in rest if not word.startswith(_FOR_GPUS)]


def _with(words: Sequence[Value], name: str, taken: Sequence[str]) -> Iterator[Value]:
    count = 0
    for word in words:
        part = word[0] if len(word) == 1 else ""
        if not count and isinstance(part, Unknown) and part.name == name:
            count += 1
            yield from ((each,) for each in taken)
        else:
            yield word


def _say(reading: ShellReading, command: Command, name: str, taken: Sequence[str], draft: Draft) -> None:
    if any(each.kind == "assumed" and each.what == name for each in draft.findings):
        return
    given = reading.given(name)
    places = (command.place, *(each.place for each in given))
    which = "the one that lets GPUs in" if _lets_in(taken) else "the first of them"
    draft.say(
        "assumed",
        tuple(dict.fromkeys(places)),
        name,
        became=" ".join(taken),
        why=f"{alternatives(reading, name)}; it is taken for {which}",
        todo="where it is another see that the GPUs are right" if _lets_in(taken) else "",
    )
