"""What the rank wrapper is told on its command line (hpclaunch/rank): SETTING=value... -- NAME=value...
-- =word..., read as the wrapper reads it."""

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.rank import wrapper_text
from hpclaunch.values import cpulist
from hpclaunch.values.launch import SeenGroup, SeenSeat, SeenTable, SeenVariable

OWN = "own"

# The wrapper's settings: those of a table, which `hosts` begins, and the others.
_OF_TABLE = ("hcas", "near", "cpus", "membind", "preferred", "cores", "gpus", "seats", "part")
_OTHERS = {"from", "cwd", "memlock", "rank", "ranks", "port", "root", "strict", "openib", "verify"}
_OTHERS |= {"profile", "profile_to", "profiler"}
_OTHERS |= {"rendezvous", "besteffort", "groups", "member", "local_ranks"}
# Those that say where a rank is and not what it gets.
_APART = ("from", "cwd", "rank", "ranks", "groups", "member", "local_ranks")


class WrapperWords(Struct, frozen=True):
    """What the words say. `source` is from=, where the rank's number comes from; `rank` and `ranks` are ""
    where the launcher gives them. `tables`, `cwd`, `environment`, `argv` and `settings` are as in Launch;
    `given` is every setting as it stands, for `identity`. `unread` says what is not understood."""

    source: str
    rank: str
    ranks: str
    cwd: str
    tables: tuple[SeenTable, ...]
    settings: tuple[tuple[str, str], ...]
    given: tuple[str, ...]
    environment: tuple[SeenVariable, ...]
    argv: tuple[str, ...]
    unread: tuple[str, ...]
    groups: tuple[SeenGroup, ...] = ()


def wrapper_words(words: Sequence[str | SeenVariable], ranks_per_node: int) -> WrapperWords:
    """The words after `hpclaunch-rank`. A variable whose value the text does not have, such as one of the
    submitter's shell, stands among the words of the environment as a SeenVariable.

    Never raises: what the wrapper would not take is in `unread`.
    """
    unread: list[str] = []
    settings, rest = _until_dashes(words, "settings", unread)
    variables, command = _until_dashes(rest, "environment", unread)
    given = _texts(settings, "setting", unread)
    others: dict[str, str] = {}
    tables: list[tuple[str, dict[str, str]]] = []
    common: dict[str, str] = {}
    current = common
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            unread.append(f"the rank wrapper's setting {text!r} has no value")
        elif name == "hosts":
            current = {}
            tables.append((value, current))
        elif name in _OF_TABLE:
            current[name] = value
        elif name in _OTHERS:
            others[name] = value
        else:
            unread.append(f"the rank wrapper has no setting {name!r}")
    seen = tuple(
        _table(hosts, {**common, **own}, ranks_per_node, unread) for hosts, own in tables or [("", {})]
    )
    groups = _groups(others["groups"], command, unread) if "groups" in others else ()
    argv = () if groups else _argv(command, unread)
    if not argv and not groups:
        unread.append("the rank wrapper is given no command")
    return WrapperWords(
        source=others.get("from", ""),
        rank=others.get("rank", ""),
        ranks=others.get("ranks", ""),
        cwd=others.get("cwd", ""),
        tables=seen,
        settings=tuple(sorted((name, value) for name, value in others.items() if name not in _APART)),
        given=tuple(given),
        environment=_environment(variables, unread),
        argv=argv,
        unread=tuple(unread),
        groups=groups,
    )


def without_wrapper(ranks: int) -> WrapperWords:
    """What such words would say of the ranks of a node that no wrapper starts: nothing, and none is bound."""
    table = SeenTable("", tuple(SeenSeat(rank) for rank in range(ranks)))
    return WrapperWords(
        source="",
        rank="",
        ranks="",
        cwd="",
        tables=(table,),
        settings=(),
        given=(),
        environment=(),
        argv=(),
        unread=(),
    )


def is_own_wrapper(text: str, settings: Sequence[str]) -> bool:
    """Whether this is the text that hpclaunch has for these settings ("from=slurm"), to the last byte."""
    return text == wrapper_text(settings)


def identity(text: str, settings: Sequence[str]) -> str:
    """`Launch.wrapper`: "own" for hpclaunch's text for these settings, else a text's first line and digest,
    so that two foreign ones can be compared. "" where there is none."""
    if not text:
        return ""
    if is_own_wrapper(text, settings):
        return OWN
    data = text.encode("utf-8", "surrogateescape")
    return f"another text, sha256 {hashlib.sha256(data).hexdigest()[:16]}"


def _until_dashes(
    words: Sequence[str | SeenVariable], what: str, unread: list[str]
) -> tuple[Sequence[str | SeenVariable], Sequence[str | SeenVariable]]:
    for index, word in enumerate(words):
        if word == "--":
            return words[:index], words[index + 1 :]
    unread.append(f"no -- ends the rank wrapper's {what}")
    return words, ()


