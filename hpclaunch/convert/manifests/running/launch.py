"""What a container runs -> the layers of its command line, and the job's command.

The kubelet's own expansion of $(NAME) is undone first: a job file has what the container would get.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.manifests.running import (
    containerwords,
    folders,
    from_variables,
    loops,
    mounted_scripts,
    shelltext,
    wrapped,
)
from hpclaunch.convert.manifests.running.containerwords import NO_SCRIPTS, Word
from hpclaunch.convert.manifests.running.loops import Looped
from hpclaunch.convert.manifests.running.mounted_scripts import Script, Unread
from hpclaunch.convert.manifests.running.shelltext import LAUNCHERS, ShellText
from hpclaunch.convert.manifests.running.units import Unit, bare
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.lines import Spread, merged
from hpclaunch.convert.mapping.ranks.rendezvous import local_rank
from hpclaunch.convert.programs.layers import MPI, Layer, layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.programs.torch import passes_local_rank
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place

_PLAIN_WORD = re.compile(r"[\w./:=,@%+-]+")
ANY = "*"  # among variables: there are others, of which nobody tells even the names
DEFAULT = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)(?P<empty>:?)-(?P<value>[\w./,=-]*)\}")
_PYTHON = re.compile(r"(?:^|[\s/;&'\"])python[\d.]*\s")
_SCRIPT = re.compile(r"\.sh\b|(?:^|[;&]\s*)\./\w+(?!\.py)\b")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPTION = re.compile(r"[-+][a-zA-Z]+")
_MOST_IN_OPTION = 4  # words of one option
_MOST_WORDS = 3000  # that are looked at for a launcher


class Launch(Struct, frozen=True):
    """What a container runs. `outer` are the launchers in their order, `inner` the words that the last one
    starts; `words` are all words of the line with the launchers, with their places. `shell` is the text of
    sh -c that it stands in, None where there is none, `unit` the statement of it, and `whole` the lines of
    the words in front of the text. `hidden` is the one mpirun of a text where it depends on other commands:
    its options are told, and its command is asked for. `looped` is the command where it stands in a loop of
    trials. `unread` is a mounted script in it, with a launcher that is not read."""

    words: tuple[Word, ...]
    outer: tuple[Layer, ...] = ()
    inner: tuple[Value, ...] = ()
    shell: ShellText | None = None
    unit: Unit | None = None
    shell_words: tuple[str, ...] = ()
    whole: tuple[Place, ...] = ()
    shell_place: Place | None = None
    hidden: Layer | None = None
    looped: Looped | None = None
    unread: Unread = Unread()

    @property
    def is_buried(self) -> bool:
        """Whether what starts ranks stands in the text where it depends on other commands, in an if, or
        behind ||, or in words of another program."""
        nested = self.shell is not None and not self.outer and self.looped is None and bool(self.shell.nested)
        return nested or bool(self.wrapped)

    @property
    def wrapped(self) -> str:
        """The launcher in the words of a program that nobody told hpclaunch (tini -- torchrun ...)."""
        if self.outer or self.looped is not None or len(self.words) > _MOST_WORDS:
            return ""
        if self.unread.launcher and (self.shell is None or not self.shell.nested):
            return self.unread.launcher
        return wrapped.launcher_in([word.value for word in self.words], self.shell)

    @property
    def where_wrapped(self) -> str:
        """Where that stands."""
        return self.unread.path or "the words of another program"

    @property
    def starts_others(self) -> str:
        """What of the command starts more processes of the run by itself."""
        if self.outer or self.looped is not None or len(self.words) > _MOST_WORDS:
            return ""
        return wrapped.starts_others([word.value for word in self.words], self.shell)

    @property
    def places(self) -> tuple[Place, ...]:
        """All lines of it."""
        return merged([word.place for word in self.words])

    @property
    def lines(self) -> tuple[Place, ...]:
        """The lines of the command, with those of the shell in front of it."""
        return merged([*self.whole, *self.places])

    @property
    def gets_local_rank(self) -> bool:
        """Whether the last launcher gives each process its local rank as an argument."""
        return bool(self.outer) and passes_local_rank(self.outer[-1])

    @property
    def starts_a_script(self) -> bool:
        """Whether what is started is a text of its own, or a program that may start torchrun: no Python."""
        if self.outer or not self.words:
            return False
        text = (
            self.shell.text if self.shell is not None else " ".join(known(w.value) or "" for w in self.words)
        )
        return bool(_SCRIPT.search(text)) or not _PYTHON.search(text)

    @property
    def hides_mpirun(self) -> bool:
        """Whether an mpirun stands in words of another program, or in a script, where its options are not
        read."""
        if self.hidden is not None or self.layer(*MPI) is not None:
            return False
        return bool(self.unread.launcher) or any(
            shelltext.has_launcher(known(word.value) or "") for word in self.words
        )

    def layer(self, *programs: str) -> Layer | None:
        """The first launcher of these."""
        return next((layer for layer in self.outer if layer.program in programs), None)


def read(
    container: Field, variables: Mapping[str, str | None], scripts: Mapping[str, Script] = NO_SCRIPTS
) -> Launch:
    """The command of a container. `variables` are its own by their names, None for those whose value the
    manifest does not tell, and `scripts` files that are mounted, by their paths."""
    if container.get("envFrom") is not None:
        variables = {ANY: None, **variables}
    words = containerwords.read(container, variables, scripts)
    found = _read(words, variables)
    if not scripts or len(words) > _MOST_WORDS or len(words) > len(containerwords.read(container, variables)):
        return found
    text = " ".join(known(word.value) or "..." for word in words)
    folder = container.get("workingDir")
    return replace(found, unread=mounted_scripts.unread(text, folder.peek() if folder else "", scripts))


def _read(words: list[Word], variables: Mapping[str, str | None]) -> Launch:
    if len(words) > _MOST_WORDS:
        return Launch(tuple(words), (), tuple(word.value for word in words))
    outer, inner = _launchers([word.value for word in words])
    if outer:
        return Launch(tuple(words), outer, inner)
    script = _script(words)
    if script is None:
        return Launch(tuple(words), (), tuple(word.value for word in words))
    before, text, place, behind = script
    text, parsed = from_variables.read(_with_words(text, behind), variables)
    if parsed is not None and parsed.launch is not None and not all(map(_PLAIN_WORD.fullmatch, behind)):
        parsed = replace(parsed, launch=None, nested=(parsed.units[parsed.launch].words,))
    if parsed is None or (behind and parsed.launch is None and not parsed.nested):
        return Launch(tuple(words), (), tuple(word.value for word in words))
    unit = parsed.units[parsed.launch] if parsed.launch is not None else None
    looped = loops.find(text, place, variables) if unit is None and parsed.nested else None
    if looped is not None:
        outer, inner = _launchers(looped.command.words)
        inside = tuple(Word(word, looped.command.place) for word in looped.command.words)
        whole = merged([word.place for word in words[: len(before)]])
        parsed = folders.of_round(looped.reading, looped.command, parsed, place.line + 1)
        return Launch(inside, outer, inner, parsed, None, before, whole, place, looped=looped)
    if unit is None:
        hidden = _hidden(parsed, variables)
        inner = tuple(word.value for word in words)
        return Launch(tuple(words), (), inner, parsed, None, before, (), place, hidden)
    parsed = folders.walked(text, parsed, unit.line, variables)
    given = words_of(unit, parsed, variables)
    outer, inner = _launchers(given)
    lines = unit.lines[len(unit.lines) - len(given) :]
    inside = tuple(Word(word, line_in(place, line)) for word, line in zip(given, lines, strict=True))
    whole = merged([word.place for word in words[: len(before)]])
    return Launch(inside, outer, inner, parsed, unit, before, whole, place)


def words_of(unit: Unit, parsed: ShellText, variables: Mapping[str, str | None]) -> list[Value]:
    """The words of a command of a text, with what the container and the text itself tell of their values."""
    told = _values(parsed, variables)
    return [_substituted(word, told) for word in bare(unit.words)]


def _values(parsed: ShellText, variables: Mapping[str, str | None]) -> dict[str, str | None]:
    """What the launcher's line finds in variables: those of the container, and what the text sets before it.
    Of what it sets to more than that, such as the output of a command, nobody can tell the value."""
    told = {**variables, **{name: value for name, value, _ in parsed.exported}}
    told |= dict.fromkeys(name for name, _, _ in parsed.untold)
    set_on: dict[str, list[int]] = {}
    for name, _, line in (*parsed.exported, *parsed.untold):
        set_on.setdefault(name, []).append(line)
    for name, value, line in sorted(parsed.untold, key=lambda each: each[2]):
        used = {ANY, *(each for part in value for each in _names_of(part))} & told.keys()
        # As it was by then: what is set on that line or later had another value, or none.
        before = {each: None if max(set_on.get(each, [-1])) >= line else told[each] for each in used}
        if name in used and len(set_on[name]) == 1:
            before.pop(name)
            before |= {name: variables[name]} if name in variables else {}
        told[name] = known(_substituted(value, before)) if value else None
    return told


def defaults(launch: Launch, told: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Each ${NAME:-VALUE} of the launcher's line, and of variables in it, whose value is taken, as nothing
    tells the name's."""
    parts = [part for word in (launch.unit.words if launch.unit is not None else ()) for part in word]
    values = {name: value for name, value, _ in (launch.shell.untold if launch.shell is not None else ())}
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        used = _names_of(part) & values.keys()
        behind = [each for name in used for each in values.pop(name)]
        parts += behind
        waiting += behind
    left = {part for word in launch.words for part in word.value}
    found = [part for part in parts if isinstance(part, Unknown) and part not in left]
    matches = [(part.name, DEFAULT.fullmatch(part.name)) for part in dict.fromkeys(found)]
    return [(name, each["value"]) for name, each in matches if each is not None and each["name"] not in told]


