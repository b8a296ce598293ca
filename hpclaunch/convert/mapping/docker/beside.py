"""All that a launcher with docker does beside its own command: what makes room for it, and what comes before
and after."""

import re
import shlex
from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import missing_folders
from hpclaunch.convert.mapping.around.images_of_steps import NO_LOGIN
from hpclaunch.convert.mapping.around.logs import IN_LOGS, is_tee
from hpclaunch.convert.mapping.around.no_step import AFTER_EACH, AFTER_EACH_TODO, of_condition
from hpclaunch.convert.mapping.around.one_step import CACHES, say_optional
from hpclaunch.convert.mapping.around.other_runs import MORE_RANKS
from hpclaunch.convert.mapping.around.ways import decided_by, is_a_way
from hpclaunch.convert.mapping.docker import own_options, standard_input
from hpclaunch.convert.mapping.docker.steps import Role, Started, copies_of
from hpclaunch.convert.mapping.ranks import parameter_files
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.mapping.words.texts import Line, line
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.values.conversion import Place

_MOST_NAMED = 6
_MOST = 600  # commands; the account of all statements tells the others
_INNER = "_hpclaunch_"  # stands for what is not known of a text that a shell is given (shell/walk.py)
# What a container with all rights did as root.
_DROP = "sync && sudo /sbin/sysctl vm.drop_caches=3"
_BY_INPUT = re.compile(r"\bsudo( -S| --stdin)+\b")
_LAUNCH = "srun starts the ranks in containers on all nodes itself"
_KEY_LEFT = (
    "a key of an earlier run may still open the account: look in ~/.ssh/authorized_keys for lines with "
    "`command=` or a comment such as the job's name, take them out, and delete the files of the keys"
)
_REPLACED: dict[Role, tuple[str, str]] = {
    "pull": (
        "the image is fetched on each node where it is first used",
        "write image: {ref: ..., import: shared} to bring it once to a file that all nodes use",
    ),
    "clean up": ("a container ends with its step, and leaves nothing behind", ""),
    "entry": (f"{_LAUNCH}: no key opens a node, and nothing has to find the container behind it", ""),
    "hosts": (f"{_LAUNCH}, and knows the hosts of its job", ""),
    "run folder": (f"{_LAUNCH}: no files of the launch are needed on the nodes", ""),
    "shinit": ("the image's start-up files are not run: the command is the first process", ""),
    "wait": (
        "a step starts when its containers are there: nothing waits for a time that may be too short",
        "",
    ),
    "parameters": (f"{_LAUNCH}; what the file says of Open MPI itself is in env", ""),
}
_LEFT: dict[Role, tuple[str, str]] = {
    "login": NO_LOGIN,
    "image": ("a job makes no images", "make it before, and name it in `image`"),
    "test": (
        "a test of the machine is no part of the job: a rank that sees no GPU ends it with a reason",
        "add it to setup if the job is to begin with it",
    ),
}

_SHOWS = that("says", "looks", "words", "texts")
_CHANGES = _SHOWS | that("shell", "edits", "settings")
# What keeps a container there, and does nothing else; the server of ssh, which srun needs none of.
_IDLE = SHELLS | {"sleep", "tail", "cat", "top", "tini", "pause", "sshd", ""}
_NO_PART = "it is not part of the ranks' command"
_NO_PART_TODO = "add it to setup, before_each or after if the job needs it"
_OTHER_CASE = (
    "the script runs this in another case, which the given values exclude or do not decide",
    "convert again with the values of the other case, for a job of its own",
)


class _Beside(Struct, frozen=True, dict=True):
    """What is known where a step is placed. `trial` is whether the main command is in a loop of trials."""

    reading: ShellReading
    steps: Sequence[Started]
    main: Started | None
    home: Started | None
    draft: Draft

    @property
    def has_trials(self) -> bool:
        """Whether the job has trials."""
        return self.main is not None and bool(loops_of_trials(self.main.command))

    @cached_property
    def copies(self) -> set[int]:
        """The ids of the main step and of those that are the same on other hosts."""
        return set() if self.main is None else {id(each) for each in copies_of(self.main, self.steps)}


