"""A script that each rank executes (run_and_time.sh): who binds in it, and which variables it reads."""

import re
from collections.abc import Collection, Mapping, Sequence
from os.path import basename
from posixpath import normpath

from msgspec import structs

from hpclaunch.convert.cores import BESIDE_ITS_GPU
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.bind import evaluated, replaced, started_scripts
from hpclaunch.convert.mapping.bind.evaluated import Binder
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.bind import BINDERS, UNREAD_BINDERS, is_of_memory, read
from hpclaunch.convert.reading import Command, Source
from hpclaunch.readback.shell.values import Value, known, known_parts, program_of, shown
from hpclaunch.values.conversion import Place

_READS = re.compile(r"\$\{?([A-Za-z_]\w*)")
_NAMES = "|".join(map(re.escape, (*BINDERS, "bind_launch", *UNREAD_BINDERS)))
_BINDER = re.compile(rf"\b(?:{_NAMES})\b")
# By these hpl.sh and its like bind each rank with numactl (NVIDIA HPC Benchmarks, "Running the benchmarks").
_LISTS = r"(?<!\S)--(?:cpu|mem)-affinity(?=[\s=]|$)"
_BINDS_IN_TEXT = re.compile(rf"^[^#\n]*(?:\b(?:{_NAMES})\b(?!\.\w)|{_LISTS})", re.MULTILINE)
# echo "numactl failed": a message names what binds, unless its text goes to a file or another program.
_IN_MESSAGE = re.compile(r"(?:^|[;&|({]|\b(?:then|do|else)\b)\s*(?:echo|printf)\b[^;&|]*$")
_GOES_ON = re.compile(r"[^;&|>]*(?:>(?!\s*&?\s*(?:2\b|/dev/std))|\|(?!\|))")
# They say what is bound, or is there: taskset(1), -p with a process alone, numactl(8), --show and --hardware.
_SHOWS = re.compile(
    r"taskset\s+(?:-[ac]*p[ac]*|--pid)\s+[\"']?[\w${}]+[\"']?\s*(?:$|[;&|)`\"'>])"
    r"|numactl\s+-(?:-show|-hardware|[sH])\b"
)
_MOST = 8  # words of the run in which a script that the launcher writes is looked for
# But for the GPU of the rank's own number on its node, and GPUs that are the same for all ranks.
_CHOOSES = re.compile(
    r"^[^#\n]*\b(?:CUDA|ROCR|HIP)_VISIBLE_DEVICES="
    rf"(?![\"']?(?:\$\{{?(?:{'|'.join(evaluated.LOCAL_RANK)})\}}?|\d+(?:,\d+)+)[\"']?(?:\s|;|$))\S+",
    re.MULTILINE,
)
_LOCAL = "bind.cpus: local, the default: the cores beside the rank's GPU"
_SCRIPT = re.compile(r"(^|/)[\w.-]+\.(sh|bash)$")
# ${LOGGER:-} ${NAME_BIND} python ...: a variable that has what binds, with others in front of it at most.
_BY_VARIABLE = re.compile(
    r"^[ \t]*(?:\$\{?\w+(?::-\w*)?\}?[ \t]+){0,8}\$\{?(\w*BIND\w*)(?::?-)?\}?[ \t]+(?=[\w./$\"'])",
    re.MULTILINE,
)


def texts(run: Step, scripts: Sequence[Source], commands: Sequence[Command]) -> list[Source]:
    """The scripts that the words of the run name, and those that these name, as far as their texts are given
    or written by the launcher."""
    names = _names(run, commands)
    given = [source for source in scripts if basename(source.name) in map(basename, names)]
    if given:
        return started_scripts.through(given, scripts, run.command.environment)
    return [source for name in names for source in _written(name, commands)]


def _names(run: Step, commands: Sequence[Command]) -> list[str]:
    wanted = {basename(shown(word)) for word in run.words[:_MOST]}
    written = (shown(each.path) for command in commands for each in command.writes)
    files = {normpath(path) for path in written if path.rpartition("/")[2] in wanted}
    names = [name for word in run.words if (name := _script(word))]
    names += [name for word in run.words[:_MOST] if (name := _of_launcher(word, files, commands))]
    return list(dict.fromkeys(names))