def _names_of(part: Part) -> set[str]:
    return set(_NAME.findall(part.name)) if isinstance(part, Unknown) else set()


def script_of(container: Field) -> tuple[str, Place] | None:
    """The text of `sh -c TEXT` as it stands, and its lines; None where the container runs something else."""
    script = _script(containerwords.read(container, {}))
    return script[1:3] if script is not None and not script[3] else None


def _hidden(parsed: ShellText, variables: Mapping[str, str | None]) -> Layer | None:
    if len(parsed.nested) != 1:
        return None
    outer, _ = _launchers([_substituted(word, variables) for word in bare(parsed.nested[0])])
    return next((layer for layer in outer if layer.program in MPI), None)


def _substituted(word: Value, told: Mapping[str, str | None]) -> Value:
    """A word of the shell's with the variables that the container or the text itself sets."""
    parts: list[Part] = []
    for part in word:
        text = _text_of(part, told) if isinstance(part, Unknown) else None
        whole = text is not None and isinstance(part, Unknown) and not (part.splits and _is_split(text))
        parts.append(text if whole and text is not None else part)
    try:
        return join(parts)
    except Unreadable:  # a value that grows beyond all measure
        return word


def _text_of(part: Unknown, told: Mapping[str, str | None]) -> str | None:
    """What a variable holds, or ${NAME:-VALUE} comes to."""
    if part.kind == "variable":
        return told.get(part.name)
    if part.kind == "number":
        number = arithmetic.evaluate(part.name[3:-2], told.get)
        return None if number is None else str(number)
    default = DEFAULT.fullmatch(part.name) if part.kind == "output" else None
    if default is None:
        return None
    if default["name"] in told:
        text = told[default["name"]]
        return default["value"] if text == "" and default["empty"] else text
    return None if ANY in told else default["value"]


