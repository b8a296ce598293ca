"""The commands of a launcher that works with docker, each with what it is for."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct, structs

from hpclaunch.convert.mapping.docker.mounts import RUN_FOLDER
from hpclaunch.convert.mapping.ranks import launchers, rendezvous
from hpclaunch.convert.mapping.words import hosts
from hpclaunch.convert.programs import docker
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import MPI, STARTERS, Layer, layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, SHELLS, any_of
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.values import Value, known, program_of, shown

Role = Literal[
    "pull", "clean up", "look", "login", "image", "keys", "parameters", "entry", "hosts", "run folder",
    "caches", "compliance", "shinit", "sleeper", "wait", "test", "folders", "run", "host", "handed over",
]  # fmt: skip
# What is not a place of its own, but stands before a command.
_BESIDE = frozenset(("", "sudo", *IN_FRONT, *BINDERS))
_MOST_BESIDE = 24  # words of these before a command
_MAY_BE_OTHERS = SHELLS | {""}  # they start what a text says, or nobody knows what
_MOST_TEXTS = 60  # each costs a start of the parser
_TELLS = re.compile(
    rf"docker|podman|mpi|horovod|python|torch|{any_of(BY_MPI, BY_TORCH)}"
    r"|cache|sync|sleep|ssh|shm|shinit|mllog|\.sh\b"
)
_COMMANDS: tuple[tuple[Role, tuple[str, ...]], ...] = (
    ("pull", ("pull",)),
    ("clean up", ("rm", "kill", "stop", "prune", "rmi", "system", "container", "volume", "network")),
    ("look", ("logs", "ps", "inspect", "images", "info", "version", "wait", "top", "stats", "port")),
    ("login", ("login",)),
    ("image", ("load", "import", "build", "tag", "push", "commit", "save", "export", "cp")),
)
_OF_DOCKER: dict[str, Role] = {name: role for role, names in _COMMANDS for name in names}
_IN_TEXT: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("keys", re.compile(r"ssh-keygen|authorized_keys|\.ssh\b|ssh-copy-id|ssh-keyscan|sshkey|known_hosts")),
    ("parameters", re.compile(r"mca[-_]params")),
    ("entry", re.compile(r"sshentry|ssh_entry")),
    ("hosts", re.compile(r"mpi_?hosts|host_?file|machine_?file|hosts\.txt|\bslots=", re.IGNORECASE)),
    ("run folder", re.compile(rf"{RUN_FOLDER.pattern}|which ssh|/usr/bin/ssh\b")),
    ("caches", re.compile(r"drop_caches|^sync$")),
    (
        "compliance",
        re.compile(
            r"mllog|mlperf_log|mlperf_compliance|CACHE_CLEAR|submission_log|RUN_CLEAR_CACHES", re.IGNORECASE
        ),
    ),
    ("shinit", re.compile(r"/etc/shinit")),
    ("sleeper", re.compile(r"^sleep (inf|infinity|\d{3,}|\d+[hd])$|tail -f /dev/null|^sleep 2147483647$")),
)
# What none of these is in none of them finds anything in, as most commands of a long text are.
_MAY_TELL = re.compile(r"ssh|authorized|mca|mpi|mach|host|slots|sync|ml|cache|subm|shinit|slee|tail")
_LOOKS = that("says", "shell", "looks", "words", "texts", "edits", "devices", "settings")
_FOLDERS = that("caches", "copies", "files", "archives")
_BARE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_TESTS = re.compile(r"import (torch|tensorflow|mxnet|horovod)\b(?!.*(train|main))")


# A container that is started in a text.
STARTS_IN_TEXT = re.compile(r"\b(?:(?:nvidia-)?docker|podman(?:-hpc)?)\s+run\s")


class Started(Struct, frozen=True, dict=True):
    """A command with its layers. `inside` are the commands of the text that a shell in a container is given;
    those of a shell on the host stand for themselves. `group` is the same for all of one text. `workdir` is
    the folder of a `cd FOLDER &&` before it, "" for none."""

    command: Command
    layers: tuple[Layer, ...]
    inside: tuple["Started", ...] = ()
    group: int = 0
    workdir: str = ""

    @property
    def words(self) -> tuple[Value, ...]:
        """The innermost command."""
        return self.layers[-1].words

    @property
    def own_layers(self) -> tuple[Layer, ...]:
        """Those behind what starts the command."""
        carriers = [index for index, each in enumerate(self.layers) if each.program not in _BESIDE]
        return self.layers[carriers[-1] + 1 if carriers else 0 :]

    @property
    def own_words(self) -> tuple[Value, ...]:
        """The command in its place, with what stands before it there (env, sudo, numactl)."""
        tail = self.own_layers
        for words in (self.command.words, self._behind_entrypoint()):
            last = len(words) - len(self.words)
            for start in range(last, max(last - _MOST_BESIDE, -1), -1):
                if layers(words[start:]) == tail:
                    return words[start:]
        return self.words

    def _behind_entrypoint(self) -> tuple[Value, ...]:
        """What docker run starts by --entrypoint, which stands before the image and what is behind that."""
        layer = self.layer("docker run")
        if layer is None or layer.option("entrypoint") is None:
            return ()
        words = self.command.words
        starts = (at for at, word in enumerate(words) if layers(words[at:])[:1] == (layer,))
        at = next(starts, None)
        return () if at is None else tuple(docker.read(words[at:])[1])

    @property
    def text(self) -> str:
        """The innermost command, for people."""
        return " ".join([shown(word) for word in self.words])

    @property
    def pieces(self) -> tuple["Started", ...]:
        """What is started in the end."""
        return tuple(piece for each in self.inside for piece in each.pieces) or (self,)

    def layer(self, *programs: str) -> Layer | None:
        """The innermost layer of one of these programs."""
        return next((each for each in reversed(self.layers) if each.program in programs), None)

    @property
    def container(self) -> Layer | None:
        """The layer of docker that has the innermost command in its container."""
        return self.layer("docker exec", "docker run")

    @cached_property
    def role(self) -> Role:
        """What it is for, by its words and files."""
        docker = next((each for each in reversed(self.layers) if each.program.startswith("docker ")), None)
        if docker is not None and docker.program.partition(" ")[2] in _OF_DOCKER:
            return _OF_DOCKER[docker.program.partition(" ")[2]]
        text = self.text
        if docker is None and not self.layers[-1].program and STARTS_IN_TEXT.search(text):
            return "look" if program_of(self.words) in _LOOKS else "handed over"
        files = " ".join([shown(each.path) for each in self.command.writes])
        if _MAY_TELL.search(f"{text}\n{files}".casefold()):
            for role, pattern in _IN_TEXT:
                if pattern.search(text) or pattern.search(files):
                    return role
        program = program_of(self.words)
        if program == "sleep" and docker is None:
            return "wait"
        if _TESTS.search(text):
            return "test"
        if program in _LOOKS and self.layers[-1].program == "" and not self.layer("mpirun"):
            return "test" if docker is not None else "look"
        if program in _FOLDERS and docker is None:
            return "folders"
        if docker is not None or self.is_parallel:
            return "run"
        return "host"

    @property
    def looks(self) -> bool:
        """Whether it only shows something of the nodes: mpirun hostname."""
        return self.layers[-1].program == "" and all(program_of(each.words) in _LOOKS for each in self.pieces)

    @property
    def mpirun(self) -> Layer | None:
        """What starts its ranks by MPI, None where nothing does."""
        return self.layer(*MPI)

    @property
    def launcher(self) -> Layer | None:
        """What starts a process for each GPU of a node, None where nothing does."""
        return next((each for each in self.layers if launchers.is_launcher(each)), None)

    @property
    def is_parallel(self) -> bool:
        """Whether something on its way starts several processes."""
        return self.mpirun is not None or self.launcher is not None

    @cached_property
    def roles(self) -> set[Role]:
        """Those of all its pieces."""
        return {piece.role for piece in self.pieces} if self.inside else {self.role}

    @property
    def is_over_hosts(self) -> bool:
        """Whether a loop goes over the hosts."""
        return bool(hosts.loops_over(self.command))

    @property
    def is_on_one(self) -> bool:
        """Whether srun starts it on one node by its name, and in no loop: srun -N1 -n1 -w "$HEAD"."""
        step = self.layer("srun")
        if step is None or self.is_over_hosts or step.option("nodelist") is None:
            return False
        sizes = (step.option("nodes"), step.option("ntasks"))
        return any(each is not None and known(each.value or ()) == "1" for each in sizes)

    @property
    def is_per_node(self) -> bool:
        """Whether it is run once on each node: by a loop over hosts, or srun with a task for each."""
        if self.is_over_hosts:
            return True
        step = self.layer("srun")
        if step is not None:
            by_host = step.option("nodelist") is not None or step.option("ntasks-per-node") is not None
            return by_host and not self.is_on_one
        if self.layer("unknown") is not None:
            return True
        # One host by its name is one host; several at once are pdsh's.
        ssh = self.layer("ssh")
        return ssh is not None and (ssh.option("host") is not None or not all(map(known, ssh.words)))


def copies_of(step: Started, steps: Sequence[Started]) -> list[Started]:
    """The step, and the same command on other hosts, where scripts have a line for each host: only what tells
    a node its number and the first node's address differs."""
    text = rendezvous.without_addresses(step.text)
    hosts_of = {str(hosts.reached(step.layers)): step}
    for each in steps:
        if each.container is not None and rendezvous.without_addresses(each.text) == text:
            hosts_of.setdefault(str(hosts.reached(each.layers)), each)
    if not hosts.reached(step.layers):
        return [step]
    return [each for each in hosts_of.values() if hosts.reached(each.layers)]