def put(
    reading: ShellReading,
    steps: Sequence[Started],
    main: Started | None,
    home: Started | None,
    draft: Draft,
) -> None:
    """A finding or a step for every command but the job's own and that which starts its container."""
    here = _Beside(reading, steps, main, home, draft)
    before = True
    _other_run(here)
    for step in steps[:_MOST]:
        if not step.words and all(layer.program == "" for layer in step.layers):
            continue
        if step is main:
            before = False
        elif step is home:
            _sleeper(step, here)
        else:
            _put(step, before, here)


def _other_run(here: _Beside) -> None:
    """Another run in another way of the same `case` or `if`, of which nothing tells which is gone."""
    main = here.main
    for step in here.steps if main is not None else ():
        if main is None or step is main or step.container is None or "run" not in step.roles:
            continue
        word = decided_by(main.command, step.command)
        if word and step.text != main.text:
            question = f"what each rank executes: {word} decides it, which is not told"
            here.draft.unsay(("command",))
            places = (main.command.place, step.command.place)
            here.draft.ask(("command",), question, places, main.text)
            return


def _put(step: Started, before: bool, here: _Beside) -> None:
    done: set[Role] = set()
    logs = [each.path for each in here.main.command.writes if each.tee] if here.main is not None else []
    if is_tee(step.command) and any(word in logs for word in step.words[1:]):
        here.draft.say("replaced", (step.command.place,), _short(step), why=IN_LOGS)
        return
    if step.inside and step.roles <= {"run", "look", "compliance"}:
        (_container_step if "run" not in step.roles else _run)(step, step, before, here)
        return
    for piece in step.pieces:
        role = piece.role
        if role in done:
            continue
        done.add(role)
        _ROLES.get(role, _plain)(step, piece, before, here)


def _of_test(piece: Started) -> tuple[str, str]:
    """Why a command in a container that looks at something there is left, and what to do."""
    program = program_of(piece.words)
    if program in _SHOWS and not piece.command.writes:
        return "it only shows something of the container", _NO_PART_TODO
    return _LEFT["test"] if program not in _CHANGES else (_NO_PART, _NO_PART_TODO)