def _is_split(text: str) -> bool:
    """Whether the shell makes something else than one word of it."""
    return not text or any(char.isspace() or char in "*?[" for char in text)


def _launchers(words: Sequence[Value]) -> tuple[tuple[Layer, ...], tuple[Value, ...]]:
    """All layers up to the last launcher of ranks, and the words that it starts: env, numactl and the like
    in front of the program stay with it."""
    found = layers(words)
    last = max((index for index, layer in enumerate(found) if layer.program in LAUNCHERS), default=-1)
    if last < 0:
        return (), tuple(words)
    rest = found[last + 1 :]
    if len(rest) == 1:
        return found[: last + 1], _told_local_rank(found[last], rest[0].words)
    start = next((index for index in range(len(words)) if layers(words[index:]) == rest), len(words))
    return found[: last + 1], tuple(words[start:])


def _told_local_rank(layer: Layer, words: tuple[Value, ...]) -> tuple[Value, ...]:
    """With --local_rank behind the program, where the launcher puts it."""
    if not passes_local_rank(layer) or not words:
        return words
    # python -u [-m] PROGRAM, or the program alone
    at = 1 if layer.option("no_python") else 3 + (layer.option("module") is not None)
    return (*words[:at], local_rank(), *words[at:])


def line_in(place: Place, offset: int) -> Place:
    """The line of a text in a block, from 0. In a text of another form it is not known which one."""
    if isinstance(place, Spread):
        return Place(place.file, place.line, place.last)
    if place.last <= place.line or not offset:
        return place
    return Place(place.file, min(place.line + 1 + offset, place.last))


