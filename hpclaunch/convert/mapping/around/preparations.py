"""Scripts that prepare data in several commands, and of which none is clearly the run: which one is asked."""

import re
from collections.abc import Iterable, Sequence
from posixpath import join, normpath

from msgspec import Struct

from hpclaunch.convert.draft import STEPS, Draft
from hpclaunch.convert.mapping.around import other_runs, working_folder
from hpclaunch.convert.mapping.slurm.srun.sruns import Step, fallbacks, is_preparation
from hpclaunch.convert.mapping.slurm.starts import alone
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.programs.beside import PREPARES
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer, layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, program_of, shown
from hpclaunch.values.conversion import Place

# Words in the name of a program, as people call what they do with their data before and after a run.
_BEFORE = """
download downloader fetch wget curl preprocess preprocessing preprocessor process prepare prep prepro
preparation setup install installer tokenize tokenise tokenization tokenizer convert converter conversion
extract unpack shard split merge index indexer vocab vocabulary dataset datasets data clean dedup deduplicate
filter
"""
_RUNS = "train training trainer pretrain finetune tune run main launch bench benchmark infer simulate solve"
_PREPARING = frozenset(_BEFORE.split())
_RUNNING = frozenset(_RUNS.split())
_ASKS = frozenset(("-c", "-V", "--version", "--help", "-h", "pip", "venv"))
_INTERPRETER = re.compile(r"^(python[\d.]*|perl|Rscript|julia|env|time|exec)$")
_LONG_PATH = re.compile(r"(?<!\S)/\S{20,}(?=/)")
_MOST_SHOWN = 4


class Candidate(Struct, frozen=True):
    """A command that may be the run: its layers, the last of which is the program, its line, and the
    folder in which the script is by then, for people."""

    layers: tuple[Layer, ...]
    place: Place
    folder: str = "."

    @property
    def words(self) -> tuple[Value, ...]:
        return self.layers[-1].words if self.layers else ()

    @property
    def whole(self) -> str:
        """For people, with the end of a long path."""
        text = " ".join(" ".join(map(shown, self.words)).split())
        return _LONG_PATH.sub("...", text)

    @property
    def text(self) -> str:
        """As much of it as is shown."""
        return self.whole if len(self.whole) <= 60 else self.whole[:57] + "..."


def ask_of_script(reading: ShellReading, run: Step, steps: Sequence[Step], draft: Draft) -> None:
    """The question for a script that srun starts the run of, or that runs it itself."""
    taken = Candidate((*run.before, *run.inner), run.command.place, _folder(reading, run))
    if not _prepares(taken):
        _say_others(reading, taken, run, steps, draft)
        return
    instead = fallbacks([step.command for step in steps])
    others = [
        Candidate(step.inner, step.command.place, _folder(reading, step))
        for step in steps
        if not is_preparation(step) and id(step.command) not in instead
    ]
    if all(step.command is not run.command for step in steps):
        own = (
            Candidate(layers(each.words), each.place, _of(reading, each)) for each in alone.commands(reading)
        )
        others += [each for each in own if _prepares(each) or _names(each) & _RUNNING]
    ask(taken, others, draft)


def _say_others(
    reading: ShellReading, taken: Candidate, run: Step, steps: Sequence[Step], draft: Draft
) -> None:
    """The question which command is the run of a script that starts several programs itself, one after the
    other: the last one was taken."""
    is_own = all(step.command is not run.command for step in steps)
    every = (*layers(run.command.words), *taken.layers)
    launcher = next((layer.program for layer in every if layer.program in (*MPI, *PER_GPU)), "")
    is_several = any(layer.program in (*MPI, *PER_GPU) for layer in taken.layers)
    is_several |= bool(launcher) and (run.ranks.nodes, run.ranks.per_node) != (1, 1)
    if not is_own or is_several or ("command",) not in draft.facts:
        return
    own = alone.commands(reading)
    instead = fallbacks(own)
    others = {
        (each := Candidate(layers(command.words), command.place, _of(reading, command))).words: each
        for command in own
        if command is not run.command and id(command) not in instead
    }
    # Where the run itself is only a name that PATH has (pw.x < in), so may its rivals be.
    is_rival = _may_rival if _may_rival(taken) else _is_named
    rivals = [each for words, each in others.items() if words != taken.words and is_rival(each)]
    if rivals:
        listed = "; ".join(f"{each.text}{_elsewhere(each, taken)}" for each in rivals[:_MOST_SHOWN])
        is_of_script = any(each.place.file != run.command.place.file for each in rivals)
        which = f"which {launcher} starts" if launcher else "the last one"
        which = "that of the script that is read" if is_of_script else which
        why = f"which is the job's run: {taken.text} was taken, {which}, and it may be another ({listed})"
        todo = "where it is another write that as `command`, and what comes behind it as a step of `after`"
        _say_not_started(reading, run, rivals, draft)
        places = [run.command.place, *(each.place for each in rivals)]
        draft.say("question", places, f"{len(rivals) + 1} commands may be the run", why=why, todo=todo)


def _say_not_started(reading: ShellReading, run: Step, rivals: Sequence[Candidate], draft: Draft) -> None:
    """Of those that became no step, and of which nothing else is said, that the job is without them: the
    question names them as what may be the run, and not as what is lost."""
    told = draft.places_of(*STEPS).union(*(each.places for each in draft.findings))
    its = [each.place for each in rivals if each.place not in told]
    behind = False
    for each in reading.commands:
        behind = behind or each is run.command
        if each.place in its and each.words and not each.within:
            why = "it is a program of its own, as the run is, and nothing in the job starts it"
            todo = f"where it is not the run add it to {'after' if behind else 'setup'}"
            draft.say("left", (each.place,), each.brief(), why=why, todo=todo)