def started(reading: ShellReading, *, values: bool = False) -> list[Started]:
    """All commands but those whose output is a value, and is no container's identifier. `values`: containers
    whose output is one, too."""
    return list(one_by_one(reading, values=values))


def one_by_one(reading: ShellReading, *, values: bool = False) -> Iterator[Started]:
    """The same, for who looks for the first of a kind: texts for shells behind that are not read."""
    texts = _Texts()
    seen: set[tuple[object, ...]] = set()
    for group, command in enumerate(reading.commands):
        mark = (command.place, command.words)
        is_value = command.within == "output" and not (_starts(command) if values else _goes_on(command))
        if not command.words or mark in seen or is_value:
            continue
        seen.add(mark)
        if not command.stdin and command.program not in STARTERS and command.program not in _MAY_BE_OTHERS:
            yield Started(command, layers(command.words), (), group)
        else:
            yield from _started(Started(command, layers(command.words), (), group), texts, 0)


def _starts(command: Command) -> bool:
    """Whether a container is started: LOG=$(docker run IMAGE COMMAND)."""
    return any(each.program == "docker run" for each in layers(command.words))


def _goes_on(command: Command) -> bool:
    """Whether it prints the identifier of a container that runs on: ID=$(docker run -d IMAGE COMMAND)."""
    return any(each.option("detach") is not None for each in layers(command.words))


