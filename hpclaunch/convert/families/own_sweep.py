"""The sweep of a rendered script: its points are in a file beside the script, or the record's points.json."""

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec
from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.families.own_text import Rendered
from hpclaunch.convert.inputs import Input
from hpclaunch.values.conversion import Place
from hpclaunch.values.sweep import POINT, SWEEP, KeptPoint, Points

_WIDTH = re.compile(r'"\$\(\(SLURM_ARRAY_TASK_ID \* (\d+)\)\)" -n \1 hl_point <')
_TASKS = re.compile(r"0-(\d+)(?:%(\d+))?")


def put(found: Rendered, given: Sequence[Input], draft: Draft) -> Rendered:
    """Put the sweep, or the question which points it has, into the draft. The text without what each task
    sets by itself."""
    places = [Place(found.name, found.text.count("\n", 0, found.text.find("#SBATCH --array=")) + 1)]
    tasks = _TASKS.fullmatch(found.launch.tasks)
    points, why = _points(given, found, int(tasks[1]) + 1 if tasks else 0)
    if points is None:
        todo = (
            f"convert again with its file .points too, or points.json of the record of its submission ({why})"
        )
        question = "which points the sweep has: they are in a file beside the script, and not in it"
        draft.ask(("sweep",), question, places, "the points of the sweep", todo=todo)
    else:
        told: dict[str, Any] = {"max_running": int(tasks[2])} if tasks and tasks[2] else {}
        of_file = (*places, Place(given[0].name))
        draft.put(("sweep",), {**told, **_form(points)}, of_file, "the points of the sweep")
        command = _first_command(points)
        if not found.launch.argv and command is not None:
            draft.put(("command",), command, of_file, "the command of the first point")
    if not found.launch.argv and not found.launch.groups and ("command",) not in draft.facts:
        question = "what each rank executes, where a point of the sweep has no command of its own"
        draft.ask(("command",), question, places, "the commands of the sweep")
    own = tuple(each for each in found.launch.environment if each.name not in (POINT, SWEEP))
    return structs.replace(found, launch=structs.replace(found.launch, environment=own))


def _points(given: Sequence[Input], script: Rendered, count: int) -> tuple[Points | None, str]:
    """Those of the file, or why they are not known."""
    if not given:
        return None, "none is given"
    try:
        if "\0" in given[0].text:
            found = _of_words(given[0].text, script)
        else:
            found = msgspec.json.decode(given[0].text, type=Points)
    except (msgspec.DecodeError, ValueError) as error:
        return None, f"{given[0].name} is none: {error}"
    if any(len(point.values) != len(found.keys) for point in found.points) or not found.keys:
        return None, f"{given[0].name} is damaged: a point has not a value for each key"
    numbers = [point.number for point in found.points]
    if numbers != list(range(found.total)) or len(numbers) != count:
        return None, f"{given[0].name} has {len(numbers)} points of {found.total}, and the script {count}"
    return found, ""


def _of_words(text: str, script: Rendered) -> Points:
    """The points of the file that the script's tasks read: for each how many variables and how many arguments
    it has, these, and empty words up to the number that all have. Raises ValueError for another file."""
    told = _WIDTH.search(script.text)
    words = text.split("\0")
    if not told or words.pop() or len(words) % int(told[1]):
        raise ValueError("it has other words than the script reads")
    width = int(told[1])
    rows = [_row(words[start : start + width]) for start in range(0, len(words), width)]
    names = list(dict.fromkeys(name for variables, _ in rows for name in variables if name != POINT))
    keys = [f"env.{name}" for name in names]
    own = "command" if not script.launch.argv else "args"
    more = [own] if any(arguments for _, arguments in rows) and not script.launch.groups else []
    kept = [
        KeptPoint(
            int(variables.get(POINT, "-1")),
            (*(variables.get(name) for name in names), *(_listed(arguments) for _ in more)),
        )
        for variables, arguments in rows
    ]
    return Points((*keys, *more), tuple(kept), len(kept), ())


def _row(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The variables and the arguments of a point."""
    variables, arguments = int(words[0]), int(words[1])
    if min(variables, arguments) < 0 or 2 + variables + arguments > len(words):
        raise ValueError("a point has not the words that it counts")
    pairs = (word.partition("=") for word in words[2 : 2 + variables])
    return {name: value for name, _, value in pairs}, [*words[2 + variables : 2 + variables + arguments]]


def _listed(arguments: Sequence[str]) -> str | None:
    return msgspec.json.encode(arguments).decode() if arguments else None


def _form(points: Points) -> dict[str, Any]:
    """A grid where the points are one, else a list."""
    rows = [
        {
            key: _value(key, value)
            for key, value in zip(points.keys, point.values, strict=True)
            if value is not None
        }
        for point in points.points
    ]
    columns = {
        key: list(dict.fromkeys(each.values[i] for each in points.points))
        for i, key in enumerate(points.keys)
    }
    if [point.values for point in points.points] == list(product(*columns.values())) and not any(
        None in values for values in columns.values()
    ):
        return {
            "grid": {key: [_value(key, value or "") for value in values] for key, values in columns.items()}
        }
    return {"list": rows}


def _value(key: str, text: str) -> Any:
    """As a job file has it: words are kept as JSON, and text as it is."""
    if key.startswith("env."):
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if isinstance(value, list | dict) or value is None else text


def _first_command(points: Points) -> Any:
    """What stands for a command where each point has its own, None where one has none."""
    if "command" not in points.keys:
        return None
    index = points.keys.index("command")
    values = [point.values[index] for point in points.points]
    return None if None in values else _value("command", values[0] or "")
