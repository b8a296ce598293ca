"""What a container runs -> the layers of its command line, and the job's command.

The kubelet's own expansion of $(NAME) is undone first: a job file has what the container would get.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft, shown
from hpclaunch.convert.manifests import shelltext
from hpclaunch.convert.manifests.fields import Field
from hpclaunch.convert.manifests.lines import merged
from hpclaunch.convert.manifests.shelltext import LAUNCHERS, ShellText, Unit
from hpclaunch.convert.manifests.workload import Workload
from hpclaunch.convert.mapping.rendezvous import local_rank
from hpclaunch.convert.mapping.texts import line
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.programs.torch import passes_local_rank
from hpclaunch.readback.kubelet import expand
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known
from hpclaunch.values.conversion import Place

_OPEN, _CLOSE = "\ue000", "\ue001"  # around a name whose value the manifest does not tell
_SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh"))
# Commands in front of a launcher that only look, or wait for what hpclaunch waits for itself.
_LOOK = frozenset(
    [
        "echo",
        "printf",
        "printenv",
        "env",
        "set",
        "date",
        "hostname",
        "pwd",
        "ls",
        "cat",
        "which",
        "whoami",
        "id",
        "nvidia-smi",
        "ibstat",
        "ibv_devinfo",
        "sleep",
        "true",
        ":",
        "ulimit",
        "df",
        "free",
        "lscpu",
        "ip",
        "ifconfig",
        "cd",
    ]
)


class Word(Struct, frozen=True):
    """A word of a container's command, with its lines."""

    value: Value
    place: Place


class Launch(Struct, frozen=True):
    """What a container runs. `outer` are the launchers in their order, `inner` the words that the last one
    starts; `words` are all words of the line with the launchers, with their places. `shell` is the text of
    sh -c that it stands in, None where there is none, `unit` the statement of it, and `whole` the lines of
    the words in front of the text."""

    words: tuple[Word, ...]
    outer: tuple[Layer, ...] = ()
    inner: tuple[Value, ...] = ()
    shell: ShellText | None = None
    unit: Unit | None = None
    shell_words: tuple[str, ...] = ()
    whole: tuple[Place, ...] = ()
    shell_place: Place | None = None

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

    def layer(self, *programs: str) -> Layer | None:
        """The first launcher of these."""
        return next((layer for layer in self.outer if layer.program in programs), None)


def read(container: Field, variables: Mapping[str, str | None]) -> Launch:
    """The command of a container. `variables` are its own by their names, None for those whose value the
    manifest does not tell."""
    words = [
        Word(_expanded(word.text(), variables), word.place)
        for key in ("command", "args")
        if (field := container.get(key)) is not None
        for word in field.items()
    ]
    outer, inner = _launchers([word.value for word in words])
    if outer:
        return Launch(tuple(words), outer, inner)
    script = _script(words)
    if script is None:
        return Launch(tuple(words), (), tuple(word.value for word in words))
    before, text, place = script
    parsed = shelltext.read(text)
    if parsed is None:
        return Launch(tuple(words), (), tuple(word.value for word in words))
    unit = parsed.units[parsed.launch] if parsed.launch is not None else None
    if unit is None:
        return Launch(tuple(words), (), tuple(word.value for word in words), parsed, None, before, (), place)
    told = {**variables, **{name: value for name, value, _ in parsed.exported}}
    given = [_substituted(word, told) for word in shelltext.bare(unit.words)]
    outer, inner = _launchers(given)
    lines = unit.lines[len(unit.lines) - len(given) :]
    inside = tuple(Word(word, line_in(place, line)) for word, line in zip(given, lines, strict=True))
    whole = merged([word.place for word in words[: len(before)]])
    return Launch(inside, outer, inner, parsed, unit, before, whole, place)


def _substituted(word: Value, told: Mapping[str, str | None]) -> Value:
    """A word of the shell's with the variables that the container or the text itself sets."""
    parts: list[Part] = []
    for part in word:
        text = told.get(part.name) if isinstance(part, Unknown) and part.kind == "variable" else None
        whole = text is not None and isinstance(part, Unknown) and not (part.splits and _is_split(text))
        parts.append(text if whole and text is not None else part)
    return join(parts)


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
    if place.last <= place.line or not offset:
        return place
    return Place(place.file, min(place.line + 1 + offset, place.last))


