"""`srun enroot start ...`: what Pyxis does by options of srun, without it.

Enroot gives the command no variable of the script but those of --env (runtime::_do_environ of its
src/runtime.sh), starts it through the image's own entrypoint (/etc/rc), and leaves the image read-only
without --rw (doc/cmd/start.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container import other_runtimes
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, origin_of
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.enroot import created
from hpclaunch.convert.programs.flags import cut
from hpclaunch.convert.programs.layers import STARTERS, Layer, Option, layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.convert.shell.walk import inner as inside_of
from hpclaunch.readback.shell.values import Value, join, known, program_of, shown
from hpclaunch.values.image import is_file

PROGRAM = "enroot start"
_MOST = 200  # commands that may make one; the text of a shell costs a start of the parser
# What options of `start` say, and Enroot's own variables (doc/cmd/start.md, doc/standard-hooks.md): the
# option of Pyxis, and the one where nothing says it.
_SWITCHES = {
    "rw": ("ENROOT_ROOTFS_WRITABLE", "container-writable", "container-readonly"),
    "root": ("ENROOT_REMAP_ROOT", "container-remap-root", ""),
    "": ("ENROOT_MOUNT_HOME", "container-mount-home", ""),
}
# What an image starts whose container is given an input and no command.
_SHELL: tuple[Value, ...] = (("bash",),)
_ON = frozenset(("y", "yes", "1", "true", "on"))
_LEFT = {
    "conf": "a script of Enroot's own, which may set variables, mount folders and choose what is started",
    "rc": "it takes the place of the image's entrypoint, and Pyxis has no such option",
    "pid": "a job's ranks see the processes of their node",
    "net": "a job's ranks have the network of their node",
    "ipc": "a job's ranks share memory with those of their node",
    "uts": "a job's ranks have their node's name",
}


def of(
    reading: ShellReading, command: Command, inner: Sequence[Layer]
) -> tuple[Layer | None, tuple[Layer, ...], tuple[Asked, ...]]:
    """The `enroot start` among the layers, or another program for containers, the others, and what it says as
    options of Pyxis; None and the layers as they are where there is none."""
    layer = next((each for each in inner if each.program == PROGRAM), None)
    if layer is None:
        return other_runtimes.of(reading, command, inner)
    if not layer.words:
        return None, tuple(inner), ()
    if is_shell_of_image(command, inner):
        inner = (*inner[:-1], structs.replace(inner[-1], words=_SHELL))
    where = inner.index(layer)
    others = (*(each for each in inner[:where] if each.program != "env"), *inner[where + 1 :])
    return layer, others, tuple(_asked(reading, command, layer))


def is_shell_of_image(command: Command, inner: Sequence[Layer]) -> bool:
    """Whether no command stands behind the container's name, and a here-document or a file is there to read:
    what the image starts is a shell then."""
    reads = bool(command.stdin) or (command.reads is not None and known(command.reads) != "/dev/null")
    return reads and not inner[-1].program and not inner[-1].words


def export(reading: ShellReading, command: Command, layer: Layer, outer: Export) -> Export:
    """Which variables the command has: those of --env alone. `outer` is what srun hands to Enroot."""
    if layer.program != PROGRAM:
        return other_runtimes.export(command, layer, outer)
    own = dict(outer.given)
    given: list[tuple[str, Value | None]] = []
    for option in layer.all("env"):
        parts = cut(option.value or (), "=")
        name = shown(option.value or ())
        given.append(parts or (name, own.get(name)))
    names = tuple(each for each in given if each[0].isidentifier())
    return Export(False, names, PROGRAM, reading.origin(command) or (command.place,))


def say(layer: Layer, kept: Sequence[Layer], command: Command, draft: Draft, begun: str = ".") -> None:
    """What of the options no job file has, and which programs of the node stay in the command (`kept`).
    `begun` is the folder in which sbatch was told to begin."""
    if layer.program != PROGRAM:
        other_runtimes.say(layer, command, draft, begun)
        return
    lines = (command.place,)
    if is_shell_of_image(command, layers(command.words)):
        why = "no command stands behind the container's name: a shell is taken for what the image starts"
        todo = "where it starts another program write `command` in the job file"
        what = "the image's own command"
        draft.say("assumed", lines, what, became="command: bash", why=why, todo=todo)
    before = {each.program for each in takewhile(lambda each: each.program != PROGRAM, layers(command.words))}
    names = before & {each.program for each in kept if each.program}
    if "env" in before:
        why = "it is for Enroot itself, and the command in the image has only what --env names"
        draft.say("without effect", lines, f"env ... {PROGRAM}", why=why)
    for name in sorted(names - {"srun"}):
        why = f"{name} was started on the node, and is in the image now"
        draft.say("left", lines, f"{name} ... {PROGRAM}", why=why, todo=f"see that the image has {name}")
    for option in layer.options:
        if option.name in _LEFT:
            todo = "see whether the program counts on it, and write what it says in the job file"
            draft.say("left", lines, f"{PROGRAM} {option.written}", why=_LEFT[option.name], todo=todo)
        elif not option.name:
            other_runtimes.ask_options(layer, option, command, draft)
        elif option.name not in ("env", "mount", "root", "rw"):
            why = "no option of enroot start that is known"
            draft.say("unread", lines, f"{PROGRAM} {option.written}", why=why)


def _asked(reading: ShellReading, command: Command, layer: Layer) -> Iterator[Asked]:
    yield _image(reading, command, layer.words[0])
    lines = (command.place,)
    for option in layer.all("mount"):
        text = known(option.value or ())
        places = reading.origin(command, text) if text else lines
        yield Asked("container-mounts", _mount(option), option.written, places or lines, "enroot")
    for name, (variable, switch, otherwise) in _SWITCHES.items():
        given = layer.option(name) if name else None
        value = (known(dict(command.environment).get(variable, ())) or "").lower()
        if given is not None:
            yield Asked(switch, None, given.written, lines, "enroot")
        elif value in _ON:
            yield Asked(switch, None, variable, origin_of(reading, variable) or lines, "enroot")
        elif otherwise:
            yield Asked(otherwise, None, f"{PROGRAM} without --{name}", lines, "enroot")
    if layer.option("rc") is None:
        yield Asked("container-entrypoint", None, PROGRAM, lines, "enroot")


def _image(reading: ShellReading, command: Command, name: Value) -> Asked:
    """The file of the container: what was unpacked as it, or its own name where that is one."""
    maker, file = _containers(reading).get(shown(name), (None, ()))
    if maker is not None:
        lines = tuple(dict.fromkeys((*(reading.origin(maker) or (maker.place,)), command.place)))
        return Asked("container-image", file, f"enroot create {shown(file)}", lines, "enroot")
    text = known(name)
    written = f"{PROGRAM} {shown(name)}"
    if text is not None and not is_file(text):
        return Asked("container-name", name, written, (command.place,), "enroot")
    return Asked(
        "container-image", name, written, reading.origin(command, text or "") or (command.place,), "enroot"
    )


@once
def _containers(reading: ShellReading) -> Mapping[str, tuple[Command | None, Value]]:
    """The containers that the script makes, each with the command and the file; the last of a name counts."""
    found: dict[str, tuple[Command | None, Value]] = {}
    named = reading.of("enroot", *STARTERS, *SHELLS)
    may_be = [each for each in named if "enroot" in each.written and "create" in each.written]
    for command in may_be[-_MOST:]:
        for words in _texts(command):
            made = created(words)
            if made is not None and made.name:
                found[shown(made.name)] = (command, made.file)
    return found


def _texts(command: Command) -> Iterator[Sequence[Value]]:
    """The words of what the command starts, and those of a text that a shell is given."""
    words = layers(command.words)[-1].words
    yield words
    if program_of(words) in SHELLS:
        for each in inside_of(command, words):
            yield each.words


def _mount(option: Option) -> Value:
    """SRC:DST:TYPE:OPTIONS, of which all but the first may be left out, as Pyxis has it: SRC:DST:FLAG+FLAG.
    The target is one in the image, also where it begins without / (doc/image-format.md)."""
    source, *others = split(option.value or (), ":")
    target: Value = others[0] if others else source
    if target and isinstance(target[0], str) and not target[0].startswith("/"):
        target = join(["/", *target])
    flags = [known(each) or "?" for each in others[1:] if known(each) not in ("", "none")]
    parts: list[Value] = [source, target]
    if flags:
        parts.append(("+".join(",".join(flags).split(",")),))
    found: list[object] = []
    for each in parts:
        found += [":", *each] if found else [*each]
    return join(found)  # type: ignore[arg-type]