class _Texts:
    """Reads texts that shells are given, as many as there is time for."""

    def __init__(self) -> None:
        self._left = _MOST_TEXTS

    def commands(self, command: Command, words: Sequence[Value], text: str) -> tuple[Command, ...]:
        """The commands in the text."""
        if self._left <= 0 or not _TELLS.search(text):
            return ()
        self._left -= 1
        return walk.inner(command, words)


def _started(step: Started, texts: _Texts, depth: int) -> list[Started]:
    """The command, or those of the text that a shell on the host is given."""
    given, step = step, _with_its_input(step)
    text = _shell_text(step.words)
    if text is None or depth > 3:
        return [step]
    inside: list[Started] = []
    for each in texts.commands(step.command, step.words, text):
        if each.within != "output" and each.words:
            its = (*step.layers[:-1], *layers(each.words))
            command = _handed_over(each, step.command, reads=step is given)
            piece = Started(hosts.marked(command, its), its, (), step.group)
            inside += _started(piece, texts, depth + 1)
    if step.container is None:
        return inside or [step]
    folder, rest = _changed_folder(text)
    if folder and len(inside) == 2 and _is_all(inside[1], step, rest):
        return [structs.replace(inside[1], workdir=folder)]
    if len(inside) == 1 and _is_all(inside[0], step, text):
        return inside
    return [structs.replace(step, inside=tuple(inside))]