def _script(words: Sequence[Word]) -> tuple[tuple[str, ...], str, Place] | None:
    """The words before the text of `sh -c TEXT`, the text, and its lines."""
    texts = [known(word.value) for word in words]
    if len(texts) < 3 or None in texts or (texts[0] or "").rpartition("/")[2] not in _SHELLS:
        return None
    for index, text in enumerate(texts[1:], start=1):
        assert text is not None
        if not text.startswith("-"):
            return None
        if not text.startswith("--") and text.endswith("c"):
            if index + 2 != len(texts):
                return None  # $0 and $1 of the text
            before = tuple(each or "" for each in texts[: index + 1])
            return before, texts[index + 1] or "", words[index + 1].place
    return None


def _expanded(text: str, variables: Mapping[str, str | None]) -> Value:
    if _OPEN in text or "$" not in text:
        return (text,) if text else ()
    names = {
        name: value if value is not None else f"{_OPEN}{name}{_CLOSE}" for name, value in variables.items()
    }
    found: list[Part] = []
    for number, piece in enumerate(expand(text, names).split(_OPEN)):
        name, closed, rest = piece.partition(_CLOSE)
        if number and closed:
            found += [Unknown("variable", name), rest]
        else:
            found.append(piece)
    return join(found)


def put(workload: Workload, launch: Launch, draft: Draft) -> None:
    """The job's command, its folder, and the steps around it."""
    container = workload.starter.container
    if not launch.words:
        _of_image(workload, draft)
        return
    if container.get("command") is None:
        args = container.get("args")
        assert args is not None
        why = "args without a command go to the image's own entrypoint"
        draft.put(("container", "entrypoint"), True, [args.at], "args without command", why=why)
    if launch.shell is not None:
        _around(workload, launch, launch.shell, draft)
    if workload.is_apart and not launch.outer:
        _hidden(workload, launch, draft)
        return
    command, doubt = _command(launch)
    what = _what(launch)
    if command is None:
        question = f"what each rank executes: {doubt} is not told"
        draft.ask(("command",), question, launch.lines, what)
    else:
        draft.put(("command",), command, launch.lines, what, why=_why(launch))
    for layer in launch.outer:
        if passes_local_rank(layer):
            why = f"{layer.program} gave each process --local_rank=N: take it from LOCAL_RANK in the environment"
            todo = "where the program has no other way, give it --local_rank in the command as a string"
            draft.say("left", launch.places, layer.program, why=why, todo=todo)


def _made_by_each(launch: Launch, draft: Draft) -> None:
    """$(date) of a launcher's shell was one value for all ranks."""
    made = [
        part for word in launch.inner for part in word if isinstance(part, Unknown) and part.kind == "output"
    ]
    if launch.outer and made:
        why = "the launcher's shell made one value for all ranks; now each rank's shell makes its own"
        todo = "give it as a value: env, or a word of the command"
        draft.say("left", launch.lines, "$(...) in the command", why=why, todo=todo, key="command")


def _of_image(workload: Workload, draft: Draft) -> None:
    place = workload.starter.place
    question = "what each rank executes: the container has no command, so it runs what its image says"
    draft.ask(("command",), question, [place], "a container without command and args")


def _hidden(workload: Workload, launch: Launch, draft: Draft) -> None:
    text = " ".join(known(word.value) or "..." for word in launch.words)
    inside = shelltext.has_launcher(text)
    why = "mpirun stands where it depends on other commands" if inside else "no mpirun is in it"
    draft.ask(
        ("command",),
        f"what each rank executes: the launcher runs {shown(text, 60)!r}, and {why}",
        launch.places,
        "the launcher's command",
        todo="write the command that its mpirun starts into the job file",
    )


def _what(launch: Launch) -> str:
    if launch.outer:
        return f"what {launch.outer[-1].program} starts"
    return "command and args" if launch.shell is None else "the shell's text"


