"""What each rank of the run executes -> `command`."""

import itertools
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import beyond
from hpclaunch.convert.mapping.container import enroot
from hpclaunch.convert.mapping.container.images import OF_IMAGE
from hpclaunch.convert.mapping.environment import reached, without_value
from hpclaunch.convert.mapping.environment.in_order import Export, Prepared, in_order
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.ranks import launchers, rendezvous
from hpclaunch.convert.mapping.slurm.batch import export
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch, origin_of
from hpclaunch.convert.mapping.slurm.numbers import numbers_in_texts
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words import hosts, inputs, parameters
from hpclaunch.convert.mapping.words.lines import names_from
from hpclaunch.convert.mapping.words.made import alternatives, by_submission, in_doubt, with_numbers
from hpclaunch.convert.mapping.words.texts import Line, by_name, line, submitters
from hpclaunch.convert.mapping.words.variables import names_in, submitters_in
from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.layers import Layer, layers, length
from hpclaunch.convert.programs.names import BY_MPI, SHELLS, STEPS
from hpclaunch.convert.reading import Command, Loop, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.shell.started import behind_options
from hpclaunch.convert.shell.walk import inner as inside_of
from hpclaunch.convert.shell.walk import wanted_inside
from hpclaunch.readback.shell.values import Unknown, Value, base_name, known, shown
from hpclaunch.values.conversion import Place

OF_SHELL = (
    "ranks get what the job file names, and not all that was exported where the script was started, such as "
    "the PATH of an environment that was active there"
)
ACTIVATE = "where they need such an environment activate it in the command, or write its PATH in env"
_EACH_RANK = "what the shell did once on a node, before the launcher, each rank does for itself"
_OF_TORCH = (
    "write it in the job file, or rendezvous: torch in its place: hpclaunch then sets it, the address to "
    "that of the job's first node"
)
_UNTOLD: Value = (Unknown("variable", ""),)
_GOES = frozenset(("chdir", "wdir"))
_RULES = re.compile(r"shopt\s|set\s+(?:-\w*f|-o\s+noglob)")
_MOST_NAMED = 3
_FUNCTION = re.compile(r"([\w.:-]+)\(\)$")
_OF_A_TEXT = re.compile(r"-[a-z]*c")  # sh -c TEXT


class Around(Struct, frozen=True):
    """What the text of the command needs beside its words: variables `later` that only it can set, commands
    that a rank runs `before` with their lines, the input that it reads, and the names that a rank has for
    others."""

    later: Sequence[Export]
    before: Sequence[Prepared]
    reads: inputs.Given
    stand_ins: Mapping[str, str]


def put(
    reading: ShellReading, run: Step, words: Sequence[Value], around: Around, draft: Draft, *, image: bool
) -> None:
    """Put the command, and what it takes of the submitter's shell; asked for where no job file can have it.
    `image`: the ranks are in one."""
    lines, reads = (run.command.place,), around.reads
    stand_ins = {**_addresses(run), **hosts.stand_ins(run.command), **around.stand_ins}
    before, later = in_order(reading, run.command, around.before, around.later)
    patterns = not image and _finds_the_same(reading, run)

    def written_with(words: Sequence[Value], own: Sequence[parameters.Parameter] = ()) -> Line:
        names = {
            name: stands for name, stands in stand_ins.items() if name not in {each.name for each in own}
        }
        return line(words, names, later, reads.after, before, reads.before, patterns=patterns)

    asked: Sequence[parameters.Parameter] = ()
    written = written_with(words)
    if written.doubt and (found := parameters.named(reading, run.command, words, stand_ins)):
        of_parameters = written_with(*found)
        if not of_parameters.doubt:
            written, asked = of_parameters, found[1]
    if why := _why_asked(reading, run, words, written.doubt):
        draft.ask(("command",), f"what each rank executes: {why}", lines, run.text or _own_text(run))
    else:
        what = " ".join(map(shown, words)) or run.text
        why = _EACH_RANK if run.front is not None else ""
        draft.put(("command",), written.plain, lines_of(reading, run), what, why=why)
        names = [name for name in submitters(written.names) if name not in rendezvous.COMPUTED]
        made = {each.name for each in asked}
        _rendezvous([name for name in written.names if name not in made], lines, draft)
        _say_own(reading, run, draft)
        set_here = {name for name, _ in around.later}
        added = {name for _, value in around.later for name in names_in(value) if name in set_here}
        own = set_here - added | set(around.stand_ins.values())
        own |= parameters.ask(asked, draft, dict.fromkeys(rendezvous.COMPUTED, _OF_TORCH))
        wanted = [name for name in names if name not in own and (image or name != "PWD")]
        setting = [each for each in before if known(each[0]) != "set"]
        first = "; ".join(" ".join(map(shown, each)) for each in setting[:_MOST_NAMED])
        reached.inherit([name for name in wanted if name not in added], lines, draft, what, before=first)
        for name in wanted:
            if name in added:
                of_export = origin_of(reading, name, run.command.place) or lines
                reached.inherit((name,), of_export, draft, f"export {name}", added, first)
        _of_the_text(reading, run, words, draft, image=image)
        numbers_in_texts.say(reading, run, words, [value for _, value in around.later], draft)
    taken_away = export.unset(reading, run.command)
    if taken_away is not None and run.option("export") is None:
        why = "srun hands on all that the script exports, whatever sbatch's --export says: the job names it"
        draft.say("replaced", (taken_away.place,), taken_away.written, why=why)
    if not (image or before) and export_of(reading, run).everything:
        draft.say("replaced", lines, "the submitter's shell", why=OF_SHELL, todo=ACTIVATE)