def _handed_over(inner: Command, outer: Command, *, reads: bool) -> Command:
    """A command of a text with what it has from where the text is handed over: what is exported there, which
    docker's -e NAME takes its value from, and the input, where that is not the text itself (`reads`)."""
    if not inner.environment:
        exported = {**dict(outer.environment), **dict(outer.prefix)}
        inner = structs.replace(inner, environment=tuple(exported.items()))
    if reads and inner.stdin is None and inner.reads is None:
        inner = structs.replace(inner, stdin=outer.stdin, reads=outer.reads)
    return inner


def _with_its_input(step: Started) -> Started:
    """`ssh host <<EOF` and `bash -s <<EOF` as the `bash -c TEXT` that they are."""
    text = step.command.stdin
    if not text:
        return step
    outer = step.layers[-2].program if len(step.layers) > 1 else ""
    names = [known(word) or "?" for word in step.words]
    if not names and outer == "ssh":
        names = ["sh"]
    is_shell = bool(names) and names[0].rpartition("/")[2] in SHELLS
    if not is_shell or any(re.fullmatch(r"-[a-z]*c.*|[^-].*", name) for name in names[1:]):
        return step
    words: tuple[Value, ...] = ((names[0],), ("-c",), text)
    return structs.replace(step, layers=(*step.layers[:-1], Layer("", words=words)))


def _changed_folder(text: str) -> tuple[str, str]:
    """The folder of `cd FOLDER && COMMAND`, and the command; "" for another text."""
    found = re.match(r"\s*cd\s+(/[\w./+-]*)\s*(?:&&|;)\s*", text)
    return (found[1], text[found.end() :]) if found else ("", text)


def _is_all(piece: Started, step: Started, text: str) -> bool:
    """Whether the text is that one command and nothing else: no login shell, no redirection. A variable may
    have its value in the piece where docker hands it on."""
    try:
        words = shlex.split(text.replace("\\\n", " "))  # a line that goes on
    except ValueError:
        return False
    options = [known(word) or "" for word in step.words[1:-1]]
    found = piece.command.words
    if options != ["-c"] or len(words) != len(found):
        return False
    handed = {
        shown(option.value or ()).partition("=")[0] for layer in step.layers for option in layer.all("env")
    }
    return all(_is_word(word, shown(value), handed) for word, value in zip(words, found, strict=True))


def _is_word(word: str, value: str, handed: Collection[str]) -> bool:
    names = _BARE.findall(word)
    if not names:
        return word == value
    if not all((bare or braced) in handed for bare, braced in names):
        return _BARE.sub(lambda name: "${" + (name[1] or name[2]) + "}", word) == value
    parts = map(re.escape, _BARE.sub("\0", word).split("\0"))
    return re.fullmatch(".*".join(parts), value, re.DOTALL) is not None


def _shell_text(words: Sequence[Value]) -> str | None:
    """The text that `sh -c TEXT` runs, as a script has it, None for another command."""
    if len(words) < 3 or program_of(words) not in SHELLS:
        return None
    for index, word in enumerate(words[1:], 1):
        option = known(word) or ""
        if not option.startswith("-"):
            return None
        if "c" in option.lstrip("-") and not option.startswith("--"):
            return shown(words[index + 1]) if index + 1 < len(words) else None
    return None