def _why(launch: Launch) -> str:
    return (
        f"{' and '.join(layer.program for layer in launch.outer)} only started it; hpclaunch starts each rank itself"
        if launch.outer
        else ""
    )


def _command(launch: Launch) -> tuple[list[str] | str | None, str]:
    """The command for the job file, or None and what is not known of it."""
    texts = [known(word) for word in launch.inner]
    if launch.shell is not None and not launch.outer:
        return _of_shell(launch, launch.shell), ""
    if not texts:
        return None, "the program"
    if all(text is not None for text in texts):
        return [text for text in texts if text is not None], ""
    if launch.unit is not None:
        return _as_written(launch, launch.unit), ""
    made = line(launch.inner)
    return (None, made.doubt) if made.doubt else (made.plain, "")


def _of_shell(launch: Launch, shell: ShellText) -> list[str] | str | None:
    only = shell.units[0] if len(shell.units) == 1 and shell.units[0].simple else None
    options = "".join(launch.shell_words[1:]).replace("-", "")
    if only is not None and set(options) <= set("ecu"):
        words = [known(word) for word in shelltext.bare(only.words)]
        if all(word is not None for word in words):
            return [word for word in words if word is not None]
    if launch.shell_words[0] in ("sh", "/bin/sh") and launch.shell_words[1:] == ("-c",):
        return shell.text or None
    return [*launch.shell_words, shell.text] if shell.text else None


def _as_written(launch: Launch, unit: Unit) -> str:
    """A text for the shell: words that the launcher adds in quotes, and the rest as it stands."""
    words = [word.value for word in launch.words]
    offsets = unit.rest[len(unit.rest) - len(words) :]
    same = 0
    while same < min(len(words), len(launch.inner)) and words[-1 - same] == launch.inner[-1 - same]:
        same += 1
    added = line(launch.inner[: len(launch.inner) - same]).value if same < len(launch.inner) else ()
    before = added if isinstance(added, str) else " ".join(added)
    data = unit.text.encode()
    tail = data[offsets[len(offsets) - same] - unit.start :].decode("utf-8", "replace") if same else ""
    if unit.piped:
        tail = tail.rsplit("|", unit.piped.count("|") + 1)[0]
    return " ".join(filter(None, (before, tail.strip().removesuffix(";").strip())))


def _around(workload: Workload, launch: Launch, shell: ShellText, draft: Draft) -> None:
    """What a shell's text does before and after the launcher."""
    assert launch.shell_place is not None
    place = launch.shell_place
    for name, value, offset in shell.exported:
        what = f"export {name} in the shell's text"
        draft.put(("env", name), value, [line_in(place, offset)], what)
    if launch.unit is None or shell.launch is None:
        return
    if launch.unit.piped:
        why = "the job's log has the output; `hpclaunch logs` shows it"
        draft.say(
            "replaced", [line_in(place, launch.unit.line)], f"| {shown(launch.unit.piped, 60)}", why=why
        )
    for number, unit in enumerate(shell.units):
        if number != shell.launch:
            _step(workload, unit, number < shell.launch, line_in(place, unit.line), draft)


def _step(workload: Workload, unit: Unit, before: bool, place: Place, draft: Draft) -> None:
    program = (known(unit.words[0]) or "").rpartition("/")[2] if unit.words else ""
    text = unit.text.strip().removesuffix(";").strip()
    if program == "sleep" and before and workload.is_apart:
        why = "ranks are started when all nodes are there"
        draft.say("replaced", [place], text, why=why)
    elif program in _LOOK:
        draft.say("without effect", [place], text, why="it changes nothing for the ranks")
    elif workload.is_apart:
        when = "before" if before else "after"
        draft.say(
            "left",
            [place],
            text,
            why=f"it ran in the launcher's own pod {when} the ranks, and a job has no such pod",
            todo=f"if ranks need it, add it to {'setup' if before else 'after'} (per: node, or per: job for once)",
        )
    elif before:
        draft.add("setup", {"run": text}, [place], text, why="once on each node, before the ranks start")
    else:
        draft.add("after", {"run": text}, [place], text, why="once on each node, when the ranks have ended")
