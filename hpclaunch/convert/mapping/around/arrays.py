"""Arrays of jobs (`--array`) -> `sweep`.

The script is converted once for each index, as Slurm runs it, and what then differs from index to index is
what a point of the sweep sets. The ranks of a point have the index as SLURM_ARRAY_TASK_ID, as they had.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from msgspec import Struct, structs

from hpclaunch.convert.draft import STEPS, Draft, Fact, Key, dotted, shown
from hpclaunch.convert.mapping.slurm.batch import batch_options
from hpclaunch.convert.mapping.slurm.batch.array_indices import Indices, indices_of
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_batch
from hpclaunch.convert.mapping.slurm.numbers.settled import settled
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.mapping.words.made import OF_INDEX
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.slurm_options import BY_VARIABLE, OF_ARRAYS
from hpclaunch.values.conversion import Place
from hpclaunch.values.names import ARRAY_TASK

Convert = Callable[[ShellReading, Draft, Options], None]

_MOST = 64  # indices for which the script is converted
_MOST_READ = 200_000  # characters of scripts, of all indices together: nobody waits for more
_LEAST_READ = 2_000
_MOST_PLACES = 20
_ONE_OF_ALL = ("name", "secrets", "sweep", "world", "groups")
# Points that differ in these alone are one array of Slurm's, of which it limits how many run at a time.
_OF_RANKS = ("env", "command")
_WHY = (
    "each index is a point of the sweep: points count from 0, and the ranks of each have its index of the "
    f"original as {ARRAY_TASK}"
)
_ALIKE = that("files", "copies", "says", "looks", "archives", "caches")  # no variable changes what they do
_OF_ARRAY = re.compile(r"\bSLURM_ARRAY_(?:JOB_ID|TASK_(?:COUNT|MIN|MAX|STEP))\b")
_OF_RANGE = re.compile(r"\bSLURM_ARRAY_TASK_(?:MIN|MAX|STEP)\b")
_OF_INDEX = re.compile(rf"{ARRAY_TASK}|{OF_INDEX}")


class _Point(Struct, frozen=True):
    """What the script launches for one index."""

    index: int
    draft: Draft


def put(reading: ShellReading, draft: Draft, options: Options, convert: Convert) -> None:
    """Put what the script launches into the draft, by `convert` for a script of one job."""
    first = settled(reading, options)
    whole = unwrapped(first)
    asked = next((each for each in reversed(of_batch(whole)) if each.name == "array"), None)
    indices = indices_of(asked.text) if asked is not None else None
    if asked is None or indices is None:
        convert(whole, draft, options)
        if asked is None:
            _say_wanted(whole, draft)
        return

    def of(index: int | None) -> ShellReading:
        parts = indices.variables(index)
        found = settled(reading, options, parts) if whole is first else unwrapped(first, parts)
        return structs.replace(found, of_points=True)

    length = max(sum(len(each.text) for each in reading.sources), _LEAST_READ)
    if len(indices.numbers) > _MOST or len(indices.numbers) * length > _MOST_READ:
        convert(of(None), draft, options)
        _unsay_left(draft)
        _put_numbers(asked, indices, draft)
        return
    drafts = (draft, *(Draft(draft.site) for _ in indices.numbers[1:]))
    points = list(map(_Point, indices.numbers, drafts))
    for each in points:
        convert(of(each.index), each.draft, options)
        _unsay_left(each.draft)
    if draft.refused or any(key[0] == "groups" for each in points for key in each.draft.facts):
        batch_options.leave_array(asked, draft)
        return

    @cache
    def of_any() -> Draft:
        found = Draft(draft.site)
        convert(of(None), found, options)
        return found

    if _merge(points, of_any, asked, indices, draft):
        _say_own_jobs(asked, draft)
    elif not indices.are_points and (used := _used(draft, _OF_RANGE)):
        why = "in the ranks they are those of the points, which count from 0"
        todo = f"where a rank's own text reads them, compare {ARRAY_TASK} with the original's numbers"
        draft.say("left", asked.places, ", ".join(used), why=why, todo=todo)


def _say_wanted(reading: ShellReading, draft: Draft) -> None:
    """A script that ends where it is no array of jobs, and of which no line says what array it is."""
    name = next((each for each in OF_ARRAYS if each in reading.required), "")
    places = reading.wanted.get(name, ())
    if places and not any(BY_VARIABLE in f"{each.why}{each.todo}" for each in draft.findings):
        why = f"which array of jobs it is: the script ends where it has no {name}, and no line asks for one"
        todo = f"convert again with --env {BY_VARIABLE}=1-8"
        draft.say("question", places, name, why=why, todo=todo)


def _unsay_left(draft: Draft) -> None:
    """What is said of the option where nobody makes a sweep of it."""
    draft.findings[:] = [each for each in draft.findings if each.todo != batch_options.NO_SWEEP]


def _put_numbers(asked: Asked, indices: Indices, draft: Draft) -> None:
    """A sweep over the numbers alone: the ranks' own shell makes of them what the script's did."""
    values = [str(index) for index in indices.numbers]
    sweep = {**_limit(indices), "grid": {f"env.{ARRAY_TASK}": values}}
    draft.put(("sweep",), sweep, asked.places, asked.written, why=_WHY)


def _merge(
    points: Sequence[_Point], of_any: Callable[[], Draft], asked: Asked, indices: Indices, draft: Draft
) -> bool:
    """`of_any` has what is told of any index. Returns whether the points are jobs of their own."""
    rows: list[dict[str, Any]] = [{f"env.{ARRAY_TASK}": str(each.index)} for each in points]
    places: dict[Place, None] = dict.fromkeys(asked.places)
    several = False
    by_unit = [_by_unit(each.draft) for each in points]
    for unit in dict.fromkeys(unit for each in by_unit for unit in each):
        values = [_value(each.get(unit)) for each in by_unit]
        if all(value == values[0] for value in values):
            continue
        facts = [fact for each in by_unit for fact in each.get(unit, ())]
        question = next((fact for fact in facts if fact.is_open), None)
        if question is not None:
            fact = of_any().facts.get(question.key, question)  # with the index by its name
            _ask(draft, question.key, (fact if fact.is_open else question).question, facts)
        elif unit == ("inherit",):
            _inherit(facts, draft)
        elif unit[0] in _ONE_OF_ALL or (unit[0] != "env" and any(value is None for value in values)):
            _ask(draft, unit, f"{dotted(unit)}: {OF_INDEX}", facts)
        else:
            places |= dict.fromkeys(place for fact in facts for place in fact.places)
            several = several or unit[0] not in _OF_RANKS
            _vary(unit, values, rows, draft)
    _say_more(points, draft)
    _without_log(draft)
    _advise(draft)
    limit = _limit(indices)
    if limit and several:
        todo = "submit them by and by, where so many may not run at once"
        why = "points that differ in more than env and command are jobs of their own, and Slurm limits arrays"
        draft.say("left", asked.places, f"%{indices.running} of {asked.written}", why=why, todo=todo)
        limit = {}
    only = all(len(row) == 1 for row in rows)
    points_of = {"grid": {key: [row[key] for row in rows] for key in rows[0]}} if only else {"list": rows}
    lines = tuple(places)[:_MOST_PLACES]
    draft.put(("sweep",), {**limit, **points_of}, lines, asked.written, why=_WHY)
    return several


def _say_own_jobs(asked: Asked, draft: Draft) -> None:
    """Say which of an array's variables points lack that are jobs of their own."""
    used = _used(draft, _OF_ARRAY)
    if used:
        why = "points that differ in more than env and command are jobs of their own, and not of one array"
        todo = "where ranks or steps read them name SLURM_JOB_ID, or write their values"
        draft.say("left", asked.places, ", ".join(used), why=why, todo=todo)
    steps = (fact.value for key, fact in draft.facts.items() if key[0] in STEPS)
    if any(isinstance(each, dict) and _program(each["run"]) not in _ALIKE for each in steps):
        why = f"the ranks of each point have {ARRAY_TASK} in env, and the steps on the host have none"
        todo = "where a step reads it, export it there (its words have it)"
        draft.say("left", asked.places, f"{ARRAY_TASK} of steps", why=why, todo=todo)