def _is_typed_into(run: Step, words: Sequence[Value]) -> bool:
    """Whether it is a shell without a script, on a terminal (srun(1), --pty)."""
    if run.option("pty") is None or not words or base_name(words[0]) not in SHELLS:
        return False
    return (
        run.command.stdin is None
        and run.command.reads is None
        and not behind_options(words[1:])
        and all(_OF_A_TEXT.match(known(word) or "") is None for word in words[1:])
    )


def _finds_the_same(reading: ShellReading, run: Step) -> bool:
    """Whether a rank finds by a pattern the files that the script did: in its folder, and by no rules that a
    shell has of its own. In a container other files may be there."""
    elsewhere = any(each.name in _GOES for layer in layers(run.command.words) for each in layer.options)
    return not elsewhere and not any(_RULES.match(each.written) for each in reading.statements)


def _read_before(reading: ShellReading, run: Step, words: Sequence[Value]) -> str:
    """The variable of the submitter's that a word is made of, and that has another value for the ranks; ""
    for none."""
    there = reached.given(run.command, export_of(reading, run))
    return next((name for name in submitters_in(words) if known(there.get(name, _UNTOLD)) is not None), "")


def _why_asked(reading: ShellReading, run: Step, words: Sequence[Value], doubt: str) -> str:
    """What no line tells of the command, "" where a job file can have it."""
    if run.option("multi-prog"):
        return "several programs, which a file names"
    text = " ".join(map(shown, words))
    if _is_typed_into(run, words):
        return f"what is typed into {text}, and a job has no terminal"
    if old := _read_before(reading, run, words):
        return f"{text}, and {old} is read there before the script gives it a value"
    if doubt:
        return why_not_told(reading, run.command, words, doubt)
    if not words:
        if run.in_enroot is not None:
            return f"{OF_IMAGE}, which no line tells"
        return "nothing" if _has_image(run) else "no program stands behind what starts the ranks"
    return ""


def _has_image(run: Step) -> bool:
    return run.in_enroot is not None or any(map(run.option, ("container-image", "container-name")))


def _own_text(run: Step) -> str:
    """What stands for the command where no words do."""
    return OF_IMAGE if _has_image(run) else run.command.brief()


def _rendezvous(names: Sequence[str], lines: Sequence[Place], draft: Draft) -> None:
    """The command names addresses that no line of the input tells: those that hpclaunch sets are meant."""
    missing = [each for each in rendezvous.COMPUTED if each in names and ("env", each) not in draft.facts]
    if missing and ("rendezvous",) not in draft.facts:
        named = ", ".join(missing)
        why = f"no line says what {named} {'are' if len(missing) > 1 else 'is'}; {rendezvous.SETS_ALL}"
        draft.put(("rendezvous",), "torch", lines, f"{named} in the command", why=why, kind="assumed")