def _with_words(text: str, given: Sequence[str]) -> str:
    """The text with the words behind it in place of $0, $1 and "$@", where a shell takes each as it is."""
    if not given or not all(map(_PLAIN_WORD.fullmatch, given)):
        return text
    every = " ".join(given[1:])
    text = re.sub(r"\"\$[@*]\"|\"\$\{@\}\"|\$@|\$\*", lambda _: every, text)
    named = dict(enumerate(given))
    return re.sub(r"\$\{?(\d)\}?", lambda found: named.get(int(found[1]), ""), text)


def _script(words: Sequence[Word]) -> tuple[tuple[str, ...], str, Place, tuple[str, ...]] | None:
    """The words before the text of `sh -c TEXT`, the text, its lines, and the words behind it."""
    texts = [_as_a_shell_has_it(word.value) for word in words]
    if len(texts) < 3 or None in texts or (texts[0] or "").rpartition("/")[2] not in SHELLS:
        return None
    for index, text in enumerate(texts[1:], start=1):
        assert text is not None
        if not text.startswith("-"):
            return None
        if not text.startswith("--") and "c" in text:
            at = _behind_options(texts, index + 1)
            if at >= len(texts):
                return None
            before = tuple(each or "" for each in texts[:at])
            given = tuple(each or "" for each in texts[at + 1 :])
            return before, texts[at] or "", words[at].text_place or words[at].place, given
    return None


def _behind_options(texts: Sequence[str | None], start: int) -> int:
    """Where the text stands behind -c: more options may come between them, and -- ends them (bash(1))."""
    for index, text in enumerate(texts[start:], start=start):
        if text == "--":
            return index + 1
        if not _OPTION.fullmatch(text or ""):
            return index
    return len(texts)


def _as_a_shell_has_it(value: Value) -> str | None:
    """A text in which the shell's own ${NAME} stands for a value of the container that is not told; None
    where it would not be put in there."""
    text = ""
    for part in value:
        if isinstance(part, str):
            text += part
        elif isinstance(part, Unknown) and part.kind == "variable" and text.count("'") % 2 == 0:
            text += f"${{{part.name}}}"
        else:
            return None
    return text


def lines_of(launch: Launch, written: str) -> tuple[Place, ...]:
    """The lines of the words of an option as it is written, those of the whole command where it is not in
    it like that."""
    texts = [shown(word.value) for word in launch.words]
    for start in range(len(texts)):
        joined = ""
        for end in range(start, min(start + _MOST_IN_OPTION, len(texts))):
            joined = f"{joined} {texts[end]}" if joined else texts[end]
            if joined == written:
                return merged([word.place for word in launch.words[start : end + 1]])
            if not written.startswith(joined):
                break
    return launch.places


def stand_in(places: Sequence[Place]) -> Command:
    """A stand-in for a command of a script, on these lines."""
    first, last = places[0], places[-1]
    end = max(last.last, last.line)
    return Command(Place(first.file, first.line, end if end > first.line else 0), ())