def _groups(text: str, words: Sequence[str | SeenVariable], unread: list[str]) -> tuple[SeenGroup, ...]:
    """What follows the environment of all ranks where there are groups: each after a -- but the first."""
    parts: list[list[str | SeenVariable]] = [[]]
    for word in words:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    names = text.split()
    if len(names) != len(parts):
        unread.append(f"groups={text} names {len(names)} groups, and {len(parts)} are described")
    found = []
    for name, part in zip(names, parts, strict=False):
        start = next((index for index, word in enumerate(part) if _is_word(word)), len(part))
        number = name.rpartition(":")[2]
        if not _number(number):
            unread.append(f"groups={text}: {name} has no number of ranks")
        argv = _argv(part[start:], unread)
        if not argv:
            unread.append(f"the rank wrapper is given no command for {name}")
        ranks = int(number) if _number(number) else 0
        environment = _environment(part[:start], unread)
        found.append(SeenGroup(name.rpartition(":")[0], ranks, environment, argv))
    return tuple(found)


def _is_word(word: str | SeenVariable) -> bool:
    return isinstance(word, str) and word.startswith("=")


def _argv(words: Sequence[str | SeenVariable], unread: list[str]) -> tuple[str, ...]:
    return tuple(word.removeprefix("=") for word in _texts(words, "word of the command", unread))


def _texts(words: Sequence[str | SeenVariable], what: str, unread: list[str]) -> list[str]:
    for word in words:
        if isinstance(word, SeenVariable):
            unread.append(
                f"a {what} of the rank wrapper has ${word.name} in it, which the text does not tell"
            )
    return [word for word in words if isinstance(word, str)]


def _environment(words: Sequence[str | SeenVariable], unread: list[str]) -> tuple[SeenVariable, ...]:
    found: dict[str, SeenVariable] = {}
    for word in words:
        if isinstance(word, SeenVariable):
            found[word.name] = word
            continue
        name, equals, value = word.partition("=")
        if not equals:
            unread.append(f"{word!r} in the rank's environment is no NAME=value")
        else:
            found[name] = SeenVariable(name, value)
    return tuple(found.values())


def _table(hosts: str, values: dict[str, str], ranks: int, unread: list[str]) -> SeenTable:
    hcas = tuple(values.get("hcas", "").split())
    cpus = _lists(values, "cpus", ranks, unread)
    strict = _lists(values, "membind", ranks, unread)
    wished = _lists(values, "preferred", ranks, unread)
    gpus = _lists(values, "seats", ranks, unread)
    near = _entries(values, "near", ranks, unread)
    seats = []
    for rank in range(ranks):
        mems = strict[rank] or wished[rank]
        own, reserve = _hcas(hcas, near[rank], unread) if "near" in values else (hcas, ())
        if "near" not in values and "seats" in values:
            own = ()  # those of the GPUs that are found on the node
        seats.append(
            SeenSeat(
                local_rank=rank,
                cpus=cpus[rank],
                mems=mems,
                memory="membind" if strict[rank] else "preferred" if mems else "",
                hcas=own,
                next_hcas=reserve,
                gpus=gpus[rank],
            )
        )
    part = tuple(
        (name, " ".join(values[name].split())) for name in ("cores", "gpus", "part") if values.get(name)
    )
    return SeenTable(hosts=hosts, seats=tuple(seats), hcas=hcas, part=part)


def _entries(values: dict[str, str], name: str, ranks: int, unread: list[str]) -> list[str]:
    """An entry for each rank, "" beyond the last: the first word of what stands between two `;`."""
    found = [(entry.split() or [""])[0] for entry in values.get(name, "").split(";")]
    if len(found) > ranks:
        unread.append(f"{name}= has {len(found)} entries for {ranks} ranks on a node")
    return (found + [""] * ranks)[:ranks]


def _lists(values: dict[str, str], name: str, ranks: int, unread: list[str]) -> list[tuple[int, ...]]:
    found = []
    for entry in _entries(values, name, ranks, unread):
        try:
            found.append(tuple(sorted(cpulist.parse(entry))))
        except ValueError as error:
            unread.append(f"{name}=: {error}")
            found.append(())
    return found


def _hcas(hcas: tuple[str, ...], entry: str, unread: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """An entry of near=, N:i,j,k: the N that the rank uses, and those in reserve."""
    count, _, order = entry.partition(":")
    if not entry:
        return (), ()
    indexes = [int(index) for index in order.split(",") if _number(index) and int(index) < len(hcas)]
    if not _number(count) or len(indexes) != len(order.split(",")):
        unread.append(f"near=: {entry!r} is not N:i,j,k with indexes of {len(hcas)} HCAs")
        return (), ()
    names = tuple(dict.fromkeys(hcas[index] for index in indexes))
    return names[: int(count)], names[int(count) :]


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7