def put(
    run: Step,
    scripts: Sequence[Source],
    draft: Draft,
    commands: Sequence[Command] = (),
    tables: Sequence[Source] = (),
) -> set[str]:
    """Say who binds the ranks where they run a script, and return the variables that it reads. `commands` are
    those of the launcher, which may have written it, and `tables` the lists of cores that bind.sh
    and bindpcie may take."""
    names = _names(run, commands)
    if _binds_in_words(run, draft):
        return set()
    for word in run.words[1:]:
        _chooses(run, shown(word), run.command.place, draft)
    if not names:
        return set()
    given = texts(run, scripts, commands)
    if not given:
        _not_given(names[0], run, draft)
        return set()
    for source in given:
        _binds(run, source, tables, draft)
        _chooses(run, source.text, Place(source.name), draft)
    return {name for source in given for name in _READS.findall(source.text)}


def _of_launcher(word: Value, files: Collection[str], commands: Sequence[Command]) -> str:
    """The name of a script that the launcher writes, "" for any other word. `files`: all that it writes."""
    if normpath(shown(word)) not in files:
        return ""
    texts = [source.text.lstrip("\n") for source in _written(shown(word), commands)]
    return shown(word) if any(text.startswith("#!") for text in texts) else ""


def _written(name: str, commands: Sequence[Command]) -> list[Source]:
    """The last here-document that became the file of that name, at its lines in the launcher."""
    for command in reversed(commands):
        if command.program != "cat" or len(command.words) > 1 or command.stdin is None:
            continue
        if any(normpath(shown(each.path)) == normpath(name) for each in command.writes):
            text = shown(command.stdin)
            first = max(command.place.last, command.place.line) - text.count("\n")
            return [Source(command.place.file, "\n" * (first - 1) + text)]
    return []


def _binds_in_words(run: Step, draft: Draft) -> bool:
    """Whether the command has something that binds in a text for a shell: sh -c "numactl ..."."""
    texts = [known_parts(word) for word in run.words[0 if program_of(run.words) in UNREAD_BINDERS else 1 :]]
    hits = (hit for text in texts for hit in _BINDS_IN_TEXT.finditer(text))
    found = [hit for hit in hits if not (_is_message(hit) or _only_shows(hit))]
    if not found:
        return False
    what = " ".join(found[0][0].split())
    of_memory = all(_is_of_memory(hit) for hit in found)
    for kind in ("memory",) if of_memory else ("cpus", "memory"):
        why = f"the command itself binds each rank ({what}), and two that bind get in each other's way"
        draft.put(("bind", kind), "none", (run.command.place,), what, why=why)
    return True


def _is_message(hit: re.Match[str]) -> bool:
    """Whether all that binds in that line is named in messages alone."""
    line = hit.string[hit.start() :].partition("\n")[0]
    named = list(_BINDER.finditer(line))
    return bool(named) and all(
        _IN_MESSAGE.search(line[: each.start()]) and not _GOES_ON.match(line[each.end() :]) for each in named
    )


def _only_shows(hit: re.Match[str]) -> bool:
    """Whether all that binds in that line is asked what is bound: echo "on $(taskset -p $$)"."""
    line = hit.string[hit.start() :].partition("\n")[0]
    named = list(_BINDER.finditer(line))
    return bool(named) and all(_SHOWS.match(line, each.start()) for each in named)


def _is_of_memory(hit: re.Match[str]) -> bool:
    """Whether all that binds in that line is numactl with options about memory alone, or a list for it."""
    line = hit.string[hit.start() :].partition("\n")[0]
    binders = list(_BINDER.finditer(line))
    if not binders:
        return "--cpu-affinity" not in line
    return all(
        is_of_memory(read([(word,) for word in ("numactl", *line[each.end() :].split())])[0])
        for each in binders
        if each[0] == "numactl"
    ) and all(each[0] == "numactl" for each in binders)


def _script(word: Value) -> str:
    text = known(word) or ""
    return text if _SCRIPT.search(text) else ""


def settle(draft: Draft) -> None:
    """Take the default back from what was said of scripts, where something else binds after all."""
    fact = draft.facts.get(("bind", "cpus"))
    if fact is not None and fact.value != "local":
        draft.findings[:] = [
            structs.replace(each, became="") if each.became == _LOCAL else each
            for each in draft.findings
            if (each.became, each.why) != ("bind: cpus: local", BESIDE_ITS_GPU)
        ]