def _say_own(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Say of such names in the script's own words that its shell had none of them, where a launcher is why
    ranks have them now."""
    in_words = {name for word in run.words for name in names_in(word)}
    its = [each for each in rendezvous.COMPUTED if each in in_words and reading.last(each) is None]
    named = f"{', '.join(its)} in the command"
    if its and not any(each.what == named for each in draft.findings):
        why = "no line gives it: the script's shell put in what the submitter's has, or nothing"
        todo = "take it out of the command where nothing is meant"
        draft.say("assumed", (run.command.place,), named, became="that of each rank", why=why, todo=todo)


def export_of(reading: ShellReading, run: Step) -> export.Export:
    """Which of the exported variables reach the ranks."""
    of_srun = export.of(reading, run.command, run.option("export"), of_batch(reading), run.ranks.nodes)
    if run.in_enroot is not None:
        return enroot.export(reading, run.command, run.in_enroot, of_srun)
    return of_srun


def lines_of(reading: ShellReading, run: Step) -> tuple[Place, ...]:
    """The lines behind the command's words."""
    names = names_from(shown(run.words[0]), run.command) if run.words else None
    return reading.origin(run.command, run.text, names)


def words_of(
    reading: ShellReading, run: Step, inner: Sequence[Layer], launcher: Layer | None, draft: Draft
) -> list[Value]:
    """The command of a rank: what is left of what stands before it, and its own words."""
    words = beyond.script_of(run.command.stdin, run.words) or list(run.words)
    if launcher is not None:
        words = rendezvous.own_addresses(words)
        if torch.passes_local_rank(launcher):
            index = next((i for i, word in enumerate(words) if i and not shown(word).startswith("-")), 0)
            words[index + 1 : index + 1] = [rendezvous.local_rank()]
    front: list[Value] = []
    at = _behind(run)
    for layer in inner[:-1]:
        if not launchers.is_launcher(layer):
            written = _written(run, layer, at)
            front, at = [*front, *written], at + len(written)
    every = [with_numbers(reading, run.command, word) for word in (*front, *words)]
    its = _without_arguments(reading, [*map(by_name, every[:1]), *every[1:]], (run.command.place,), draft)
    return run.front.then(its) if run.front is not None else its


def input_of(run: Step, other: Layer | None, *, image: bool) -> inputs.Given | None:
    """What each rank reads, as srun gives it to all of them (srun(1), --input); None where the command cannot
    have it. `other` is what else starts the ranks."""
    if other is not None or run.option("input") is not None or beyond.script_of(run.command.stdin, run.words):
        return None
    found = inputs.given(run.command, run.words, inside=image)
    return None if found.doubt else found


def _of_the_text(
    reading: ShellReading, run: Step, words: Sequence[Value], draft: Draft, *, image: bool
) -> None:
    """The variables that a text for the ranks' own shell (bash -c '... $DATA') takes from who submits, where
    all that is exported reaches the ranks."""
    heads = (each.written for each in reading.statements if each.written.endswith("()"))
    own = {found[1] for found in map(_FUNCTION.match, heads) if found}
    called = next((each.program for each in inside_of(run.command, words) if each.program in own), "")
    if called:
        question = f"what each rank executes: {called} is a function of the script, which a job has not"
        draft.unsay(("command",))
        todo = "write what it does in a script of its own, and let the command start that"
        draft.ask(("command",), question, (run.command.place,), run.text, todo=todo)
    exports = export_of(reading, run)
    if not exports.everything:
        return
    set_by_srun = {name for name, value in exports.given if value is not None}
    wanted = [name for name in wanted_inside(run.command, words) if not _is_put_in(name, words)]
    _rendezvous([name for name in wanted if reading.last(name) is None], (run.command.place,), draft)
    others = [
        name
        for name in wanted
        if name not in rendezvous.COMPUTED
        and name not in set_by_srun
        and owner(name) not in ("gpus", "shell", "srun")
        and not name.startswith("HPCLAUNCH_")
    ]
    lines = (run.command.place,)
    own_values = {name: each for name in others if (each := reading.last(name)) is not None}
    for name, each in own_values.items():
        if not each.exported:
            why = "the script sets it and does not export it: the ranks' own shell does not have that value"
            todo = f"write it under env.{name} if the ranks are to have it"
            draft.say("defect", (*lines, each.place), f"${name} in the ranks' own shell", why=why, todo=todo)
    names = [name for name in others if name not in own_values or own_values[name].exported]
    if not image:
        reached.inherit(names, lines, draft, run.text)
        return
    passed = without_value.names(reading, run.command, exports)
    for name in names:
        if name in passed:
            continue  # the script hands it on, and it is said there what became of it
        why = "the image may have it, or the shell of who submitted, which the ranks no longer get"
        key = "secrets" if is_secret(name) else "inherit"
        todo = f"where the submitter's shell had it add it to `{key}`: [{name}]"
        draft.say("question", lines, f"${name} in the ranks' own shell", why=why, todo=todo)


def _is_put_in(name: str, words: Sequence[Value]) -> bool:
    """Whether the script's own shell puts the variable into a text, and that of a rank is not asked for it:
    sh -c "$CMD"."""
    parts = [part for word in words for part in word]
    named = re.compile(rf"\$\{{?{name}\b")
    in_text = any(isinstance(part, str) and named.search(part) for part in parts)
    return not in_text and any(isinstance(part, Unknown) and part.name == name for part in parts)


def _without_arguments(
    reading: ShellReading, words: list[Value], lines: Sequence[Place], draft: Draft
) -> list[Value]:
    """The words without "$@", where the script does without arguments: nobody gave it any."""
    kept = [word for word in words if not _is_all_arguments(word)]
    # What became of them is not told; a script that the script itself submits has none of them.
    given = reading.arguments is not None and not reading.of_submitted
    its = (word for each in reading.started for word in each.words if known(word) is None)
    given = given or not all(map(_is_all_arguments, its))
    if kept == words or given or _is_all_arguments(words[0]):
        return words
    pairs = itertools.pairwise(words)
    if any(_is_all_arguments(word) and _OF_A_TEXT.fullmatch(known(before) or "") for before, word in pairs):
        return words  # bash -c "$*" is nothing without them
    every = [value for each in reading.commands for value in each.words]
    every += [each.value for each in reading.assigned]
    numbered = any(
        isinstance(part, Unknown) and part.kind == "argument" and part.name.isdigit() and part.name != "0"
        for value in every
        for part in value
    )
    if numbered:
        return words
    why = "the arguments of the script: nobody gave it any"
    todo = "where sbatch was given more than the script's name convert again with --args"
    draft.say("assumed", lines, '"$@"', became="nothing", why=why, todo=todo)
    return kept


def _is_all_arguments(word: Value) -> bool:
    part = word[0] if len(word) == 1 else ""
    return isinstance(part, Unknown) and part.kind == "argument" and part.name in ("@", "*")


def _behind(run: Step) -> int:
    """Where in the command the words begin that stand behind what starts its ranks, 0 where nothing does."""
    starters = (index for index, word in enumerate(run.command.words) if base_name(word) in (*STEPS, *BY_MPI))
    return next(starters, -1) + 1


def _written(run: Step, layer: Layer, at: int) -> list[Value]:
    """The words of a layer as they stand in the command, from a word of it on."""
    its = run.command.words[at:]
    start = next((i for i, word in enumerate(its) if _names(word, layer)), None)
    if start is None:
        return []
    if layer.option("split-string"):  # what it is split into stands behind it
        return [its[start], *layer.words]
    count = length(its[start:]) or (
        1 + sum(len(each.written.split()) if each.written else 1 for each in layer.options) + len(layer.words)
    )
    return list(its[start : start + count])


def _names(word: Value, layer: Layer) -> bool:
    return base_name(word) == layer.program


def why_not_told(reading: ShellReading, run: Command, words: Sequence[Value], doubt: str) -> str:
    """Why what the ranks of a run execute is not told, by the part that is in doubt."""
    names = [name for name in in_doubt(reading, words) if doubt == f"${{{name}}}"]
    loop = next((each for each in run.loops if each.values and doubt == f"${{{each.variable}}}"), None)
    said = f"{doubt} is known only where the script runs"
    if doubt == "${0}":
        said = f"{doubt} is the script itself, under the name of the copy that sbatch starts"
    elif names:
        said = alternatives(reading, names[0])
    elif loop is not None:
        said = _in_each_round(run, words, loop)
    elif each_job := by_submission(reading, doubt):
        said = f"{doubt} is {each_job}"
    return f"{' '.join(map(_in_quotes, words))}, and {said}"


def _in_each_round(run: Command, words: Sequence[Value], loop: Loop) -> str:
    """That the value of a loop is another one in each of its rounds, with those of the loops around it."""
    text = " ".join(map(shown, words))
    its = [each for each in run.loops if each is loop or f"${{{each.variable}}}" in text]
    if len(its) == 1:
        return f"${{{loop.variable}}} is another one in each round of the loop over {loop.over}"
    names, over = ([f"${{{each.variable}}}" for each in its], [each.over for each in its])
    listed, loops = (f"{', '.join(each[:-1])} and {each[-1]}" for each in (names, over))
    return f"{listed} are others in each round of the loops over {loops}"


def _in_quotes(word: Value) -> str:
    """The word for people: one with blanks in it stands in quotes, that its ends are seen."""
    text = shown(word)
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}" if re.search(r"\s", text) or not text else text


def _addresses(run: Step) -> dict[str, str]:
    """What the script found out of the first node, by the names under which hpclaunch sets it."""
    return {
        value[0].name: name
        for name, value in run.command.environment
        if name in rendezvous.COMPUTED and len(value) == 1 and isinstance(value[0], Unknown)
    }