def _used(draft: Draft, names: re.Pattern[str]) -> list[str]:
    """Those that the job's own texts name."""
    texts = (str(fact.value) for fact in draft.facts.values())
    return list(dict.fromkeys(name for text in texts for name in names.findall(text)))


def _program(run: str | list[str]) -> str:
    words = run.split() if isinstance(run, str) else run
    return words[0] if words else ""


def _limit(indices: Indices) -> dict[str, int]:
    return {} if indices.running is None else {"max_running": indices.running}


def _without_log(draft: Draft) -> None:
    """The file of a log would be that of all points."""
    fact = draft.facts.pop(("trials", "log"), None)
    if fact is not None:
        draft.unsay(fact.key)
        why = "each trial of each point has a log of its own, so no two jobs write to one file"
        draft.say("replaced", fact.places, f"the log {fact.value}", why=why)


def _by_unit(draft: Draft) -> dict[Key, list[Fact]]:
    """The facts by what a point sets as a whole: a variable, a list, or any other value."""
    found: dict[Key, list[Fact]] = {}
    for key, fact in draft.facts.items():
        number = next((at for at, part in enumerate(key) if isinstance(part, int)), len(key))
        found.setdefault(key[:number], []).append(fact)
    return found


def _value(facts: Sequence[Fact] | None) -> Any:
    """The value, or a question's text; None where there is none."""
    if not facts:
        return None
    values = [(fact.question,) if fact.is_open else fact.value for fact in facts]
    return values if any(isinstance(part, int) for part in facts[0].key) else values[0]