def _plain(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    role = piece.role
    places = here.reading.origin(step.command)[:1]
    if role in _REPLACED:
        why, todo = _REPLACED[role]
        here.draft.say("replaced", places, _short(piece), why=why, todo=todo)
    elif role in _LEFT:
        why, todo = _of_test(piece) if role == "test" else _LEFT[role]
        here.draft.say(
            "left", places, _short(piece) if role != "login" else "docker login", why=why, todo=todo
        )


def _sleeper(step: Started, here: _Beside) -> None:
    """The container that others look into: what it executes itself is no part of the job."""
    places, text = (step.command.place,), _short(step)
    layer = step.layer("docker run")
    if layer is not None and layer.option("detach") is None and not (step.words or step.inside):
        why = "it waits for what is typed, and the launch behind it is taken to be typed into it"
        todo = "where the launch was on the host, and in no container, take image and mounts out"
        here.draft.say("assumed", places, text, became="the image of the ranks", why=why, todo=todo)
        return
    why = "a container that sleeps until others look into it: each step makes its own, where its ranks run"
    if step.inside or not step.words or program_of(step.words) in _IDLE or "sleeper" in step.roles:
        here.draft.say("replaced", places, text, why=why)
        return
    why = "it runs in the container beside what is executed there, and the job does not start it"
    todo = "where the job needs it let the command start it too, or write a group for it"
    here.draft.say("left", places, text, why=why, todo=todo)


def _another_container(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    why = "the job has one container, made where its ranks run"
    own = own_options.beside(step, here.home)
    if own:
        why = f"{why}; this one has of its own {', '.join(own[:_MOST_NAMED])}"
        todo = "add to the job file what ranks need of it, or write `groups` where they are not alike"
        here.draft.say("left", (step.command.place,), _short(piece), why=why, todo=todo)
        return
    here.draft.say("replaced", (step.command.place,), _short(piece), why=why)


def _keys(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    why = f"{_LAUNCH}: no ssh, so no key, and nothing in authorized_keys"
    here.draft.say("replaced", (step.command.place,), _short(piece), why=why, todo=_KEY_LEFT)


def _parameters(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    places = (step.command.place,)
    text = piece.command.stdin or step.command.stdin
    why, todo = _REPLACED["parameters" if text else "run folder"]
    here.draft.say("replaced", places, "mca_params.conf" if text else _short(piece), why=why, todo=todo)
    if text:
        parameter_files.put_text(shown(text), places, here.draft)


def _caches(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    places = here.reading.origin(step.command, "drop_caches")
    of_host = [each for each in here.steps if each.role == "caches" and each.container is None]
    if piece.container is not None:
        why = "a container with all rights is not needed: a step on the host drops the caches"
        here.draft.say("replaced", places, _short(piece), why=why)
        if not any("drop_caches" in each.text for each in of_host):
            _caches_step(step, _DROP, places, here)
        return
    if "drop_caches" not in piece.text:
        return
    together = [each for each in of_host if each.group == step.group]
    # A step has nobody who types a password, and no file has one.
    text = " && ".join(dict.fromkeys(_BY_INPUT.sub("sudo", _text(each.own_words)) for each in together))
    _caches_step(step, text, places, here)


def _caches_step(step: Started, text: str, places: Sequence[Place], here: _Beside) -> None:
    value = {"run": text, "where": "host", "per": "node", "optional": True, "name": "drop caches"}
    if _known_step(value, here.draft):
        return
    key = "before_each" if here.has_trials and loops_of_trials(step.command) else "setup"
    here.draft.add(key, value, places, "the file caches of each node", why=CACHES)
    if not step.command.unnoticed:
        say_optional(f"{key}.{here.draft.count(key) - 1}", places, here.draft)


def _run(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    if step.layer("docker run") is not None and step.layer("docker exec") is None and "sleeper" in step.roles:
        _another_container(step, piece, before, here)
    elif id(step) in here.copies:
        why = "the same on another host: srun starts the ranks on all nodes"
        here.draft.say("replaced", (step.command.place,), _short(piece), why=why)
        own_options.ask_for_hosts(piece, here.draft)
    elif _is_alternative(step, here):
        why, todo = _OTHER_CASE if _condition(step, here) or not step.is_parallel else MORE_RANKS
        here.draft.say("left", (step.command.place,), _with_variables(piece), why=why, todo=todo)
    else:
        _container_step(step, piece, before, here)


def _is_alternative(step: Started, here: _Beside) -> bool:
    """Whether it is another way to run the job's own command. With variables of its own, and on no condition,
    it is run beside that."""
    main = here.main
    if main is None or not (step.is_parallel or step.text == main.text):
        return False
    on = [each for each in step.command.conditions if not each.endswith("a loop")]
    return step.is_parallel or bool(on) or not own_options.variables(step, here.draft)[0]


def _container_step(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    places = here.reading.origin(step.command, piece.text[:40])
    words = _requoted(piece)
    own, missing = own_options.variables(piece, here.draft)
    written = line([("env",), *own, *words] if own else words)
    if _INNER in str(written.value):
        written = Line((), doubt="what the script puts into the text")
    image = own_options.other_image(piece, here.draft)
    if image:
        why = f"it has an image of its own ({image}), and a job's steps run in the job's"
        todo = "see whether the job's image can do it, or submit it as a job of its own before this one"
        here.draft.say("left", places, _short(piece), why=why, todo=todo)
        return
    if written.doubt or not piece.words or (piece.container is None and piece.role != "host"):
        why = f"{written.doubt} is not told" if written.doubt else _NO_PART
        here.draft.say("left", places, _short(piece), why=why, todo=_NO_PART_TODO)
        return
    doubt = _condition(step, here)
    if doubt:
        why, todo = of_condition(doubt)
        here.draft.say("left", places, _short(piece), why=why, todo=todo)
        return
    in_trial = here.has_trials and bool(loops_of_trials(step.command))
    if in_trial and not before:
        here.draft.say("left", places, _short(piece), why=AFTER_EACH, todo=AFTER_EACH_TODO)
        return
    if piped := standard_input.put(piece, here.draft):
        written = line([("env",), *own, *words] if own else words, piped=piped)
    value: dict[str, object] = {"run": written.of_step(), "per": "node" if step.is_per_node else "job"}
    if step.command.unnoticed and piece.role == "compliance":
        value["optional"] = True
    if _known_step(value, here.draft):
        return
    key = "before_each" if in_trial else "setup" if before else "after"
    here.draft.add(key, value, places, _short(piece))
    own_options.say_rest(piece, missing, places, key, here.draft)


def _condition(step: Started, here: _Beside) -> str:
    """A condition of the step that is not the run's too, "" where it has none."""
    shared = here.main.command.conditions if here.main is not None else ()
    its = (each for each in missing_folders.conditions(step.command) if not each.endswith("a loop"))
    return next((each for each in its if each not in shared and is_a_way(each)), "")


def _requoted(piece: Started) -> list[Value]:
    """The words, where quotes that stand in a variable were meant for another shell put together again."""
    texts = [known(word) for word in piece.own_words]
    whole = [text for text in texts if text is not None]
    if len(whole) == len(texts) and any(text.startswith(("'", '"')) for text in whole):
        try:
            return [(text,) for text in shlex.split(" ".join(whole))]
        except ValueError:
            pass
    return list(piece.own_words)


def _known_step(value: dict[str, object], draft: Draft) -> bool:
    return any(fact.value == value for key, fact in draft.facts.items() if len(key) == 2)


def _folders(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    here.draft.say(
        "left",
        (step.command.place,),
        _short(piece),
        why="no step of the job makes it",
        todo="make them before, or add a step with where: host to setup",
    )


def _look(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    """What only looks at the job, or for its hosts; the account of all statements tells the others."""
    program = _text(piece.words[:1])
    if piece.container is None and not piece.words:
        why = "`hpclaunch status` and `hpclaunch logs` show the job"
    elif program in ("scontrol", "getent"):
        why = "the scheduler knows the hosts of a job, and each rank the address of the first"
    else:
        return
    here.draft.say("replaced", (step.command.place,), _short(piece), why=why)


def _host(step: Started, piece: Started, before: bool, here: _Beside) -> None:
    """Other commands on the host: the account of all statements tells them."""


_ROLES: dict[Role, Callable[[Started, Started, bool, _Beside], None]] = {
    "sleeper": _another_container,
    "look": _look,
    "keys": _keys,
    "parameters": _parameters,
    "caches": _caches,
    "compliance": _container_step,
    "run": _run,
    "folders": _folders,
    "host": _host,
    "handed over": _host,  # handed_over.py says it
}


def _text(words: Sequence[Value]) -> str:
    return " ".join(shown(word) or "''" for word in words)


def _with_variables(step: Started) -> str:
    """The command with the variables that docker gives it."""
    layer = step.container
    given = [each.written for each in layer.all("env")] if layer is not None else []
    return " ".join([_short(step), *(f"({each})" for each in given[:3])])


def _short(step: Started) -> str:
    docker = next((each for each in reversed(step.layers) if each.program.startswith("docker ")), None)
    words = step.words or (docker.words if docker is not None else ())
    text = " ".join([*([docker.program] if docker is not None else []), _text(words)])
    return text if len(text) < 90 else text[:87] + "..."