def _is_named(candidate: Candidate) -> bool:
    words = candidate.words
    asks = any(shown(word) in _ASKS for word in words[1:])
    return bool(words) and not asks and not prepares(words) and program_of(words) not in PREPARES


def _may_rival(candidate: Candidate) -> bool:
    """Whether it executes a program of its own, and not what prepares or asks for something."""
    words = candidate.words
    if not words or prepares(words) or any(shown(word) in _ASKS for word in words[1:]):
        return False
    name = _name(words)
    is_file = bool(name) and name != program_of(words)
    return is_file or bool(re.match(r"\.{0,2}/", shown(words[0])))


def ask(run: Candidate, others: Iterable[Candidate], draft: Draft) -> None:
    """The question which command is the run, where that which was taken prepares data by its name, and
    others may be it as well."""
    if not _prepares(run):
        return
    rivals = {each.words: each for each in others if each.words and each.words != run.words}
    if not rivals:
        return
    listed = _listed([*list(rivals.values())[:_MOST_SHOWN], run])
    question = f"what each rank executes: which of these is the run, or whether none is ({listed})"
    todo = "write it there, and take it out of setup; what the others do goes into setup, or a job of its own"
    places = [*(each.place for each in rivals.values()), run.place]
    draft.unsay(("command",))
    draft.findings[:] = [each for each in draft.findings if not other_runs.says_taken(each)]
    draft.ask(
        ("command",), question, places, f"{len(rivals) + 1} commands, and none is clearly the run", todo
    )
    _doubt_folder([*list(rivals.values())[:_MOST_SHOWN], run], draft)
    _doubt_after(run, draft)


def _folder(reading: ShellReading, step: Step) -> str:
    """That of the script, which is none of a container's."""
    return "." if step.in_container else _of(reading, step.command)


def _of(reading: ShellReading, command: Command) -> str:
    """That in which the script is by then, as a job file names it, or as the script does."""
    told = path(command.folder) if command.folder else "."
    if told is None:
        return shown(command.folder)
    return working_folder.written(normpath(join(working_folder.begin(reading), told)))


def _elsewhere(rival: Candidate, taken: Candidate) -> str:
    """What is said of a folder that is not that of the run."""
    return "" if rival.folder == taken.folder else f", in the folder {rival.folder}"


def _doubt_folder(candidates: Sequence[Candidate], draft: Draft) -> None:
    """The question in which folder the ranks start, where the script has gone to another one for each."""
    if len({each.folder for each in candidates}) < 2 or any(
        fact.is_open for key, fact in draft.facts.items() if key == ("workdir",)
    ):
        return
    listed = "; ".join(f"{each.folder} for {each.text}" for each in candidates)
    question = f"the folder in which the ranks start: that of the run ({listed})"
    draft.unsay(("workdir",))
    places = tuple(dict.fromkeys(each.place for each in candidates))
    draft.ask(("workdir",), question, places, "each is in a folder of its own")


def _doubt_after(run: Candidate, draft: Draft) -> None:
    """The question where the steps of `after` belong: they stand behind a command that may not be the run."""
    steps = [fact for key, fact in draft.facts.items() if key[0] == "after" and len(key) == 2]
    if steps:
        places = tuple(dict.fromkeys(place for each in steps for place in each.places))
        why = f"they stand behind {run.text}, and may come before the run"
        draft.say(
            "question", places, "steps of `after`", why=why, todo="where they are write them under setup"
        )


def _listed(candidates: Sequence[Candidate]) -> str:
    """Their heads, or their ends where they begin alike."""
    texts = [each.text for each in candidates]
    if len(set(texts)) < len(texts):
        texts = [each.whole if len(each.whole) <= 60 else f"...{each.whole[-57:]}" for each in candidates]
    return "; ".join(texts)


def _prepares(candidate: Candidate) -> bool:
    if any(layer.program in (*MPI, *PER_GPU) for layer in candidate.layers):
        return False
    return prepares(candidate.words)


def prepares(words: Sequence[Value]) -> bool:
    """Whether a program prepares something, by its name."""
    names = _names_of(words)
    return bool(names & _PREPARING) and not names & _RUNNING


def asks(words: Sequence[Value]) -> bool:
    """Whether an interpreter or a shell executes a text or asks for something, and no file."""
    starts = bool(words) and (_INTERPRETER.match(program_of(words)) or program_of(words) in SHELLS)
    return bool(starts) and any(shown(word) in _ASKS for word in words[1:2])


def runs(words: Sequence[Value]) -> bool:
    """Whether a program is called what people call the run itself."""
    return bool(_names_of(words) & _RUNNING)


def _names(candidate: Candidate) -> set[str]:
    return _names_of(candidate.words)


def _names_of(words: Sequence[Value]) -> set[str]:
    return set(re.findall(r"[a-z]+", _name(words).lower()))


def _name(words: Sequence[Value]) -> str:
    """The script or module that is executed, without its folder and ending."""
    rest = [shown(word) for word in words]
    if rest and (_INTERPRETER.match(program_of(words)) or program_of(words) in SHELLS):
        rest = [word for word in rest[1:] if not word.startswith("-")]
    name = rest[0].split()[0] if rest and rest[0].split() else ""
    return re.sub(r"\.(py|sh|pl|R|jl)$", "", name.rpartition("/")[2])