def _ask(draft: Draft, key: Key, question: str, facts: Sequence[Fact]) -> None:
    places = tuple(dict.fromkeys(place for fact in facts for place in fact.places))[:_MOST_PLACES]
    draft.unsay(key)
    draft.ask(key, question, places, dotted(key))


def _advise(draft: Draft) -> None:
    """What answers a question that the index decides."""
    asked = {dotted(key) for key, fact in draft.facts.items() if fact.is_open}
    for number, each in enumerate(draft.findings):
        if each.kind != "question" or each.key not in asked or not _OF_INDEX.search(each.why):
            continue
        todo = f"write it in the job file, or {each.key} for each point in its `sweep`"
        if each.key == "command":
            todo = (
                f"write a text that makes it of ${ARRAY_TASK}, which the ranks of each point have, or the "
                "command without it, and `args` for each point in `sweep`"
            )
        draft.findings[number] = structs.replace(each, todo=todo)


def _inherit(facts: Sequence[Fact], draft: Draft) -> None:
    """What the ranks of any point take from the submitter's shell: a job says it for all."""
    for fact in facts:
        there = (each.value for key, each in draft.facts.items() if key[0] == "inherit")
        if fact.value not in there:
            draft.add("inherit", fact.value, fact.places, str(fact.value))


def _vary(unit: Key, values: Sequence[Any], rows: Sequence[dict[str, Any]], draft: Draft) -> None:
    """What the points have of the unit; the job keeps what they share, or what its first point has."""
    key = dotted(unit)
    if unit == ("command",) and all(isinstance(value, list) for value in values):
        same = _same_words(values)
        if same and not (values[0][0] in ("bash", "sh") and same < 3):  # a text for a shell stays whole
            for row, value in zip(rows, values, strict=True):
                row["args"] = value[same:]
            _shorten(draft, values[0], values[0][:same])
            return
    for row, value in zip(rows, values, strict=True):
        if value is not None:
            row[key] = value
    if unit[0] == "env":
        draft.unsay(unit)
        draft.facts.pop(unit, None)


def _same_words(values: Sequence[Sequence[str]]) -> int:
    """How many words all commands begin with; each has at least one more."""
    least = min(map(len, values)) - 1
    found = next((at for at in range(least) if len({value[at] for value in values}) > 1), max(least, 0))
    is_option = found > 1 and values[0][found - 1].startswith("-") and "=" not in values[0][found - 1]
    return found - 1 if is_option else found  # an option stays beside its value


def _shorten(draft: Draft, before: list[str], now: list[str]) -> None:
    """The command without what the points have of their own; its finding too."""
    fact = draft.facts["command",]
    draft.facts["command",] = structs.replace(fact, value=now)
    became = f"command: {shown(before)}"
    for number, each in enumerate(draft.findings):
        if each.key == "command" and each.became == became:
            why = "the words behind these are those of the point, in `sweep`"
            draft.findings[number] = structs.replace(each, became=f"command: {shown(now)}", why=why)


def _say_more(points: Iterable[_Point], draft: Draft) -> None:
    """What was found for other indices alone."""
    said = set(draft.findings)
    for each in points:
        for finding in each.draft.findings:
            if not finding.key and finding not in said:
                said.add(finding)
                draft.findings.append(finding)