def _not_given(name: str, run: Step, draft: Draft) -> None:
    if ("bind", "cpus") in draft.facts:
        return
    draft.say(
        "question",
        (run.command.place,),
        f"whether {name} binds its ranks itself",
        became=_LOCAL,
        why="the file is not given, and two that bind get in each other's way",
        todo=f"convert again with {basename(name)}; if it calls bind.sh, bindpcie or numactl take that out, "
        "or write bind: {cpus: none, memory: none}",
    )


def _binds(run: Step, source: Source, tables: Sequence[Source], draft: Draft) -> None:
    """The script keeps its own binding, since the image has it: the job then binds nothing."""
    environment = evaluated.environment_of(run.command, draft.number("nodes"), draft.number("ranks_per_node"))
    found, binders = _binding_lines(source, environment)
    if not found:
        if ("bind", "cpus") not in draft.facts:
            _perhaps_binds(source, environment, draft)
        draft.say(
            "carried",
            (Place(source.name),),
            source.name,
            became="" if ("bind", "cpus") in draft.facts else _LOCAL,
            why="it has nothing that binds its ranks",
        )
        return
    places = tuple(place for place, _ in found)
    for kind in ("cpus", "memory"):
        if ("bind", kind) not in draft.facts or draft.facts["bind", kind].value == "local":
            why = "the script binds each rank itself, and two that bind get in each other's way"
            draft.put(("bind", kind), "none", places, found[0][1], why=why)
    taken = (Place(each.name) for each in evaluated.tables_of(binders, tables))
    draft.say(
        "left",
        (*places, *taken),
        found[0][1],
        why="it is in a script that the job starts as it is",
        todo="take it out of the script and `bind` out of the job file: each rank then gets the cores beside "
        "its GPU, whatever the machine",
    )


def _perhaps_binds(source: Source, environment: Mapping[str, str], draft: Draft) -> None:
    """Say that a variable which may have what binds is taken for unset, where nothing gives it."""
    found = _BY_VARIABLE.search(source.text)
    name = found[1] if found is not None else ""
    given = re.compile(rf"^[^#\n]*(?:(?<![\w$]){name}\+?=|\$\{{{name}:?=(?!}}))", re.MULTILINE)
    if found is None or name in environment or given.search(source.text):
        return
    draft.say(
        "assumed",
        (Place(source.name, source.text.count("\n", 0, found.end()) + 1),),
        name,
        became="not set",
        why="nobody gave it: what it has may bind the ranks",
        todo=f"where the operator had set it convert again with --env {name}=...",
    )


def _chooses(run: Step, text: str, place: Place, draft: Draft) -> None:
    """The script, or a text for a shell, gives each rank a GPU of its own choice: cores beside another one
    would be far from it. `place` is that of the text, without a line for a whole file."""
    found = _CHOOSES.search(text)
    fact = draft.facts.get(("bind", "cpus"))
    if found is None or (fact is not None and fact.value != "local"):
        return
    if not place.line:
        place = Place(place.file, text.count("\n", 0, found.start()) + 1)
    draft.say(
        "question",
        tuple(dict.fromkeys((place, run.command.place))),
        found[0].strip(),
        became="bind.cpus: local, the default: the cores beside the GPU of the rank's number on its node",
        why="what a rank runs chooses its GPU, and those cores are beside it only where it is that one",
        todo="where it is another one write bind.cpus with a list for each rank, in that order",
    )


def _binding_lines(
    source: Source, environment: Mapping[str, str]
) -> tuple[list[tuple[Place, str]], list[Binder]]:
    """The lines that bind, and what they say: by a walk with the environment of a rank, or where that finds
    none by the text. Then what binds by that walk."""
    found = evaluated.in_script(source, environment, "0")
    if found:
        # What is another one in each rank is told as it is written.
        others = {(each.place, each.said) for each in evaluated.in_script(source, environment, "7")}
        said = [each.said if (each.place, each.said) in others else each.written for each in found]
        return [(each.place, what) for each, what in zip(found, said, strict=True)], found
    hits = [hit for hit in _BINDS_IN_TEXT.finditer(source.text) if not _only_shows(hit)]
    values = replaced.given(source, environment) if hits else ()
    lines = []
    for hit in hits:
        if replaced.is_replaced(source, hit.start(), values):
            continue
        place = Place(source.name, source.text.count("\n", 0, hit.start()) + 1)
        lines.append((place, shown((" ".join(hit[0].split()),))))
    return lines, []
